/* Holds the fast path's state, which its files share. fast.c looks names up and answers all but
 * addresses (fast_addresses.c) and ports (fast_target.c). On the engine's thread. */
#ifndef SKYDNS_FAST_FAST_INTERNAL_H
#define SKYDNS_FAST_FAST_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dns.h"
#include "skydns/answer/address_pick.h"
#include "skydns/answer/near.h"
#include "skydns/fast/fast.h"
#include "skydns/fast/fast_names_internal.h"
#include "skydns/records/store_ready.h"
#include "skydns/wire/fast_reply.h"

struct answer_plan;

struct fast {
    const struct engine_config *config;
    struct cache_access *cached;
    struct fast_zones zones;

    struct response *response; /* the response being made, */
    struct fast_reply reply;   /* record by record */
    struct view view;          /* this client's */
    uint32_t random;

    uint64_t ahead_serial; /* serial of the last batched lookup's version */
    size_t ahead_count;
    struct fast_question questions[ENGINE_AHEAD_MAX];
    struct fast_question alone; /* a question that is not in the batch */

    struct address_pick pick; /* scratch, as are the next two */
    uint8_t near_bytes[STORE_READY_MAX * 16];
    const struct store_record *near_records[STORE_READY_MAX];
};

/* Ends the response. ttl_s is the answers' TTL, or the denial's. */
static inline bool fast_end(struct fast *f, const struct fast_query *q, enum dns_rcode rcode,
                            uint32_t ttl_s)
{
    fast_reply_end(&f->reply, q, f->config->settings.max_udp_size, rcode, ttl_s, f->response);
    return true;
}

/* Answers NODATA or NXDOMAIN. Returns false, as the next ones, to fall back to the slow path. */
bool fast_answer_negative(struct fast *fast, const struct fast_question *question,
                          const struct engine_query *query, enum dns_rcode rcode);

/* ---- fast_addresses.c ---- */

struct addresses {
    const uint8_t *bytes;
    unsigned count;
    unsigned size; /* of one address */
    uint32_t ttl_s;
};

/* Returns 0 for IPv4, 1 for IPv6. */
static inline unsigned query_family(const struct fast_question *question)
{
    return question->query->type == DNS_TYPE_A ? 0 : 1;
}

/* Gets the addresses of one family at a node. Returns false to fall back to the slow path. */
bool fast_get_addresses(const struct fast *fast, const struct store_node *node, unsigned family,
                        struct addresses *ret);

/* Writes as many addresses as fit. Returns how many. */
unsigned fast_put_addresses(struct fast *fast, const struct addresses *addresses,
                            unsigned owner_at);

/* Returns the TTL of so many records. */
uint32_t fast_level(const struct fast *fast, unsigned count, uint32_t ttl_s);

/* Finds what is near the client of the records of the question's name. Its zone is known, and so
 * -topology is on (engine.c). */
struct near fast_find_near(const struct fast *fast, const struct fast_question *question,
                           const struct engine_query *query);
void fast_count_near(const struct fast *fast);

/* Returns whether an answer to this client may lack some of the name's records. */
bool fast_has_near_records(const struct fast *fast, const struct engine_query *query,
                           struct slice wire);

bool fast_answer_addresses(struct fast *fast, const struct fast_question *question,
                           const struct engine_query *query);

/* Adds the addresses to a plan, for an answer with signatures. */
void fast_build_addresses(struct fast *fast, const struct fast_question *question,
                          const struct addresses *addresses, struct slice owner,
                          struct answer_plan *plan);

/* ---- fast_target.c ---- */

bool fast_answer_targets(struct fast *fast, const struct fast_question *question,
                         const struct engine_query *query);

/* Finds the node of a target in wire form which no question helps to find. NULL: it has no
 * addresses, or the slow path decides. */
const struct store_node *fast_target_find_alone(const struct fast_zones *zones, struct slice wire);

#endif
