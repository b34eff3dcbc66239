#include "kube2sky/naming/naming_records_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/run_sort_internal.h"

/* Leaves room for the leading underscore. */
enum { UNDERSCORED_MAX = DNAME_LABEL_MAX - 1 };

/* Room for a prefix and a name of at most 4 labels more than the domain's 255 bytes. */
enum { KEY_MAX = 2048 };

void build_init(struct build *b, const struct naming_config *config,
                const struct naming_drop *object, struct desired *desired, struct claims *claims)
{
    *b = (struct build){
        .config = config,
        .domain = config->domain,
        .object = *object,
        .desired = desired,
        .claims = claims,
    };
    buf_init(&b->key, KEY_MAX);
    buf_init(&b->value, RECORD_JSON_MAX);
    buf_init(&b->host, KEY_MAX);
}

static void set_key_base(struct build *b)
{
    buf_clear(&b->key);
    record_key_from_name(slice_str(SKYDNS_TREE), slice_str(b->name), &b->key);
    b->key_base = b->key.len;
}

/* Sets the name from count parts, the domain's last. */
static void build_join_name(struct build *b, const char *const *parts, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(parts[i]);
    }
    free(b->name);
    b->name = xmalloc(size);
    char *end = b->name;
    for (size_t i = 0; i < count; i++) {
        end = stpcpy(end, parts[i]);
    }
    set_key_base(b);
}

void build_set_name(struct build *b, const struct label *name, const struct label *ns,
                    const char *kind)
{
    const char *const parts[] = {name->text, ".", ns->text, ".", kind, ".", b->domain};
    build_join_name(b, parts, ARRAY_LEN(parts));
}

void build_set_external_name(struct build *b, const struct label *name, const struct label *ns)
{
    const char *const parts[] = {name->text, ".", ns->text, ".", b->config->external.zone};
    build_join_name(b, parts, ARRAY_LEN(parts));
}

void build_set_node_name(struct build *b, struct slice name)
{
    free(b->name);
    b->name = xasprintf("%.*s." NODE_LABEL ".%s", (int)name.len, name.ptr, b->config->domain);
    ascii_lower_copy(b->name, b->name, strlen(b->name));
    set_key_base(b);
}

void build_fini(struct build *b)
{
    build_headless_free(b);
    free(b->name);
    buf_fini(&b->key);
    buf_fini(&b->value);
    buf_fini(&b->host);
}

void build_drop(const struct build *b, const char *what, const char *value)
{
    struct naming_drop drop = b->object;
    drop.what = what;
    drop.value = value;
    if (b->config->dropped) {
        b->config->dropped(b->config->data, &drop);
    }
}

/* ---- Parts of keys ---- */

bool naming_records_take_label(const struct build *b, const char *what, const char *text,
                               size_t max, struct label *ret_label)
{
    size_t n = strlen(text);
    if (n > max || !dname_is_host_label(slice_of(text, n))) {
        build_drop(b, what, text);
        return false;
    }
    ascii_lower_copy(ret_label->text, text, n + 1);
    return true;
}

bool naming_records_take_address(const struct build *b, const char *text,
                                 struct address *ret_address)
{
    if (!ip_parse_sloppy(slice_str(text), &ret_address->ip)) {
        build_drop(b, "address", text);
        return false;
    }
    ip_format(&ret_address->ip, ret_address->text);
    return true;
}

size_t take_ports(const struct build *b, const struct kube_port *ports, size_t count,
                  struct named_port *ret_ports)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct named_port *port = &ret_ports[n];
        if (!ports[i].name[0] || !ports[i].protocol[0] || !ports[i].port) {
            continue;
        }
        port->number = (uint16_t)ports[i].port;
        n += naming_records_take_label(b, "port name", ports[i].name, UNDERSCORED_MAX,
                                       &port->name) &&
             naming_records_take_label(b, "protocol", ports[i].protocol, UNDERSCORED_MAX,
                                       &port->protocol);
    }
    return n;
}

/* ---- Records ---- */

void naming_value(const struct naming_config *config, struct slice host, uint16_t port,
                  struct buf *out)
{
    const struct record record = {
        .host = host,
        .port = port,
        .priority = RECORD_PRIORITY,
        .weight = RECORD_WEIGHT,
        .ttl_s = config->ttl_s,
        .targetstrip = RECORD_TARGETSTRIP,
    };
    buf_clear(out);
    record_to_json(&record, out);
}

static void make_value(struct build *b, const char *host, uint16_t port)
{
    naming_value(b->config, slice_str(host), port, &b->value);
}

void address_label(struct build *b, const struct address *address, struct label *ret_label)
{
    make_value(b, address->text, 0);
    record_label(buf_slice(&b->value), ret_label->text);
}

/* Adds the last value under the key built in b->key, and resets the key. */
static void naming_records_add_record(struct build *b)
{
    struct dname name;
    if (record_key_to_name(slice_str(SKYDNS_TREE), buf_slice(&b->key), &name)) {
        desired_add(b->desired, buf_slice(&b->key), buf_slice(&b->value));
    } else {
        build_drop(b, "key exceeds the limits of DNS names", buf_cstr(&b->key));
    }
    b->key.len = b->key_base;
}

/* Returns "<label>.[<cluster>.]<name>", borrowed until the next call. */
static const char *name_below(struct build *b, const char *label)
{
    buf_clear(&b->host);
    buf_append_str(&b->host, label);
    buf_append_char(&b->host, '.');
    if (b->cluster) {
        buf_append_str(&b->host, b->cluster->text);
        buf_append_char(&b->host, '.');
    }
    buf_append_str(&b->host, b->name);
    return buf_cstr(&b->host);
}

static void append_segment(struct build *b, const char *separator, const char *segment)
{
    buf_append_str(&b->key, separator);
    buf_append_str(&b->key, segment);
}

/* Appends an endpoint's label, below its cluster's. */
static void append_label(struct build *b, const char *label)
{
    if (b->cluster) {
        append_segment(b, "/", b->cluster->text);
    }
    append_segment(b, "/", label);
}

void naming_records_add_address(struct build *b, const char *label, const struct address *address,
                                const char *label_below)
{
    make_value(b, address->text, 0);
    append_label(b, label);
    if (label_below) {
        append_segment(b, "/", label_below);
    }
    naming_records_add_record(b);
}

void add_hashed_address(struct build *b, const struct address *address, struct label *ret_label)
{
    address_label(b, address, ret_label);
    append_segment(b, "/", ret_label->text);
    naming_records_add_record(b); /* the label is this value's hash */
}

void naming_records_add_host(struct build *b, const char *host)
{
    make_value(b, host, 0);
    naming_records_add_record(b);
}

void naming_records_add_hashed_host(struct build *b, const char *host, struct label *ret_label)
{
    make_value(b, host, 0);
    record_label(buf_slice(&b->value), ret_label->text);
    append_segment(b, "/", ret_label->text);
    naming_records_add_record(b);
}

void add_claim(struct build *b, const struct address *address, enum claim_rank rank,
               const char *label)
{
    struct dname name;
    const char *host = label ? name_below(b, label) : b->name;
    if (dname_from_text(slice_str(host), &name)) { /* another host's key was dropped and reported */
        rank = b->is_import ? rank - CLAIM_CLUSTER_IP + CLAIM_IMPORT_IP : rank;
        claims_add(b->claims,
                   &(struct claim){.ip = address->ip, .rank = rank, .host = slice_str(host)});
    }
}

/* ---- Ports ---- */

static int compare_ports(const struct named_port *a, const struct named_port *b)
{
    int d = a == b ? 0 : strcmp(a->protocol.text, b->protocol.text);
    return d || a == b ? d : strcmp(a->name.text, b->name.text);
}

/* Compares ports nearly as their keys sort, so that desired_seal finds them in order. */
static int compare_srv_keys(const struct srv *a, const struct srv *b)
{
    int d = compare_ports(a->port, b->port);
    return d ? d : strcmp(a->label->text, b->label->text);
}

static int compare_srvs(const void *a, const void *b, void *data UNUSED)
{
    const struct srv *x = a, *y = b;
    int d = compare_srv_keys(x, y);
    return d ? d : (x->port->number > y->port->number) - (x->port->number < y->port->number);
}

int compare_named_ports(const void *a, const void *b)
{
    const struct named_port *x = a, *y = b;
    int d = compare_ports(x, y);
    return d ? d : (x->number > y->number) - (x->number < y->number);
}

/* Compares by key only: equal ports sort by number. */
static int compare_to_key(const void *key, const void *srv)
{
    return compare_srv_keys(key, srv);
}

static void make_srv_value(struct build *b, const struct srv *srv, bool is_headless)
{
    const char *host = srv->host     ? srv->host
                       : is_headless ? name_below(b, srv->label->text)
                                     : b->name;
    make_value(b, host, srv->port->number);
}

static void add_srv(struct build *b, const struct srv *srv, const char *label, bool is_headless)
{
    make_srv_value(b, srv, is_headless);
    append_segment(b, "/_", srv->port->protocol.text);
    append_segment(b, "/_", srv->port->name.text);
    append_label(b, label);
    naming_records_add_record(b);
}

/* Adds a port whose key went to an equal one with a smaller number. If its label with the number is
 * too long or another endpoint's, the record's hash is its label. If that is another endpoint's,
 * too, its name was chosen on purpose, and the port is dropped. */
static void add_numbered_srv(struct build *b, const struct srv *srv, const struct srv *srvs,
                             size_t count, bool is_headless)
{
    struct label label;
    struct srv plain = {.port = srv->port, .label = &label, .host = srv->host};
    int n = snprintf(label.text, sizeof(label.text), "%s-%u", srv->label->text, srv->port->number);
    if (n > DNAME_LABEL_MAX || bsearch(&plain, srvs, count, sizeof(*srvs), compare_to_key)) {
        make_srv_value(b, srv, is_headless);
        record_label(buf_slice(&b->value), label.text);
        if (bsearch(&plain, srvs, count, sizeof(*srvs), compare_to_key)) {
            build_drop(b, "port label taken by another endpoint", label.text);
            return;
        }
    }
    add_srv(b, srv, label.text, is_headless);
}

void sort_srvs(struct srv *srvs, size_t count)
{
    run_sort(srvs, count, sizeof(*srvs), compare_srvs, NULL);
}

void add_sorted_srv(struct build *b, const struct srv *srvs, size_t count, size_t at,
                    bool is_headless)
{
    const struct srv *previous = at ? &srvs[at - 1] : NULL, *srv = &srvs[at];
    if (previous && compare_srvs(previous, srv, NULL) == 0) {
        return;
    }
    if (previous && compare_srv_keys(previous, srv) == 0) {
        add_numbered_srv(b, srv, srvs, count, is_headless);
    } else {
        add_srv(b, srv, srv->label->text, is_headless);
    }
}

void add_srvs(struct build *b, struct srv *srvs, size_t count)
{
    sort_srvs(srvs, count);
    for (size_t i = 0; i < count; i++) {
        add_sorted_srv(b, srvs, count, i, false);
    }
}
