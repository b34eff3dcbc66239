/* A question as far as its signed answer depends on it, and which queries have one. Pure; any
 * thread. */
#ifndef SKYDNS_SIGN_SIGNED_QUESTION_H
#define SKYDNS_SIGN_SIGNED_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"

struct query;

/* Whether a query could have another answer than without DNSSEC: DO is set, or it asks for keys.
 * True also for what is no ordinary query. */
bool signed_question_concerns(const struct query *query);

/* A question of class IN. */
struct signed_question {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t udp_size;
    bool has_edns, dnssec_ok;
};

/* False: the query makes no sense, or is not of class IN. */
bool signed_question_read(struct query *query, struct signed_question *ret_question) MUST_CHECK;

#endif
