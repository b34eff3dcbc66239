#include "kube2sky/reconcile/ownership_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/key_style.h"
#include "kube2sky/naming/naming.h"

/* A domain has at most 255 bytes; the other parts are shorter. */
enum { TREE_MAX = 512 };

/* Other writers' keys can be as long as a request to etcd, 1.5 MiB by default. */
enum { IMPORT_OWNER_MAX = 16 * 1024 * 1024 };

static void init_imports(struct ownership *o, const char *domain)
{
    CLEANUP_FREE char *beside = etcd_writer_key(slice_str(domain), "");
    record_key_from_name(slice_str(SKYDNS_TREE), slice_str(domain), &o->import_tree);
    buf_append_char(&o->import_tree, '/');
    o->import_host_end = xasprintf("." SERVICE_LABEL ".%s", domain);
    o->import_visible = xasprintf("%s" VISIBLE_PREFIX, beside);
    o->import_owner = xcalloc(1, sizeof(*o->import_owner));
    buf_init(o->import_owner, IMPORT_OWNER_MAX);
}

void ownership_init(struct ownership *o, const struct ownership_config *config)
{
    *o = (struct ownership){.config = *config};
    buf_init(&o->import_tree, TREE_MAX);
    if (config->import_domain) {
        init_imports(o, config->import_domain);
    }
    buf_init(&o->tree, TREE_MAX);
    record_key_from_name(slice_str(SKYDNS_TREE), slice_str(config->domain), &o->tree);
    buf_append_char(&o->tree, '/');
    o->host_end = xasprintf("." SERVICE_LABEL ".%s", config->domain);
    o->beside = etcd_writer_key(slice_str(config->domain), "");
    buf_init(&o->external_tree, TREE_MAX);
    if (config->external_zone) {
        record_key_from_name(slice_str(SKYDNS_TREE), slice_str(config->external_zone),
                             &o->external_tree);
        buf_append_char(&o->external_tree, '/');
    }
}

void ownership_fini(struct ownership *o)
{
    buf_fini(&o->tree);
    buf_fini(&o->external_tree);
    buf_fini(&o->import_tree);
    if (o->import_owner) {
        buf_fini(o->import_owner);
        free(o->import_owner);
    }
    free(o->import_visible);
    free(o->import_host_end);
    free(o->host_end);
    free(o->beside);
    o->host_end = NULL;
    o->beside = NULL;
}

/* Returns the first segment, without its slash. */
static struct slice first_segment(struct slice path)
{
    return slice_cut(&path, '/');
}

static bool ownership_is_namespace(const struct ownership *o, struct slice ns)
{
    return !o->config.namespace_count ||
           slice_is_among(ns, o->config.namespaces, o->config.namespace_count);
}

static bool is_of_node(struct slice below)
{
    return slice_has_prefix(below, slice_str(NODE_PREFIX));
}

static bool is_of_node_address(struct slice below)
{
    return slice_has_prefix(below, slice_str(NODE_ADDRESS_PREFIX));
}

static bool is_of_client(struct slice below)
{
    return slice_has_prefix(below, slice_str(CLIENT_PREFIX));
}

bool ownership_is_topology(const struct ownership *o, struct slice path)
{
    if (!slice_has_prefix(path, slice_str(TOPOLOGY_PREFIX))) {
        return false;
    }
    struct slice name = slice_skip(path, sizeof(TOPOLOGY_PREFIX) - 1), ns = first_segment(name);
    return ns.len < name.len && dname_is_host_label(ns) &&
           dname_is_host_label(slice_skip(name, ns.len + 1)) && ownership_is_namespace(o, ns);
}

static enum key_place place_beside(const struct ownership *o, struct slice below)
{
    bool is_client = false;
    if (is_of_node_address(below)) {
        is_client = client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS,
                                        slice_skip(below, sizeof(NODE_ADDRESS_PREFIX) - 1));
    } else if (slice_has_prefix(below, slice_str(VISIBLE_PREFIX))) {
        struct slice ns = slice_skip(below, sizeof(VISIBLE_PREFIX) - 1);
        is_client = client_keys_is_name(CLIENT_KEYS_VISIBLE, ns) && ownership_is_namespace(o, ns);
    }
    if (is_of_client(below)) {
        is_client =
            client_keys_is_name(CLIENT_KEYS_RECORD, slice_skip(below, sizeof(CLIENT_PREFIX) - 1));
    }
    return is_client || ownership_is_topology(o, below) ? KEY_CLIENT : KEY_ELSEWHERE;
}

static bool is_below_imports(const struct ownership *o, struct slice key)
{
    return o->import_tree.len && slice_has_prefix(key, buf_slice(&o->import_tree));
}

static bool is_import_visible(const struct ownership *o, struct slice key)
{
    return o->import_visible && slice_has_prefix(key, slice_str(o->import_visible));
}

/* Returns the place of a key below the multicluster domain: nothing but imports has any there. */
static enum key_place place_of_import(const struct ownership *o, struct slice below)
{
    bool is_ours = slice_has_prefix(below, slice_str(SERVICE_PREFIX)) &&
                   ownership_is_namespace(o, first_segment(slice_skip(below, OWNER_PREFIX_LEN)));
    return is_ours ? KEY_OBJECT : KEY_ELSEWHERE;
}

enum key_place ownership_place(const struct ownership *o, struct slice key)
{
    if (is_below_imports(o, key)) {
        return place_of_import(o, slice_skip(key, o->import_tree.len));
    }
    if (is_import_visible(o, key)) {
        return place_beside(o, slice_skip(key, strlen(o->import_visible) - strlen(VISIBLE_PREFIX)));
    }
    if (slice_has_prefix(key, slice_str(REVERSE_TREE))) {
        return KEY_REVERSE;
    }
    if (slice_has_prefix(key, slice_str(o->beside))) {
        return place_beside(o, slice_skip(key, strlen(o->beside)));
    }
    if (!slice_has_prefix(key, buf_slice(&o->tree))) {
        bool is_domain = slice_equal(key, slice_of(o->tree.data, o->tree.len - 1)) ||
                         (o->import_tree.len &&
                          slice_equal(key, slice_of(o->import_tree.data, o->import_tree.len - 1)));
        bool is_external = slice_has_prefix(key, slice_str(SKYDNS_TREE)) && !is_domain;
        return is_external ? KEY_EXTERNAL : KEY_ELSEWHERE;
    }
    struct slice below = slice_skip(key, o->tree.len);
    if (is_of_node(below)) {
        bool is_anothers = o->config.namespace_count > 0 && !o->config.has_nodes;
        return is_anothers ? KEY_ELSEWHERE : KEY_OBJECT;
    }
    bool is_ours = slice_has_prefix(below, slice_str(SERVICE_PREFIX)) ||
                   slice_has_prefix(below, slice_str(POD_PREFIX));
    if (!is_ours) {
        bool is_root = slice_equal(below, slice_str(SERVICE_LABEL)) ||
                       slice_equal(below, slice_str(POD_LABEL)) ||
                       slice_equal(below, slice_str(NODE_LABEL));
        return is_root || !below.len ? KEY_ELSEWHERE : KEY_BESIDE;
    }
    bool is_here = ownership_is_namespace(o, first_segment(slice_skip(below, OWNER_PREFIX_LEN)));
    return is_here ? KEY_OBJECT : KEY_ELSEWHERE;
}

static struct object_key part_node(struct slice below)
{
    const char *slash = memrchr(below.ptr, '/', below.len);
    size_t n = (size_t)(slash - below.ptr);
    n = n < sizeof(NODE_PREFIX) ? below.len : n; /* one segment below node/, or an empty one */
    return (struct object_key){.owner = slice_of(below.ptr, n), .suffix = slice_skip(below, n)};
}

/* Splits a path "svc/default/web/c88f1059" behind its third segment. */
static size_t object_length(struct slice below)
{
    const char *slash = below.ptr, *end = below.ptr + below.len;
    for (int i = 0; i < 3 && slash; i++) {
        const char *from = i ? slash + 1 : slash;
        slash = memchr(from, '/', (size_t)(end - from));
    }
    return slash ? (size_t)(slash - below.ptr) : below.len;
}

/* Returns an owner's id that is no part of its keys. */
static struct slice import_owner(const struct ownership *o, const char *prefix, struct slice rest)
{
    buf_clear(o->import_owner);
    buf_append_str(o->import_owner, prefix);
    buf_append_slice(o->import_owner, rest);
    return buf_slice(o->import_owner);
}

static struct object_key part_import(const struct ownership *o, struct slice key)
{
    if (is_import_visible(o, key)) {
        struct slice ns = slice_skip(key, strlen(o->import_visible));
        return (struct object_key){.owner = import_owner(o, IMPORT_VISIBLE_PREFIX, ns),
                                   .suffix = slice_skip(key, key.len)};
    }
    struct slice below = slice_skip(key, o->import_tree.len);
    size_t n = object_length(below);
    struct slice name = slice_of(below.ptr + OWNER_PREFIX_LEN, n - OWNER_PREFIX_LEN);
    return (struct object_key){.owner = import_owner(o, IMPORT_PREFIX, name),
                               .suffix = slice_skip(below, n)};
}

struct object_key ownership_part(const struct ownership *o, struct slice key)
{
    if (is_below_imports(o, key) || is_import_visible(o, key)) {
        return part_import(o, key);
    }
    if (slice_has_prefix(key, slice_str(o->beside))) {
        struct slice name = slice_skip(key, strlen(o->beside));
        return (struct object_key){.owner = name, .suffix = slice_skip(name, name.len)};
    }
    struct slice below = slice_skip(key, o->tree.len);
    if (is_of_node(below)) {
        return part_node(below);
    }
    size_t n = object_length(below);
    return (struct object_key){.owner = slice_of(below.ptr, n), .suffix = slice_skip(below, n)};
}

void ownership_base(const struct ownership *o, struct slice owner, struct buf *out)
{
    if (slice_has_prefix(owner, slice_str(ALIAS_PREFIX)) || /* its keys may be of any zone */
        slice_has_prefix(owner, slice_str(EXTERNAL_PREFIX))) {
        buf_append_str(out, EXTERNAL_BASE);
        return;
    }
    if (slice_has_prefix(owner, slice_str(IMPORT_PREFIX))) {
        buf_append_slice(out, buf_slice(&o->import_tree));
        buf_append_str(out, SERVICE_PREFIX);
        buf_append_slice(out, slice_skip(owner, OWNER_PREFIX_LEN));
        return;
    }
    if (slice_has_prefix(owner, slice_str(IMPORT_VISIBLE_PREFIX))) {
        buf_append_str(out, o->import_visible);
        buf_append_slice(out, slice_skip(owner, sizeof(IMPORT_VISIBLE_PREFIX) - 1));
        return;
    }
    bool is_client = is_of_node_address(owner) || is_of_client(owner) ||
                     slice_has_prefix(owner, slice_str(VISIBLE_PREFIX)) ||
                     slice_has_prefix(owner, slice_str(TOPOLOGY_PREFIX));
    buf_append_slice(out, is_client ? slice_str(o->beside) : buf_slice(&o->tree));
    buf_append_slice(out, owner);
}

/* Returns the first text of a value in the form that the writer uses, which needs no escape; start:
 * what stands before it. Empty: the value has another form. */
static struct slice quick_text(struct slice value, const char *start)
{
    if (!slice_has_prefix(value, slice_str(start))) {
        return slice_of(NULL, 0);
    }
    struct slice rest = slice_skip(value, strlen(start));
    const char *quote = memchr(rest.ptr, '"', rest.len);
    size_t n = quote ? (size_t)(quote - rest.ptr) : 0;
    return n && !memchr(rest.ptr, '\\', n) ? slice_of(rest.ptr, n) : slice_of(NULL, 0);
}

/* Returns the host of a record; empty: it needs a full parse. */
static struct slice quick_host(struct slice value)
{
    return quick_text(value, "{\"host\":\"");
}

/* Returns "web.default" for "web.default.svc.cluster.local.", "a1.web.default" for
 * "a1.web.default.svc...."; empty for other hosts. end: ".svc.cluster.local.". */
static struct slice names_before(const char *end_text, struct slice host)
{
    struct slice end = slice_str(end_text);
    bool is_ours = host.len > end.len && slice_has_suffix(host, end);
    return slice_of(host.ptr, is_ours ? host.len - end.len : 0);
}

static struct slice our_names(const struct ownership *o, struct slice host)
{
    return names_before(o->host_end, host);
}

/* Returns the same for names of imports. */
static struct slice import_names(const struct ownership *o, struct slice host)
{
    return o->import_host_end ? names_before(o->import_host_end, host) : slice_of(NULL, 0);
}

static bool is_our_host(const struct ownership *o, struct slice host)
{
    struct slice names = our_names(o, host);
    names = names.len ? names : import_names(o, host);
    return names.len && ownership_is_namespace(o, slice_cut_last(&names, '.'));
}

static bool says_our_host(const struct ownership *o, struct slice value)
{
    struct slice host = quick_host(value);
    struct record record;
    if (host.len) {
        return is_our_host(o, host);
    }
    if (record_from_json(value, &record, NULL) < 0) {
        return false;
    }
    bool is_ours = is_our_host(o, record.host);
    record_fini(&record);
    return is_ours;
}

bool ownership_is_written(const struct ownership *o, struct slice key, struct slice value)
{
    switch (ownership_place(o, key)) {
    case KEY_OBJECT:
        return is_below_imports(o, key)
                   ? key_style_object(slice_str(o->config.import_domain), true,
                                      slice_skip(key, o->import_tree.len), value)
                   : key_style_object(slice_str(o->config.domain), false,
                                      slice_skip(key, o->tree.len), value);
    case KEY_REVERSE:
        return key_style_reverse(key, value);
    case KEY_CLIENT:
        return true; /* the key's form is proof enough */
    case KEY_ELSEWHERE:
    case KEY_BESIDE:
    case KEY_EXTERNAL:
        break;
    }
    return false;
}

static void ownership_alias(const struct ownership *o, struct slice key, struct slice value,
                            struct buf *out)
{
    struct slice names = our_names(o, quick_host(value));
    struct slice ns = slice_cut_last(&names, '.'), service = slice_cut_last(&names, '.');
    const struct slice last = slice_cut_last(&key, '/');
    char object[2 * DNAME_MAX], label[9];
    if (!service.len || names.len || !key.len || !ownership_is_namespace(o, ns) ||
        ns.len + service.len + 1 > sizeof(object)) {
        return;
    }
    memcpy(object, ns.ptr, ns.len);
    object[ns.len] = '/';
    memcpy(object + ns.len + 1, service.ptr, service.len);
    (void)record_label(slice_of(object, ns.len + 1 + service.len), label);
    if (slice_equal(last, slice_str(label))) {
        buf_append_str(out, ALIAS_PREFIX);
        buf_append(out, object, ns.len + 1 + service.len);
    }
}

/* ---- The external zone ---- */

static bool is_in_external_zone(const struct ownership *o, struct slice key)
{
    return o->external_tree.len && slice_has_prefix(key, buf_slice(&o->external_tree));
}

/* Appends the owner of "default/web/c88f1059", below the zone. */
static void append_external_owner(const struct ownership *o, struct slice below, struct buf *out)
{
    struct slice ns = first_segment(below);
    struct slice rest = ns.len < below.len ? slice_skip(below, ns.len + 1) : slice_of(NULL, 0);
    struct slice service = first_segment(rest);
    bool is_key = service.len < rest.len && dname_is_host_label(ns) &&
                  dname_is_host_label(service) && naming_may_be_external(ns) &&
                  ownership_is_namespace(o, ns);
    if (is_key || slice_equal(below, slice_str(EXTERNAL_PUBLIC_SUFFIX))) {
        buf_append_str(out, EXTERNAL_PREFIX);
        buf_append(out, below.ptr, ns.len + 1 + service.len);
    }
}

static bool ownership_has_external(const struct ownership *o, struct slice key, struct slice value)
{
    if (!is_in_external_zone(o, key)) {
        return false;
    }
    struct slice below = slice_skip(key, o->external_tree.len);
    return slice_equal(below, slice_str(EXTERNAL_PUBLIC_SUFFIX))
               ? slice_equal(value, slice_str(EXTERNAL_PUBLIC_VALUE))
               : key_style_external(slice_str(o->config.external_zone), below, value);
}

void ownership_external(const struct ownership *o, struct slice key, struct slice value,
                        struct buf *out)
{
    const size_t before = out->len;
    ownership_alias(o, key, value, out);
    if (out->len == before && is_in_external_zone(o, key)) {
        append_external_owner(o, slice_skip(key, o->external_tree.len), out);
    }
}

void ownership_owner_object(const struct ownership *o, struct slice value, struct buf *out)
{
    struct slice host = quick_host(value), names = our_names(o, host);
    const char *prefix = names.len ? SERVICE_PREFIX : IMPORT_PREFIX;
    names = names.len ? names : import_names(o, host);
    struct slice ns = slice_cut_last(&names, '.'), service = slice_cut_last(&names, '.');
    if (service.len) {
        buf_append_str(out, prefix);
        buf_append_slice(out, ns);
        buf_append_char(out, '/');
        buf_append_slice(out, service);
    }
}

static bool ownership_has_client(const struct ownership *o, struct slice below, struct slice value)
{
    return is_of_client(below) ? ownership_is_namespace(o, quick_text(value, "{\"namespace\":\""))
                               : o->config.namespace_count == 0 || !is_of_node_address(below);
}

bool ownership_may_be_copy(const struct ownership *o, struct slice key, struct slice value)
{
    bool is_import = is_below_imports(o, key);
    struct slice below = slice_skip(key, is_import ? o->import_tree.len : o->tree.len);
    return o->config.only_written && key_style_is_named(is_import, below, value);
}

bool ownership_has(const struct ownership *o, enum key_place place, struct slice key,
                   struct slice value)
{
    bool only_written = o->config.only_written;
    switch (place) {
    case KEY_OBJECT:
        only_written |= !o->config.has_nodes && !is_below_imports(o, key) &&
                        is_of_node(slice_skip(key, o->tree.len));
        return !only_written || ownership_is_written(o, key, value);
    case KEY_REVERSE:
        return says_our_host(o, value) && (!only_written || ownership_is_written(o, key, value));
    case KEY_CLIENT:
        return is_import_visible(o, key) ||
               ownership_has_client(o, slice_skip(key, strlen(o->beside)), value);
    case KEY_EXTERNAL:
        return ownership_has_external(o, key, value);
    case KEY_ELSEWHERE:
    case KEY_BESIDE:
        break;
    }
    return false;
}
