/* The endpoints of an etcd cluster, from a comma-separated list of URLs. Pure, except that a host
 * name is looked up once with getaddrinfo, which blocks: for use before the loop runs. A name with
 * several addresses makes several endpoints. */
#ifndef COMMON_ETCD_ENDPOINT_H
#define COMMON_ETCD_ENDPOINT_H

#include <stddef.h>

#include "common/addr.h"
#include "common/attributes.h"
#include "common/err.h"

/* A cluster has 5 or 7 members, perhaps each with an IPv4 and an IPv6 address. */
enum { ETCD_ENDPOINTS_MAX = 16 };

/* etcd's own default, for URLs without a port. */
enum { ETCD_DEFAULT_PORT = 2379 };

struct etcd_endpoint {
    char *url;       /* as given, for messages */
    char *authority; /* "127.0.0.1:2379", "[::1]:2379", "localhost:2379" */
    struct addr address;
};

struct etcd_endpoints {
    struct etcd_endpoint items[ETCD_ENDPOINTS_MAX];
    size_t count; /* at least 1 after a successful parse */
};

/* "http://127.0.0.1:2379, http://localhost:4001/". ERR_USAGE: a message that names the URL and what
 * was expected; ERR_UNAVAILABLE: the name could not be looked up. *ret is untouched on failure. */
int etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret, struct err *err) MUST_CHECK;

void etcd_endpoints_fini(struct etcd_endpoints *endpoints);

#endif
