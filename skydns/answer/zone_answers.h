/* Lists a zone's contents, name by name: the answers for a client that sees everything. It calls
 * the answer code itself (answer.h), so that a secondary always says the same.
 *
 * It leaves out the SOA, and answers that are no data of the name: HINFO for ANY, hosts files,
 * answers that depend on upstreams, signatures. It works with -schema=kubernetes only, and not with
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

/* Borrows the configuration: one made for transfers, without visibility, cache, hosts files and
 * keys. */
struct zone_answers *zone_answers_new(const struct engine_config *config);
void zone_answers_free(struct zone_answers *answers);

/* Switches to another configuration. Call it between names. */
void zone_answers_configure(struct zone_answers *answers, const struct engine_config *config);

/* Returns whether the lower-cased name belongs to the zone: no smaller zone of ours contains it.
 * The apex is a domain, or a zone of -reverse-zones that begins at a whole label (reverse_zone.h).
 * A stub zone's names below it have no answers here. */
bool zone_answers_is_of_zone(const struct engine_config *config, const struct dname *apex,
                             const struct dname *name);

/* Sets *out to the sorted records of the lower-cased name. Returns false when etcd is known to lack
 * records, or was not read. */
bool zone_answers_of(struct zone_answers *answers, const struct store *store,
                     const struct dname *name, struct zone_rrs *out) MUST_CHECK;

#endif
