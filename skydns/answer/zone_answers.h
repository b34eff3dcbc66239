/* A zone's contents, name by name: what a client that sees everything is answered, asked of the
 * answer code itself (answer.h), so that a secondary never has a second opinion of what a name has.
 * Left out are the SOA, and what is no data of the name: HINFO for ANY, hosts files, answers that
 * depend on other nameservers, signatures. With -schema=kubernetes only, and not with
 * -pods=insecure: elsewhere names have answers that cannot be listed. One per thread that
 * transfers; off the answering threads. */
#ifndef SKYDNS_ANSWER_ZONE_ANSWERS_H
#define SKYDNS_ANSWER_ZONE_ANSWERS_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/answer/zone_rr.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

struct zone_answers;

/* The configuration is borrowed: one made for transfers, without visibility, cache, hosts files and
 * keys. */
struct zone_answers *zone_answers_new(const struct engine_config *config);
void zone_answers_free(struct zone_answers *answers);

/* Between names: switches to another. */
void zone_answers_configure(struct zone_answers *answers, const struct engine_config *config);

/* Whether the lower-cased name belongs to the zone: it is in no smaller zone of ours. The apex is a
 * domain, or a zone of -reverse-zones that begins at a whole label (reverse_zone.h). What a stub
 * zone below has is no record of ours, so it has no answers here. */
bool zone_answers_is_of_zone(const struct engine_config *config, const struct dname *apex,
                             const struct dname *name);

/* The records of the lower-cased name, sorted, in *out, which is emptied first. False: etcd is
 * known to lack records, or was not read. */
bool zone_answers_of(struct zone_answers *answers, const struct store *store,
                     const struct dname *name, struct zone_rrs *out) MUST_CHECK;

#endif
