/* What the answer code says of names, for the proofs of denials: whether one exists, and which
 * types it has. It is asked like a client of the same view without DO, over UDP; so there is no
 * second opinion of what a name has. One per engine; that engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_PROBE_H
#define SKYDNS_SIGN_SIGNED_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

/* Who answers, as engine_answer: the client's query, or with `is_probe` one whose answer nobody
 * gets, for which neither the externals nor the cache are used. */
struct signed_source {
    enum engine_verdict (*answer)(void *data, const struct engine_query *query, bool is_probe,
                                  struct response *response, struct engine_deferral *ret_deferral);
    void *data;
    uint64_t store_serial; /* 0: there are no records yet */
};

enum signed_fact {
    SIGNED_NO,
    SIGNED_YES,
    SIGNED_WALK,    /* too many records for this thread: ENGINE_DEFER_WALK */
    SIGNED_UNKNOWN, /* SERVFAIL */
};

/* The types that names answer: RR_TYPES without HINFO, which is an answer to ANY alone, and CNAME,
 * which is never listed beside others. */
enum { SIGNED_TYPES = 8 };

struct signed_probe;

struct signed_probe *signed_probe_new(void);
void signed_probe_free(struct signed_probe *probe); /* NULL is fine */
void signed_probe_configure(struct signed_probe *probe, const struct engine_config *config);

/* The client's query, whose view and limits hold; both are borrowed until the next one. */
void signed_probe_begin(struct signed_probe *probe, const struct signed_source *source,
                        const struct engine_query *query);

enum signed_fact signed_probe_exists(struct signed_probe *probe, const struct dname *name);

/* The types that a lower-cased name answers: SIGNED_YES, and *ret_count of them. With
 * -schema=kubernetes, an alias has CNAME alone. */
enum signed_fact signed_probe_types(struct signed_probe *probe, const struct dname *name,
                                    uint16_t ret_types[SIGNED_TYPES], size_t *ret_count);

/* Whether a lower-cased name has this data of a type and no other, as its own answer has it. False
 * also if that is not known, or does not fit a small reply. */
bool signed_probe_has_just(struct signed_probe *probe, const struct dname *name, uint16_t type,
                           const struct slice *data, size_t count);

/* The SOA of a zone of ours as denials have it, its names whole. False: the zone cannot be read. */
struct signed_soa {
    uint32_t ttl_s;
    size_t len;
    uint8_t data[2 * DNAME_MAX + 20];
};
bool signed_probe_soa(struct signed_probe *probe, const struct dname *apex,
                      struct signed_soa *ret) MUST_CHECK;

#endif
