/* One SkyDNS record, the content of a key's JSON value (record_json.h parses and prints it).
 * Plain data; owned strings. Any thread once filled. */
#ifndef COMMON_DNS_RECORD_H
#define COMMON_DNS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

struct record {
    char *host;     /* as written, "" when absent: an address or a name */
    char *text;     /* as written, "" when absent: in presentation form (txt.h) */
    char *group;    /* "" when absent */
    struct ip ip;   /* host as an address; family_bytes 0 when it is a name or absent */
    uint32_t ttl_s; /* 0 = not set */
    uint16_t port;
    uint16_t priority;    /* 0 = not set */
    uint16_t weight;      /* 0 = not set */
    uint16_t targetstrip; /* labels to remove from the left of the target */
    bool mail;
};

/* The same, with borrowed strings. */
struct record_view {
    struct slice host, text, group; /* borrowed; empty when absent */
    uint32_t ttl_s;
    uint16_t port;
    uint16_t priority;
    uint16_t weight;
    uint16_t targetstrip;
    bool mail;
    bool is_leased; /* not of the value: its key has a lease, which bounds the TTL */
};

/* Valid until the record changes. */
struct record_view record_view_of(const struct record *record);

/* RFC 2181 section 8: a TTL has 31 bits; larger values are capped. */
uint32_t record_ttl_s(uint32_t ttl_s);

void record_init(struct record *record); /* strings "" (owned), rest zero */
void record_fini(struct record *record);

#endif
