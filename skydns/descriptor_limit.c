#include "skydns/descriptor_limit.h"

#include <sys/resource.h>

#include "common/base/log.h"
#include "skydns/serve/tcp_server.h"
#include "skydns/upstream/forwarder.h"

enum {
    /* At most: 80 UDP and listening sockets, 130 for HTTP on two ports, 48 for probes of
     * nameservers and loop checks, some 50 for etcd, name lookups, event loops and files. */
    RESERVED = 320,
    WANTED = TCP_CONNECTIONS_MAX + FORWARDER_SOCKETS_MAX + RESERVED,
    USUAL_SOFT_LIMIT = 1024, /* if the kernel does not say */
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

struct descriptor_shares descriptor_limit_share(size_t limit)
{
    size_t left = limit - at_most(RESERVED, limit / 2);
    size_t share = left / 2 ? left / 2 : 1;
    return (struct descriptor_shares){.connections = at_most(share, TCP_CONNECTIONS_MAX),
                                      .nameservers = at_most(share, FORWARDER_SOCKETS_MAX)};
}

/* The resulting limit. */
static size_t raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return USUAL_SOFT_LIMIT;
    }
    if (limit.rlim_cur < WANTED) {
        struct rlimit raised = {.rlim_cur = at_most(WANTED, limit.rlim_max),
                                .rlim_max = limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised : limit;
    }
    return limit.rlim_cur;
}

struct descriptor_shares descriptor_limit_raise(void)
{
    size_t limit = raise_limit();
    struct descriptor_shares shares = descriptor_limit_share(limit);
    if (limit < WANTED) {
        log_warn("few descriptors, so fewer TCP connections and queries to nameservers at once; "
                 "raise LimitNOFILE= or ulimit -n",
                 LOG_INT("limit", (int64_t)limit), LOG_INT("wanted", WANTED),
                 LOG_INT("connections", (int64_t)shares.connections),
                 LOG_INT("nameserver_queries", (int64_t)shares.nameservers));
    }
    return shares;
}
