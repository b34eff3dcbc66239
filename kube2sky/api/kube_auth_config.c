#include "kube2sky/api/kube_auth_config_internal.h"

#include <openssl/evp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "common/base/xalloc.h"

/* ---- Fields of clusters and users ---- */

enum field_kind { FIELD_TEXT, FIELD_BASE64, FIELD_BOOL };

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset; /* offset into struct kube_auth_config */
};

#define AT(member) offsetof(struct kube_auth_config, member)

static const struct field cluster_fields[] = {
    {"server", FIELD_TEXT, AT(server)},
    {"certificate-authority", FIELD_TEXT, AT(ca_file)},
    {"certificate-authority-data", FIELD_BASE64, AT(ca_data)},
    {"tls-server-name", FIELD_TEXT, AT(tls_server_name)},
    {"proxy-url", FIELD_TEXT, AT(proxy_url)},
    {"insecure-skip-tls-verify", FIELD_BOOL, AT(is_unverified)},
};

static const struct field user_fields[] = {
    {"token", FIELD_TEXT, AT(token)},
    {"tokenFile", FIELD_TEXT, AT(token_file)},
    {"client-certificate", FIELD_TEXT, AT(cert_file)},
    {"client-certificate-data", FIELD_BASE64, AT(cert_data)},
    {"client-key", FIELD_TEXT, AT(key_file)},
    {"client-key-data", FIELD_BASE64, AT(key_data)},
    {"username", FIELD_TEXT, AT(username)},
    {"password", FIELD_TEXT, AT(password)},
};

static const struct {
    const char *key;
    const char *what;
} refused_user_fields[] = {
    {"exec", "an exec credential plugin, which is not supported"},
    {"auth-provider", "an auth-provider plugin, which is not supported"},
    {"as", "impersonation, which is not supported"},
};

/* ---- YAML ---- */

static int line_of(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

static const char *node_kind(const yaml_node_t *node)
{
    switch (node->type) {
    case YAML_SCALAR_NODE:
        return "a plain value";
    case YAML_SEQUENCE_NODE:
        return "a list";
    case YAML_MAPPING_NODE:
        return "a mapping";
    case YAML_NO_NODE:
        break;
    }
    return "nothing";
}

static struct slice kube_auth_config_scalar(const yaml_node_t *node)
{
    return slice_of(node->data.scalar.value, node->data.scalar.length);
}

/* Returns whether the value is absent, `null` or `~`. */
static bool is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return false;
    }
    struct slice text = kube_auth_config_scalar(node);
    return text.len == 0 || slice_equal(text, slice_str("~")) ||
           slice_equal(text, slice_str("null"));
}

/* Returns the value of a key; NULL when it is absent or null. */
static yaml_node_t *kube_auth_config_find(yaml_document_t *document, const yaml_node_t *mapping,
                                          const char *key)
{
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = yaml_document_get_node(document, pair->key);
        yaml_node_t *value = yaml_document_get_node(document, pair->value);
        if (name && value && name->type == YAML_SCALAR_NODE &&
            slice_equal(kube_auth_config_scalar(name), slice_str(key))) {
            return is_null(value) ? NULL : value;
        }
    }
    return NULL;
}

/* Finds a value of the given type; *ret_value is NULL when absent. */
static int find_typed(yaml_document_t *document, const yaml_node_t *mapping, const char *key,
                      yaml_node_type_t type, yaml_node_t **ret_value, struct err *err)
{
    yaml_node_t *value = kube_auth_config_find(document, mapping, key);
    if (value && value->type != type) {
        const yaml_node_t wanted = {.type = type};
        return err_set(err, ERR_SYNTAX, "line %d: %s: expected %s, found %s", line_of(value), key,
                       node_kind(&wanted), node_kind(value));
    }
    *ret_value = value;
    return 0;
}

/* Finds a text; *ret_text is owned, and NULL when absent or empty. */
static int find_text(yaml_document_t *document, const yaml_node_t *mapping, const char *key,
                     char **ret_text, struct err *err)
{
    yaml_node_t *value = NULL;
    int rc = find_typed(document, mapping, key, YAML_SCALAR_NODE, &value, err);
    if (rc < 0 || !value || value->data.scalar.length == 0) {
        return rc;
    }
    struct slice text = kube_auth_config_scalar(value);
    if (memchr(text.ptr, '\0', text.len)) {
        return err_set(err, ERR_SYNTAX, "line %d: %s: contains a NUL", line_of(value), key);
    }
    *ret_text = xstrndup(text.ptr, text.len);
    return 0;
}

/* ---- Fields ---- */

/* Decodes base64 text, line breaks allowed. Returns NULL if it is invalid, or contains a NUL. */
static char *decode_base64(const char *text)
{
    size_t len = strlen(text);
    EVP_ENCODE_CTX *context = EVP_ENCODE_CTX_new();
    unsigned char *out = xmalloc(len / 4 * 3 + 4);
    int head = 0;
    int tail = 0;
    if (!context) {
        xalloc_out_of_memory();
    }
    EVP_DecodeInit(context);
    bool ok = EVP_DecodeUpdate(context, out, &head, (const unsigned char *)text, (int)len) >= 0 &&
              EVP_DecodeFinal(context, out + head, &tail) == 1;
    EVP_ENCODE_CTX_free(context);
    size_t size = (size_t)head + (size_t)tail;
    if (!ok || memchr(out, '\0', size)) {
        free(out);
        return NULL;
    }
    out[size] = '\0';
    return (char *)out;
}

static bool kube_auth_config_parse_bool(const char *text, bool *ret_value)
{
    static const char *const yes[] = {"true", "yes", "on"};
    static const char *const no[] = {"false", "no", "off"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *ret_value = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static int set_field(const struct field *field, char *text, int line,
                     struct kube_auth_config *config, struct err *err)
{
    char *base = (char *)config + field->offset;
    char **ret_text = (char **)(void *)base;
    bool ok = true;
    switch (field->kind) {
    case FIELD_TEXT:
        *ret_text = text;
        return 0;
    case FIELD_BASE64:
        *ret_text = decode_base64(text);
        ok = *ret_text != NULL;
        break;
    case FIELD_BOOL:
        ok = kube_auth_config_parse_bool(text, (bool *)(void *)base);
        break;
    }
    free(text);
    return ok ? 0
              : err_set(err, ERR_SYNTAX, "line %d: %s: expected %s", line, field->key,
                        field->kind == FIELD_BOOL ? "true or false" : "text in base64");
}

static int kube_auth_config_read_fields(yaml_document_t *document, const yaml_node_t *mapping,
                                        const struct field *fields, size_t count,
                                        struct kube_auth_config *config, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        char *text = NULL;
        int rc = find_text(document, mapping, fields[i].key, &text, err);
        if (rc == 0 && text) {
            int line = line_of(kube_auth_config_find(document, mapping, fields[i].key));
            rc = set_field(&fields[i], text, line, config, err);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* ---- Contexts, clusters, users ---- */

/* Finds the mapping `member` of the element named `name` in the list `list`. */
static int find_named(yaml_document_t *document, const yaml_node_t *root, const char *list,
                      const char *name, const char *member, yaml_node_t **ret_mapping,
                      struct err *err)
{
    yaml_node_t *sequence = NULL;
    int rc = find_typed(document, root, list, YAML_SEQUENCE_NODE, &sequence, err);
    if (rc < 0) {
        return rc;
    }
    const yaml_node_item_t *item = sequence ? sequence->data.sequence.items.start : NULL;
    for (; sequence && item < sequence->data.sequence.items.top; item++) {
        const yaml_node_t *element = yaml_document_get_node(document, *item);
        const yaml_node_t *found = element && element->type == YAML_MAPPING_NODE
                                       ? kube_auth_config_find(document, element, "name")
                                       : NULL;
        if (!found || found->type != YAML_SCALAR_NODE ||
            !slice_equal(kube_auth_config_scalar(found), slice_str(name))) {
            continue;
        }
        rc = find_typed(document, element, member, YAML_MAPPING_NODE, ret_mapping, err);
        if (rc == 0 && !*ret_mapping) {
            rc = err_set(err, ERR_SYNTAX, "line %d: `%s` in %s has no %s", line_of(found), name,
                         list, member);
        }
        return rc;
    }
    return err_set(err, ERR_SYNTAX, "there is no `%s` in %s", name, list);
}

static int read_cluster(yaml_document_t *document, const yaml_node_t *root,
                        const yaml_node_t *context, struct kube_auth_config *config,
                        struct err *err)
{
    char *name = NULL;
    yaml_node_t *cluster = NULL;
    int rc = find_text(document, context, "cluster", &name, err);
    if (rc == 0 && !name) {
        rc = err_set(err, ERR_SYNTAX, "line %d: the context names no cluster", line_of(context));
    }
    if (rc == 0) {
        rc = find_named(document, root, "clusters", name, "cluster", &cluster, err);
    }
    if (rc == 0) {
        rc = kube_auth_config_read_fields(document, cluster, cluster_fields,
                                          ARRAY_LEN(cluster_fields), config, err);
    }
    free(name);
    return rc;
}

/* Reads the context's user; a context without one has no credentials. */
static int read_user(yaml_document_t *document, const yaml_node_t *root, const yaml_node_t *context,
                     struct kube_auth_config *config, struct err *err)
{
    char *name = NULL;
    yaml_node_t *user = NULL;
    int rc = find_text(document, context, "user", &name, err);
    if (rc < 0 || !name) {
        return rc;
    }
    rc = find_named(document, root, "users", name, "user", &user, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(refused_user_fields); i++) {
        const yaml_node_t *refused =
            kube_auth_config_find(document, user, refused_user_fields[i].key);
        if (refused) {
            rc = err_set(err, ERR_REFUSED,
                         "line %d: user `%s` has %s; use a token, a tokenFile or a client "
                         "certificate",
                         line_of(refused), name, refused_user_fields[i].what);
        }
    }
    if (rc == 0) {
        rc = kube_auth_config_read_fields(document, user, user_fields, ARRAY_LEN(user_fields),
                                          config, err);
    }
    config->user = name;
    return rc;
}

static int read_document(yaml_document_t *document, struct kube_auth_config *config,
                         struct err *err)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);
    yaml_node_t *context = NULL;
    char *current = NULL;
    if (!root) {
        return err_set(err, ERR_SYNTAX, "the file is empty");
    }
    if (root->type != YAML_MAPPING_NODE) {
        return err_set(err, ERR_SYNTAX, "line %d: expected a mapping (kind: Config), found %s",
                       line_of(root), node_kind(root));
    }
    int rc = find_text(document, root, "current-context", &current, err);
    if (rc == 0 && !current) {
        rc = err_set(err, ERR_SYNTAX,
                     "no current-context is set (kubectl config use-context sets it)");
    }
    if (rc == 0) {
        rc = find_named(document, root, "contexts", current, "context", &context, err);
    }
    free(current);
    if (rc < 0 || (rc = read_cluster(document, root, context, config, err)) < 0) {
        return rc;
    }
    return read_user(document, root, context, config, err);
}

int kube_auth_config_parse(struct slice yaml, struct kube_auth_config *ret_config, struct err *err)
{
    struct kube_auth_config config = {0};
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser)) {
        xalloc_out_of_memory(); /* the only failure */
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)(yaml.ptr ? yaml.ptr : ""),
                                 yaml.len);
    int rc;
    if (yaml_parser_load(&parser, &document)) {
        rc = read_document(&document, &config, err);
        yaml_document_delete(&document);
    } else {
        rc = err_set(err, ERR_SYNTAX, "line %zu: not YAML: %s", parser.problem_mark.line + 1,
                     parser.problem ? parser.problem : "unreadable");
    }
    yaml_parser_delete(&parser);
    if (rc < 0) {
        kube_auth_config_fini(&config);
        return rc;
    }
    *ret_config = config;
    return 0;
}

static void free_texts(const struct field *fields, size_t count, struct kube_auth_config *config)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind != FIELD_BOOL) {
            free(*(char **)(void *)((char *)config + fields[i].offset));
        }
    }
}

void kube_auth_config_fini(struct kube_auth_config *config)
{
    free_texts(cluster_fields, ARRAY_LEN(cluster_fields), config);
    free_texts(user_fields, ARRAY_LEN(user_fields), config);
    free(config->user);
    *config = (struct kube_auth_config){0};
}
