#include "kube2sky/naming/key_style.h"

#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/node_names_internal.h"
#include "kube2sky/naming/reverse.h"

/* The longest key of ours has svc, ns, name, _proto, _port, cluster and label. */
enum { SEGMENTS_MAX = 7 };

struct path {
    /* Without the cluster; in the external zone the first one is empty */
    struct slice segments[SEGMENTS_MAX];
    struct slice cluster; /* of an import's endpoint; empty: none */
    size_t count;         /* 0: too many */
};

static struct path key_style_split(struct slice below)
{
    struct path path = {.count = 0};
    const char *end = below.ptr + below.len;
    bool has_more = true;
    while (has_more) {
        if (path.count == SEGMENTS_MAX) {
            return (struct path){.count = 0};
        }
        const struct slice segment = slice_cut(&below, '/');
        path.segments[path.count++] = segment;
        has_more = segment.ptr + segment.len < end;
    }
    return path;
}

/* Takes the cluster out of the path of an import's key, if it has one: behind the name, or behind
 * the port. */
static void take_cluster(struct path *path)
{
    const struct slice *fourth = &path->segments[3];
    size_t at = path->count > 3 && fourth->len && fourth->ptr[0] == '_' ? 5 : 3;
    if (path->count > at + 1 && dname_is_host_label(path->segments[at])) {
        path->cluster = path->segments[at];
        path->count--;
        memmove(&path->segments[at], &path->segments[at + 1],
                (path->count - at) * sizeof(path->segments[0]));
    }
}

static struct path key_style_path(struct slice below, bool is_import)
{
    struct path path = key_style_split(below);
    if (is_import) {
        take_cluster(&path);
    }
    return path;
}

/* ---- Values ---- */

/* Parses a value if it is, byte for byte, in naming's form, with any ttl. */
static bool key_style_parse(struct slice value, struct record *ret_record)
{
    struct buf again;
    struct record r;
    if (record_from_json(value, &r, NULL) < 0) {
        return false;
    }
    buf_init(&again, RECORD_JSON_MAX);
    naming_value(&(struct naming_config){.ttl_s = r.ttl_s}, r.host, r.port, &again);
    bool is_same = r.ttl_s > 0 && slice_equal(buf_slice(&again), value);
    buf_fini(&again);
    if (is_same) {
        *ret_record = r;
    } else {
        record_fini(&r);
    }
    return is_same;
}

static bool says_address(const struct record *r)
{
    struct ip ip;
    return r->port == 0 && ip_parse_sloppy(r->host, &ip);
}

/* ---- Labels ---- */

/* Returns whether the label is in the form that record_label prints. */
static bool is_hash_form(struct slice label)
{
    size_t n = 0;
    while (n < label.len && memchr("0123456789abcdef", label.ptr[n], 16)) {
        n++;
    }
    return n == label.len && n >= 1 && n <= 8;
}

static bool is_hash_of(struct slice label, struct slice value)
{
    char hash[9];
    return slice_equal(label, slice_str(record_label(value, hash)));
}

/* Returns whether the label has six or more hexadecimal digits: all but one hash in 4,096 do, and
 * few words. */
static bool looks_like_hash(struct slice label)
{
    return label.len >= 6 && is_hash_form(label);
}

/* Returns whether it is a label like "_tcp". */
static bool is_service_label(struct slice label)
{
    return label.len > 1 && label.ptr[0] == '_' && dname_is_host_label(slice_skip(label, 1));
}

static bool is_pod_label(struct slice label, const struct ip *ip)
{
    struct buf want;
    buf_init(&want, INET6_ADDRSTRLEN + 1);
    naming_pod_label(ip, &want);
    bool is_it = slice_equal(buf_slice(&want), label);
    buf_fini(&want);
    return is_it;
}

/* Removes a host's first label: "web." of "web.default.svc.cluster.local.". */
static bool key_style_take_label(struct slice *host, struct slice label)
{
    if (host->len <= label.len || host->ptr[label.len] != '.' || !slice_has_prefix(*host, label)) {
        return false;
    }
    *host = slice_skip(*host, label.len + 1);
    return true;
}

static bool is_external_path(const struct path *path)
{
    return path->segments[0].len == 0;
}

/* Returns whether the host is "[<label>.[<cluster>.]]<service>.<ns>.svc.<domain>"; without `svc` in
 * the external zone. */
static bool is_host_of(struct slice domain, const struct path *path, struct slice label,
                       struct slice host)
{
    return (label.len == 0 || key_style_take_label(&host, label)) &&
           (path->cluster.len == 0 || key_style_take_label(&host, path->cluster)) &&
           key_style_take_label(&host, path->segments[2]) &&
           key_style_take_label(&host, path->segments[1]) &&
           (is_external_path(path) || key_style_take_label(&host, slice_str(SERVICE_LABEL))) &&
           slice_equal(host, domain);
}

/* Returns the first label of a host's name. */
static struct slice first_label(struct slice host)
{
    return slice_cut(&host, '.');
}

/* Returns the label without the port's number; empty if it has none. A port has its plain label
 * only if no other one has its name and protocol; else its number may follow the label, or its
 * label is its record's hash.
 */
static struct slice without_number(struct slice label, uint16_t port)
{
    char number[8];
    int n = snprintf(number, sizeof(number), "-%u", port);
    bool has_it = slice_has_suffix(label, slice_of(number, (size_t)n));
    return has_it ? slice_of(label.ptr, label.len - (size_t)n) : slice_of(NULL, 0);
}

/* ---- Rows ---- */

/* Returns whether it is a load balancer's host name. */
static bool is_balancer(const struct path *path, struct slice host)
{
    return is_external_path(path) && host.len > 1 && slice_has_suffix(host, slice_str("."));
}

static bool is_port(struct slice domain, const struct path *path, const struct record *r,
                    struct slice value)
{
    struct slice label = path->segments[5], host = r->host;
    struct slice short_label = without_number(label, r->port);
    return r->port != 0 && is_service_label(path->segments[3]) &&
           is_service_label(path->segments[4]) && dname_is_host_label(label) &&
           (((is_host_of(domain, path, slice_of(NULL, 0), host) || is_balancer(path, host)) &&
             (is_hash_form(label) || is_hash_form(short_label))) ||
            is_host_of(domain, path, label, host) ||
            (is_hash_of(label, value) && is_host_of(domain, path, first_label(host), host)) ||
            (short_label.len && is_host_of(domain, path, short_label, host)));
}

static bool is_service_key(struct slice domain, const struct path *path, const struct record *r,
                           struct slice value)
{
    switch (path->count) {
    case 3: /* ExternalName */
        return r->port == 0 && r->host.len > 1 && slice_has_suffix(r->host, slice_str("."));
    case 4:
        if (r->port == 0 && is_balancer(path, r->host)) {
            return is_hash_of(path->segments[3], value);
        }
        return says_address(r) && dname_is_host_label(path->segments[3]) &&
               (is_hash_of(path->segments[3], value) || !looks_like_hash(path->segments[3]));
    case 5: /* addresses with one hostname */
        return says_address(r) && dname_is_host_label(path->segments[3]) &&
               is_hash_of(path->segments[4], value);
    case 6:
        return is_port(domain, path, r, value);
    default:
        return false;
    }
}

static bool is_pod_key(const struct path *path, const struct record *r, struct slice value)
{
    struct ip ip;
    return path->count == 4 && r->port == 0 && ip_parse_sloppy(r->host, &ip) &&
           is_pod_label(path->segments[2], &ip) && is_hash_of(path->segments[3], value);
}

static bool is_node_key(struct slice below, const struct record *r, struct slice value)
{
    struct buf name;
    struct slice owner = below, label = slice_cut_last(&owner, '/'); /* "node/" contains one */
    buf_init(&name, NODE_NAME_MAX);
    bool is_it = node_names_from_owner(owner, &name) && dname_is_host(buf_slice(&name)) &&
                 says_address(r) && is_hash_of(label, value);
    buf_fini(&name);
    return is_it;
}

static bool key_style_node(struct slice below, struct slice value)
{
    struct record record;
    if (!key_style_parse(value, &record)) {
        return false;
    }
    bool is_it = is_node_key(below, &record, value);
    record_fini(&record);
    return is_it;
}

bool key_style_object(struct slice domain, bool is_import, struct slice below, struct slice value)
{
    if (!is_import && slice_has_prefix(below, slice_str(NODE_PREFIX))) {
        return key_style_node(below, value);
    }
    struct path path = key_style_path(below, is_import);
    struct record record;
    if (path.count < 3 || !dname_is_host_label(path.segments[1]) ||
        !dname_is_host_label(path.segments[2])) {
        return false;
    }
    if (!key_style_parse(value, &record)) {
        return false;
    }
    bool is_it = slice_equal(path.segments[0], slice_str(POD_LABEL))
                     ? is_pod_key(&path, &record, value)
                     : is_service_key(domain, &path, &record, value);
    record_fini(&record);
    return is_it;
}

bool key_style_external(struct slice zone, struct slice below, struct slice value)
{
    struct path parts = key_style_split(below), path = {.count = parts.count + 1};
    struct record record;
    if (parts.count < 3 || parts.count == SEGMENTS_MAX || !dname_is_host_label(parts.segments[0]) ||
        !dname_is_host_label(parts.segments[1]) || !key_style_parse(value, &record)) {
        return false;
    }
    memcpy(&path.segments[1], parts.segments, parts.count * sizeof(parts.segments[0]));
    bool is_it = is_service_key(zone, &path, &record, value);
    record_fini(&record);
    return is_it;
}

bool key_style_is_named(bool is_import, struct slice below, struct slice value)
{
    struct path path = key_style_path(below, is_import);
    return path.count == 4 && slice_equal(path.segments[0], slice_str(SERVICE_LABEL)) &&
           !is_hash_of(path.segments[3], value) && !naming_is_address_label(path.segments[3]);
}

bool key_style_reverse(struct slice key, struct slice value)
{
    struct record record;
    struct ip ip;
    if (!reverse_parse_key(key, &ip) || !key_style_parse(value, &record)) {
        return false;
    }
    bool is_it = record.port == 0;
    record_fini(&record);
    return is_it;
}
