#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/buf.h"
#include "skydns/settings/config_doc_fields_internal.h"
#include "skydns/settings/config_documents.h"

static int take_autopath(struct client_options *o, const json_t *value, struct err *err)
{
    return config_bool(value, &o->autopath, err);
}

static int take_client_list(struct client_options *o, const json_t *value,
                            int (*set)(struct client_options *o, const char *list, struct err *err),
                            const char *if_empty, struct err *err)
{
    struct buf list;
    buf_init(&list, CONFIG_DOCUMENT_MAX);
    int r = config_list(value, &list, err);
    if (r == 0) {
        r = set(o, list.len ? buf_cstr(&list) : if_empty, err);
    }
    buf_fini(&list);
    return r;
}

static int take_search(struct client_options *o, const json_t *value, struct err *err)
{
    return take_client_list(o, value, client_option_search, "", err);
}

static int take_public_namespaces(struct client_options *o, const json_t *value, struct err *err)
{
    return take_client_list(o, value, client_option_public, CLIENT_PUBLIC_DEFAULT, err);
}

static int take_allow(struct client_options *o, const json_t *value, struct err *err)
{
    return take_client_list(o, value, client_option_allow, "", err);
}

/* One of two words, the first of which is the default. */
static int take_word(const json_t *value, const char *first, const char *second, bool *ret_second,
                     struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    if (r == 0 && *text && strcmp(text, first) != 0 && strcmp(text, second) != 0) {
        char want[64];
        (void)snprintf(want, sizeof(want), "\"%s\" or \"%s\"", first, second); /* fits */
        return config_wrong(value, want, err);
    }
    *ret_second = r == 0 && strcmp(text, second) == 0;
    return r;
}

static int take_visibility(struct client_options *o, const json_t *value, struct err *err)
{
    return take_word(value, "all", "own", &o->is_own, err);
}

static int take_visibility_unknown(struct client_options *o, const json_t *value, struct err *err)
{
    bool is_all = false;
    int r = take_word(value, "public", "all", &is_all, err);
    o->unknown = is_all ? VISIBILITY_UNKNOWN_ALL : VISIBILITY_UNKNOWN_PUBLIC;
    return r;
}

/* A string as the flag's, or a number. */
static int take_rate(struct client_options *o, const json_t *value, struct err *err)
{
    char text[32];
    int64_t number;
    if (json_is_string(value)) {
        return client_option_rate(o, json_string_value(value), err);
    }
    int r = config_number(value, 0, ENGINE_RATE_MAX, &number, err);
    if (r < 0) {
        return r;
    }
    (void)snprintf(text, sizeof(text), "%" PRId64, number); /* fits */
    return client_option_rate(o, text, err);
}

static const struct {
    const char *name;
    int (*take)(struct client_options *o, const json_t *value, struct err *err);
} fields[] = {
    {"autopath", take_autopath},
    {"search", take_search},
    {"visibility", take_visibility},
    {"public_namespaces", take_public_namespaces},
    {"visibility_unknown", take_visibility_unknown},
    {"allow", take_allow},
    {"rate", take_rate},
};

int config_client_field(struct client_options *o, const char *name, const json_t *value,
                        bool *ret_is_known, struct err *err)
{
    *ret_is_known = false;
    for (size_t i = 0; i < ARRAY_LEN(fields) && !*ret_is_known; i++) {
        if (strcasecmp(fields[i].name, name) == 0) {
            *ret_is_known = true;
            return fields[i].take(o, value, err);
        }
    }
    return 0;
}
