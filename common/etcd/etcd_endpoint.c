#include "common/etcd/etcd_endpoint_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/slice.h"
#include "common/base/xalloc.h"

static const char scheme[] = "http://";
static const char tls_scheme[] = "https://";

static int etcd_endpoint_usage(struct err *err, struct slice url, const char *problem)
{
    return err_set(err, ERR_USAGE, "etcd endpoint `%.*s`: %s; expected http[s]://HOST:PORT",
                   (int)(url.len > 200 ? 200 : url.len), url.ptr, problem);
}

/* Splits "HOST", "HOST:PORT" or "[V6]:PORT"; the port is empty if absent. */
static bool split_authority(struct slice authority, struct slice *ret_host, struct slice *ret_port)
{
    struct slice host = authority;
    struct slice rest = slice_of(NULL, 0);
    if (authority.len > 0 && authority.ptr[0] == '[') {
        const char *end = memchr(authority.ptr, ']', authority.len);
        if (!end) {
            return false;
        }
        host = slice_of(authority.ptr + 1, (size_t)(end - authority.ptr) - 1);
        rest = slice_of(end + 1, authority.len - host.len - 2);
    } else {
        const char *colon = authority.len ? memchr(authority.ptr, ':', authority.len) : NULL;
        if (colon) {
            host.len = (size_t)(colon - authority.ptr);
            rest = slice_of(colon, authority.len - host.len);
        }
    }
    if (host.len == 0 || (rest.len > 0 && rest.ptr[0] != ':')) {
        return false;
    }
    *ret_host = host;
    *ret_port = rest.len ? slice_of(rest.ptr + 1, rest.len - 1) : slice_of(NULL, 0);
    return true;
}

static bool etcd_endpoint_parse_port(struct slice text, uint16_t *ret_port)
{
    unsigned port = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || i == 5) {
            return false;
        }
        port = port * 10 + (unsigned)(text.ptr[i] - '0');
    }
    if (port == 0 || port > 65535) {
        return false;
    }
    *ret_port = (uint16_t)port;
    return true;
}

static void set_address(struct etcd_endpoint *e, const struct ip *ip)
{
    if (ip->family_bytes == 4) {
        e->address.v4.sin_family = AF_INET;
        e->address.v4.sin_port = htons(e->port);
        memcpy(&e->address.v4.sin_addr, ip->bytes, 4);
        e->address.len = sizeof(e->address.v4);
    } else {
        e->address.v6.sin6_family = AF_INET6;
        e->address.v6.sin6_port = htons(e->port);
        memcpy(&e->address.v6.sin6_addr, ip->bytes, 16);
        e->address.len = sizeof(e->address.v6);
    }
}

/* Copies the host as the C library reads it. In a URL, the scope of an IPv6 address begins with %25
 * (RFC 6874); people write % as well. */
static char *host_of_url(struct slice host)
{
    static const char escaped[] = "%25";
    const size_t len = sizeof(escaped) - 1;
    char *text = xstrndup(host.ptr, host.len);
    char *scope = strchr(text, ':') ? strstr(text, escaped) : NULL;
    if (scope && scope[len]) {
        memmove(scope + 1, scope + len, strlen(scope + len) + 1);
    }
    return text;
}

/* Returns the length without a scope, which means nothing to others (RFC 6874 4). */
static size_t without_scope(struct slice host)
{
    const char *scope = memchr(host.ptr, '%', host.len);
    return scope ? (size_t)(scope - host.ptr) : host.len;
}

static void etcd_endpoint_add(struct etcd_endpoints *list, struct slice url, struct slice host,
                              uint16_t port, bool is_tls)
{
    struct etcd_endpoint *e = &list->items[list->count++];
    struct ip ip;
    bool is_v6_literal = memchr(host.ptr, ':', host.len);
    memset(e, 0, sizeof(*e));
    e->url = xstrndup(url.ptr, url.len);
    e->authority = is_v6_literal ? xasprintf("[%.*s]:%u", (int)without_scope(host), host.ptr, port)
                                 : xasprintf("%.*s:%u", (int)host.len, host.ptr, port);
    e->host = host_of_url(host);
    e->port = port;
    e->is_tls = is_tls;
    e->is_literal = ip_parse(host, &ip);
    if (e->is_literal) {
        set_address(e, &ip);
    }
}

static int parse_url(struct slice url, struct etcd_endpoints *list, struct err *err)
{
    struct slice host;
    struct slice port_text;
    uint16_t port = ETCD_DEFAULT_PORT;
    bool is_tls = slice_has_prefix(url, slice_str(tls_scheme));
    if (!is_tls && !slice_has_prefix(url, slice_str(scheme))) {
        return etcd_endpoint_usage(err, url, "not an http:// or https:// URL");
    }
    size_t scheme_len = strlen(is_tls ? tls_scheme : scheme);
    struct slice authority = slice_of(url.ptr + scheme_len, url.len - scheme_len);
    if (authority.len > 0 && authority.ptr[authority.len - 1] == '/') {
        authority.len--;
    }
    for (size_t i = 0; i < authority.len; i++) {
        char c = authority.ptr[i];
        if (c <= ' ' || c == 0x7f || strchr("/?#@\\", c)) {
            return etcd_endpoint_usage(err, url, "path, query and user are not allowed");
        }
    }
    if (!split_authority(authority, &host, &port_text)) {
        return etcd_endpoint_usage(err, url, "invalid host");
    }
    if (port_text.ptr && !etcd_endpoint_parse_port(port_text, &port)) {
        return etcd_endpoint_usage(err, url, "the port must be 1-65535");
    }
    if (list->count == ETCD_ENDPOINTS_MAX) {
        return etcd_endpoint_usage(err, url, "too many endpoints, at most 16 are accepted");
    }
    etcd_endpoint_add(list, url, host, port, is_tls);
    return 0;
}

int etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret, struct err *err)
{
    struct etcd_endpoints list = {.count = 0};
    const char *p = urls;
    for (;;) {
        size_t len = strcspn(p, ",");
        int rc = parse_url(slice_trim(slice_of(p, len)), &list, err);
        if (rc != 0) {
            etcd_endpoints_fini(&list);
            return rc;
        }
        if (p[len] == '\0') {
            break;
        }
        p += len + 1;
    }
    *ret = list;
    return 0;
}

void etcd_endpoints_fini(struct etcd_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        free(endpoints->items[i].url);
        free(endpoints->items[i].authority);
        free(endpoints->items[i].host);
    }
    endpoints->count = 0;
}
