#include "skydns/confine/descriptor_limit.h"

#include <sys/resource.h>

#include "common/base/log.h"

enum {
    /* At most: 80 UDP and listening sockets, 130 for HTTP on two ports, 256 for its streams of
     * events, 48 for probes of nameservers and loop checks, 12 for malformed replies, some 50 for
     * etcd, name lookups, event loops and files. */
    RESERVED = 576,
    /* Listening sockets from systemd, an event loop; without connections closed during a handshake
     * step. */
    STREAMS_RESERVED = 32,
    USUAL_SOFT_LIMIT = 1024, /* if the kernel does not say */
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

static size_t reserved(const struct descriptor_wants *wants)
{
    return RESERVED + (wants->most.streams > 0 ? STREAMS_RESERVED + wants->handshakes : 0);
}

struct descriptor_shares descriptor_limit_share(size_t limit, const struct descriptor_wants *wants)
{
    size_t left = limit - at_most(reserved(wants), limit / 2);
    size_t part = left / (wants->most.streams > 0 ? 3 : 2), share = part ? part : 1;
    return (struct descriptor_shares){
        .connections = at_most(share, wants->most.connections),
        .streams = at_most(share, wants->most.streams),
        .nameservers = at_most(share, wants->most.nameservers),
    };
}

/* The resulting limit. */
static size_t raise_limit(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return USUAL_SOFT_LIMIT;
    }
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {.rlim_cur = at_most(wanted, limit.rlim_max),
                                .rlim_max = limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised : limit;
    }
    return limit.rlim_cur;
}

struct descriptor_shares descriptor_limit_raise(const struct descriptor_wants *wants)
{
    const struct descriptor_shares *most = &wants->most;
    size_t wanted = most->connections + most->streams + most->nameservers + reserved(wants);
    size_t limit = raise_limit(wanted);
    struct descriptor_shares shares = descriptor_limit_share(limit, wants);
    if (limit < wanted && most->streams > 0) {
        log_warn(
            "few descriptors, so fewer connections over TCP, TLS, HTTP and gRPC and queries to "
            "nameservers at once; raise LimitNOFILE= or ulimit -n",
            LOG_INT("limit", (int64_t)limit), LOG_INT("wanted", (int64_t)wanted),
            LOG_INT("connections", (int64_t)shares.connections),
            LOG_INT("stream_connections", (int64_t)shares.streams),
            LOG_INT("nameserver_queries", (int64_t)shares.nameservers));
    } else if (limit < wanted) {
        log_warn("few descriptors, so fewer TCP connections and queries to nameservers at once; "
                 "raise LimitNOFILE= or ulimit -n",
                 LOG_INT("limit", (int64_t)limit), LOG_INT("wanted", (int64_t)wanted),
                 LOG_INT("connections", (int64_t)shares.connections),
                 LOG_INT("nameserver_queries", (int64_t)shares.nameservers));
    }
    return shares;
}
