/* Describes a DNS message that dnstap shows: plain data, all borrowed. */
#ifndef SKYDNS_DNSTAP_DNSTAP_EVENT_H
#define SKYDNS_DNSTAP_DNSTAP_EVENT_H

#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

/* Types of messages, with dnstap's numbers. */
enum dnstap_type {
    DNSTAP_CLIENT_QUERY = 5,
    DNSTAP_CLIENT_RESPONSE = 6,
    DNSTAP_FORWARDER_QUERY = 7,
    DNSTAP_FORWARDER_RESPONSE = 8,
};

enum dnstap_protocol {
    DNSTAP_UDP = 1,
    DNSTAP_TCP = 2, /* and what dnstap has no number for */
    DNSTAP_DOT = 3,
    DNSTAP_DOH = 4,
};

/* "namespace=prod pod=web-0 node=n1", with the longest names. */
enum { DNSTAP_EXTRA_MAX = 640 };

struct dnstap_event {
    enum dnstap_type type;
    enum dnstap_protocol protocol;
    const struct addr *querier;  /* family AF_UNSPEC when not known */
    const struct addr *answerer; /* the same */
    int64_t query_ns;            /* Unix time; 0: not known */
    int64_t response_ns;         /* the same; of a query: 0 */
    struct slice message;        /* the query or the response, as the type says */
    struct slice zone;           /* in wire format; the zone that the upstream is asked about;
                                  * empty: none */
    struct slice extra;          /* at most DNSTAP_EXTRA_MAX bytes; empty: none */
};

#endif
