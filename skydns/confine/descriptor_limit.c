#include "skydns/confine/descriptor_limit.h"

#include <sys/resource.h>

#include "common/base/log.h"
#include "skydns/streams/tcp_server.h"
#include "skydns/upstream/forwarder.h"

enum {
    /* At most: 80 UDP and listening sockets, 130 for HTTP on two ports, 256 for its streams of
     * events, 48 for probes of nameservers and loop checks, some 50 for etcd, name lookups, event
     * loops and files. */
    RESERVED = 576,
    /* Listening sockets from systemd, an event loop; connections closed during a handshake step. */
    STREAMS_RESERVED = 32 + TCP_HANDSHAKES_MAX,
    WANTED = TCP_CONNECTIONS_MAX + FORWARDER_SOCKETS_MAX + RESERVED,
    STREAMS_WANTED = TCP_CONNECTIONS_MAX + STREAMS_RESERVED,
    USUAL_SOFT_LIMIT = 1024, /* if the kernel does not say */
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

struct descriptor_shares descriptor_limit_share(size_t limit, bool has_streams)
{
    size_t left = limit - at_most(RESERVED + (has_streams ? STREAMS_RESERVED : 0), limit / 2);
    size_t part = left / (has_streams ? 3 : 2), share = part ? part : 1;
    return (struct descriptor_shares){
        .connections = at_most(share, TCP_CONNECTIONS_MAX),
        .streams = has_streams ? at_most(share, TCP_CONNECTIONS_MAX) : 0,
        .nameservers = at_most(share, FORWARDER_SOCKETS_MAX),
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

struct descriptor_shares descriptor_limit_raise(bool has_streams)
{
    size_t wanted = WANTED + (has_streams ? STREAMS_WANTED : 0);
    size_t limit = raise_limit(wanted);
    struct descriptor_shares shares = descriptor_limit_share(limit, has_streams);
    if (limit < wanted && has_streams) {
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
