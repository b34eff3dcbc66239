/* Serves CoreDNS's DNS over gRPC, on connections to `grpc://` addresses:
 *
 *     service coredns.dns.DnsService { rpc Query(DnsPacket) returns (DnsPacket); }
 *     message DnsPacket { bytes msg = 1; }
 *
 * One message each way, over common/http2. A call that fails has a status (dnsgrpc_call) and no
 * message. A request that is not gRPC at all gets HTTP's 415. Only on the thread of the
 * connection's loop. */
#ifndef SKYDNS_DNSGRPC_DNSGRPC_H
#define SKYDNS_DNSGRPC_DNSGRPC_H

#include "skydns/streams/stream_protocol.h"

enum {
    /* Limits calls refused on one connection beyond those answered; then it ends with GOAWAY: they
     * cost less than an answer but are not counted as one. */
    DNSGRPC_REFUSED_MAX = 64
};

extern const struct stream_protocol dnsgrpc_protocol;

#endif
