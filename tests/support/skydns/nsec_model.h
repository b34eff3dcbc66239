/* Judges NSEC records as a validator does, written from the RFCs: RFC 4034 4 and 6.1, RFC 4035 5.4,
 * RFC 6840 4.1, 4.3.
 *
 * It shares no code with the server but the form of a name. Signatures are not its concern. Names
 * may have capitals. */
#ifndef TESTS_SUPPORT_SKYDNS_NSEC_MODEL_H
#define TESTS_SUPPORT_SKYDNS_NSEC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"

enum { NSEC_MODEL_BITMAP_MAX = 8192 + 512 };

struct nsec_model {
    struct dname owner, next;
    size_t bitmap_len;
    uint8_t bitmap[NSEC_MODEL_BITMAP_MAX];
};

/* Canonical order: less than, equal to or greater than 0. */
int nsec_model_order(const struct dname *a, const struct dname *b);

/* Whether the record says that there is no such name: strictly between its two names, or behind the
 * last one of the zone. */
bool nsec_model_covers(const struct nsec_model *record, const struct dname *zone,
                       const struct dname *name);

/* Returns what is wrong with the record itself, or NULL: its names' zone and order, its bitmap's
 * form, and NSEC and RRSIG in it. */
const char *nsec_model_fault(const struct nsec_model *record, const struct dname *zone);

bool nsec_model_has_type(const struct nsec_model *record, uint16_t type);

/* Why these do not prove that neither the name nor a wildcard for it exists; NULL: they do, and
 * *ret_encloser is the closest encloser that they show. */
const char *nsec_model_no_name(const struct nsec_model *records, size_t count,
                               const struct dname *zone, const struct dname *name,
                               struct dname *ret_encloser);

/* Why these do not prove that the name exists without this type, and is no alias; NULL: they do. */
const char *nsec_model_no_type(const struct nsec_model *records, size_t count,
                               const struct dname *zone, const struct dname *name, uint16_t type);

#endif
