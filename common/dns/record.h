/* One SkyDNS record, the content of a key's JSON value (record_json.h parses and prints it,
 * record_scan.h parses it where it lies). Plain data; any thread once filled. */
#ifndef COMMON_DNS_RECORD_H
#define COMMON_DNS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"

/* Its strings, as written: another one is stored and saved like these. */
enum record_string {
    RECORD_HOST,  /* an address or a name */
    RECORD_TEXT,  /* in presentation form (txt.h) */
    RECORD_GROUP, /* labels below a name with one group are answered together */
    RECORD_STRINGS,
};

struct record {
    union {
        struct {
            struct slice host, text, group; /* empty when absent */
        };
        struct slice strings[RECORD_STRINGS]; /* the same */
    };
    uint32_t ttl_s; /* 0 = not set */
    uint16_t port;
    uint16_t priority;    /* 0 = not set */
    uint16_t weight;      /* 0 = not set */
    uint16_t targetstrip; /* labels to remove from the left of the target */
    bool mail;
    bool is_leased; /* not of the value: its key has a lease, which bounds the TTL */
    char *owned;    /* the strings, if they are the record's own; else they are borrowed */
};

/* RFC 2181 section 8: a TTL has 31 bits; larger values are capped. */
static inline uint32_t record_ttl_s(uint32_t ttl_s)
{
    return ttl_s < INT32_MAX ? ttl_s : INT32_MAX;
}

/* A copy of the record whose strings are its own. */
struct record record_copy(const struct record *record);

void record_fini(struct record *record);

#endif
