/* Parses the endpoints of an etcd cluster from a comma-separated list of URLs.
 *
 * Pure: etcd_dialer.c looks names up, at each connection. */
#ifndef COMMON_ETCD_ETCD_ENDPOINT_INTERNAL_H
#define COMMON_ETCD_ETCD_ENDPOINT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

/* Exceeds a cluster of 7 members, each with an IPv4 and an IPv6 URL. */
enum { ETCD_ENDPOINTS_MAX = 16 };

/* Completes URLs without a port, as etcd's own clients do. */
enum { ETCD_DEFAULT_PORT = 2379 };

struct etcd_endpoint {
    char *url;       /* as given, for messages */
    char *authority; /* "127.0.0.1:2379", "[::1]:2379", "localhost:2379" */
    char *host;      /* without brackets: looked up, and its certificate must name it */
    uint16_t port;
    bool is_tls;         /* https */
    bool is_literal;     /* host is an IP address */
    struct addr address; /* with the port; only if is_literal */
};

struct etcd_endpoints {
    struct etcd_endpoint items[ETCD_ENDPOINTS_MAX];
    size_t count; /* at least 1 after a successful parse */
};

/* Parses "http://127.0.0.1:2379, https://etcd-0.etcd:2379/". Returns ERR_USAGE with a message that
 * names the URL and the expected form. Leaves *ret untouched on failure. */
int etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret, struct err *err) MUST_CHECK;

void etcd_endpoints_fini(struct etcd_endpoints *endpoints);

#endif
