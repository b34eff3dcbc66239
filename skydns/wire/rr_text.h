/* Prints resource records in their presentation form, without the class. For example,
 * "web.cluster.local. 30 A 10.0.0.1".
 *
 * common/dns/rr_types.h has each type's form. Other types, and rdata that do not match their type,
 * are printed by RFC 3597: \# 4 0a000001. All of it is printable ASCII. Any thread. */
#ifndef SKYDNS_WIRE_RR_TEXT_H
#define SKYDNS_WIRE_RR_TEXT_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "skydns/wire/answer_plan.h"

/* The most that one record takes: a text of 64 KiB with each byte escaped, and some names. */
enum { RR_TEXT_MAX = 4 * 65536 + 4096 };

/* Appends the record; an SOA's rdata are in `soa`. */
void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out);

/* Appends type and data, which are as on the wire without compression. */
void rr_text_packed(uint16_t type, struct slice data, struct buf *out);

/* Appends the record at the reader, which is over the whole message, and moves on. Returns false
 * when there is no whole record; the appended text then means nothing. */
bool rr_text_read(struct reader *message, struct buf *out) MUST_CHECK;

#endif
