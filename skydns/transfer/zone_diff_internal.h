/* Finds what changed in a zone between two versions of the record store, as records removed and
 * added. Asks both versions about each name that a changed record is at or below, since answers
 * list what is below a name. With -schema=kubernetes they follow no name elsewhere, but for
 * local.dns.<domain>. So this costs what changed, times the depth of names. Any one thread. */
#ifndef SKYDNS_TRANSFER_ZONE_DIFF_INTERNAL_H
#define SKYDNS_TRANSFER_ZONE_DIFF_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/answer/zone_answers.h"
#include "skydns/answer/zone_rr.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

/* Limits the changes of one step, of the whole record store: about what a journal has room for, and
 * 0.1 s. */
enum { ZONE_DIFF_CHANGES_MAX = 50000 };

enum zone_diff_result {
    ZONE_DIFF_DONE,
    ZONE_DIFF_TOO_MUCH, /* the whole zone is to be transferred */
    ZONE_DIFF_UNKNOWN,  /* etcd is known to lack records */
};

struct zone_diff_ask {
    struct zone_answers *answers; /* of the configuration of both versions */
    const struct engine_config *config;
    const struct store *before, *after;
    const struct dname *apex;
    zone_rrs_diff_fn fn; /* for each record, name by name */
    void *data;
};

/* Compares. If the result is not DONE, what fn was told means nothing. */
enum zone_diff_result zone_diff(const struct zone_diff_ask *ask) MUST_CHECK;

#endif
