/* Resource records of an answer before encoding: views into the store, the question, the
 * configuration or an upstream's reply, valid as long as those. Names are slices of uncompressed
 * wire form, since a name with labels stripped is simply the tail of the full one. Any thread. */
#ifndef SKYDNS_RECORDS_RR_H
#define SKYDNS_RECORDS_RR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

/* The record types that answers contain. Every switch over enum rr_type must handle a type added
 * here, or it does not compile (-Werror=switch-enum). */
#define RR_TYPES(X) \
    X(A)            \
    X(AAAA)         \
    X(SRV)          \
    X(MX)           \
    X(TXT)          \
    X(NS)           \
    X(CNAME)        \
    X(PTR)          \
    X(SOA)          \
    X(HINFO)

enum rr_type {
#define RR_ENUMERATOR(name) RR_##name = DNS_TYPE_##name,
    RR_TYPES(RR_ENUMERATOR)
#undef RR_ENUMERATOR
};

/* From a question's type; false: answers never have records of it. */
static inline bool rr_type_of(uint16_t number, enum rr_type *ret_type)
{
    switch (number) {
#define RR_CASE(name) case DNS_TYPE_##name:
        RR_TYPES(RR_CASE)
#undef RR_CASE
        *ret_type = (enum rr_type)number;
        return true;
    default:
        return false;
    }
}

struct rr {
    struct slice owner;
    uint32_t ttl_s;
    enum rr_type type;
    uint16_t priority; /* SRV; MX: the preference */
    uint16_t weight;   /* SRV */
    uint16_t port;     /* SRV */
    struct slice data; /* A, AAAA, HINFO: as on the wire; TXT: its bytes, not split; SOA: empty, the
                        * answer has one SOA; others: the name it points to */
};

static inline struct slice rr_name(const struct dname *name)
{
    return slice_of(name->wire, name->len);
}

/* Ignores case. */
bool rr_same_name(struct slice a, struct slice b);

/* No message holds more: over TCP it has 65,535 bytes, and an address record with a compressed
 * owner has 16. */
enum { RR_LIST_MAX = 4096 };

/* The records of one section, without duplicates, in the order they were added. */
struct rr_list {
    size_t count;
    bool is_cut;        /* there were more than RR_LIST_MAX, or than the reply holds */
    size_t least_bytes; /* that they take in a message */
    struct rr *items;
    uint16_t *slots; /* an index into items plus one; 0 is free */
    bool is_indexed; /* slots are in use: long lists only */
};

void rr_list_init(struct rr_list *list);
void rr_list_fini(struct rr_list *list);
void rr_list_clear(struct rr_list *list);

/* Merges equal records into one with the smaller TTL. Of two CNAMEs with one owner, the later
 * replaces the earlier and also gets the smaller TTL: a name has only one (RFC 2181 10.1). */
void rr_list_add(struct rr_list *list, const struct rr *rr);

/* Shuffles the addresses of each name among themselves; CNAMEs stay before what they point to. No
 * records may be added afterwards. */
void rr_list_shuffle_addresses(struct rr_list *list, uint32_t *random);

/* Gives all records the smallest TTL among them, and at most ttl_s. */
void rr_list_level_ttls(struct rr_list *list, uint32_t ttl_s);

#endif
