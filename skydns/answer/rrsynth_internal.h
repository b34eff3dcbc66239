/* Makes resource records from a key's record: each type takes its fields, and the configuration's
 * defaults for those not set. Pure except for struct weights, which belongs to one thread. */
#ifndef SKYDNS_ANSWER_RRSYNTH_INTERNAL_H
#define SKYDNS_ANSWER_RRSYNTH_INTERNAL_H

#include "common/dns/record_rrs.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/rr.h"
#include "skydns/records/store.h"

/* Returns the target of an SRV or MX record: the host when it is a name, the key's own name when it
 * is an address. It strips the `targetstrip` leftmost labels, unless nothing would be left. */
struct slice rrsynth_target(const struct store_record *record);

/* Returns whether an SRV or MX record can be made: the host is an address or a valid name. */
bool rrsynth_has_target(const struct store_record *record);

/* Returns A or AAAA, whichever the host is. */
struct rr rrsynth_address(const struct engine_config *config, const struct store_record *record,
                          struct slice owner);

/* Returns a CNAME or PTR to the host. */
struct rr rrsynth_pointer(const struct engine_config *config, const struct store_record *record,
                          struct slice owner, enum rr_type type);

/* Return one record of the type; the SRV with this weight, instead of the record's own. */
struct rr rrsynth_srv(const struct engine_config *config, const struct store_record *record,
                      struct slice owner, uint16_t weight);
struct rr rrsynth_mx(const struct engine_config *config, const struct store_record *record,
                     struct slice owner);
struct rr rrsynth_txt(const struct engine_config *config, const struct store_record *record,
                      struct slice owner);
/* Returns one of the record's `rr`. */
struct rr rrsynth_packed(const struct engine_config *config, const struct store_record *record,
                         struct slice owner, const struct record_rr *packed);
/* Adds those of the record's `rr` that have the type. */
void rrsynth_add_packed(const struct engine_config *config, const struct store_record *record,
                        struct slice owner, enum rr_type type, struct rr_list *out);
/* Returns an NS to the key's name. */
struct rr rrsynth_ns(const struct engine_config *config, const struct store_record *record,
                     struct slice owner);

/* SRV weights: each record's share of the weights of its priority (store_record_share). */
struct weights {
    uint64_t *sums; /* by priority; all zero between answers */
};

void weights_init(struct weights *weights);
void weights_fini(struct weights *weights);
void weights_add(struct weights *weights, const struct engine_config *config,
                 const struct store_record *record);
uint16_t weights_share(const struct weights *weights, const struct engine_config *config,
                       const struct store_record *record);
/* Undoes every weights_add of this record's priority. */
void weights_forget(struct weights *weights, const struct engine_config *config,
                    const struct store_record *record);

/* The TTL of a leased record in a zone transfer, where it does not count down. */
enum { RRSYNTH_LEASED_TTL_S = 30 };

static inline uint32_t rrsynth_ttl_s(const struct engine_config *config,
                                     const struct store_record *record)
{
    if (config->is_for_transfers && record->is_leased) {
        return RRSYNTH_LEASED_TTL_S;
    }
    return record->ttl_s ? record->ttl_s : config->settings.ttl_s;
}

#endif
