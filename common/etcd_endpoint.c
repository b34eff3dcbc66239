#include "common/etcd_endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/slice.h"
#include "common/xalloc.h"

static const char scheme[] = "http://";

static int usage(struct err *err, struct slice url, const char *problem)
{
    return err_set(err, ERR_USAGE, "etcd endpoint `%.*s`: %s; expected http://HOST:PORT",
                   (int)(url.len > 200 ? 200 : url.len), url.ptr, problem);
}

static struct slice trim(struct slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = slice_of(s.ptr + 1, s.len - 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

/* Host and port of "HOST", "HOST:PORT", "[V6]:PORT"; the port empty when absent. */
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

static bool parse_port(struct slice text, uint16_t *ret_port)
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

static void add(struct etcd_endpoints *list, struct slice url, struct slice host, uint16_t port,
                const struct addrinfo *found)
{
    struct etcd_endpoint *e = &list->items[list->count++];
    bool is_v6_literal = memchr(host.ptr, ':', host.len);
    e->url = xstrndup(url.ptr, url.len);
    e->authority =
        xasprintf(is_v6_literal ? "[%.*s]:%u" : "%.*s:%u", (int)host.len, host.ptr, port);
    memset(&e->address, 0, sizeof(e->address));
    memcpy(&e->address, found->ai_addr, found->ai_addrlen);
    e->address.len = found->ai_addrlen;
}

static int resolve(struct slice url, struct slice host, uint16_t port, struct etcd_endpoints *list,
                   struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    CLEANUP_FREE char *name = xstrndup(host.ptr, host.len);
    struct addrinfo *found = NULL;
    char service[sizeof("65535")];
    (void)snprintf(service, sizeof(service), "%u", port); /* fits */

    int rc = getaddrinfo(name, service, &hints, &found);
    if (rc != 0) {
        return err_set(err, ERR_UNAVAILABLE, "etcd endpoint `%.*s`: look up `%s`: %s", (int)url.len,
                       url.ptr, name, gai_strerror(rc));
    }
    for (const struct addrinfo *i = found; i && list->count < ETCD_ENDPOINTS_MAX; i = i->ai_next) {
        if (i->ai_family == AF_INET || i->ai_family == AF_INET6) {
            add(list, url, host, port, i);
        }
    }
    freeaddrinfo(found);
    return 0;
}

static int parse_url(struct slice url, struct etcd_endpoints *list, struct err *err)
{
    struct slice host;
    struct slice port_text;
    uint16_t port = ETCD_DEFAULT_PORT;
    if (slice_has_prefix(url, slice_str("https://"))) {
        return usage(err, url, "https is not supported");
    }
    if (!slice_has_prefix(url, slice_str(scheme))) {
        return usage(err, url, "not an http:// URL");
    }
    struct slice authority = slice_of(url.ptr + strlen(scheme), url.len - strlen(scheme));
    if (authority.len > 0 && authority.ptr[authority.len - 1] == '/') {
        authority.len--;
    }
    for (size_t i = 0; i < authority.len; i++) {
        char c = authority.ptr[i];
        if (c <= ' ' || c == 0x7f || strchr("/?#@\\", c)) {
            return usage(err, url, "neither path, query nor user may be given");
        }
    }
    if (!split_authority(authority, &host, &port_text)) {
        return usage(err, url, "no valid host");
    }
    if (port_text.ptr && !parse_port(port_text, &port)) {
        return usage(err, url, "the port must be 1-65535");
    }
    if (list->count == ETCD_ENDPOINTS_MAX) {
        return usage(err, url, "one endpoint too many, at most 16 are taken");
    }
    return resolve(url, host, port, list, err);
}

int etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret, struct err *err)
{
    struct etcd_endpoints list = {.count = 0};
    const char *p = urls;
    for (;;) {
        size_t len = strcspn(p, ",");
        int rc = parse_url(trim(slice_of(p, len)), &list, err);
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
    }
    endpoints->count = 0;
}
