/* Questions about names outside the domain, which CNAME and SRV records point to: makes the query
 * for a nameserver and reads its reply. Pure; any thread; nothing allocates. */
#ifndef SKYDNS_EXTERNAL_H
#define SKYDNS_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/engine.h"

enum {
    /* Header, the longest name, type and class, OPT (RFC 6891 6.1.2). */
    EXTERNAL_QUERY_MAX = 12 + DNAME_MAX + 4 + 11,
    /* What a nameserver may send us over UDP: passes every path without fragments (RFC 9715). */
    EXTERNAL_UDP_SIZE = 1232,
};

/* A recursive query with EDNS, id as given. Returns its length. */
size_t external_query(const struct external_question *question, uint16_t id,
                      uint8_t out[EXTERNAL_QUERY_MAX]);

/* Follows the reply's CNAMEs from the question's name and collects the addresses at the end, in the
 * order of struct external_answer. Records that are not on the way are left out, as are those
 * beyond EXTERNAL_RRS_MAX. False, and an answer without records, when the reply is malformed, is to
 * another question or says anything but NOERROR. A truncated reply gives what it has. */
bool external_read(const struct external_question *question, const uint8_t *reply, size_t len,
                   struct external_answer *ret_answer);

#endif
