/* The text of -print-ds: what a zone's parent should have. Main thread, before anything else. */
#ifndef SKYDNS_DNSSEC_DS_TEXT_H
#define SKYDNS_DNSSEC_DS_TEXT_H

#include <stdint.h>

#include "common/base/buf.h"
#include "skydns/dnssec/dnssec.h"

/* Appends a line `OWNER TTL IN DS TAG ALGORITHM 2 HEX` for each DS record, zone by zone. The TTL is
 * the smallest of the zone's key files, as those of an RRset are the same (RFC 2181 5.2), or this
 * one if they have none. Sets out->failed if it does not fit: DS_TEXT_MAX is enough. */
void ds_text(const struct dnssec *dnssec, uint32_t default_ttl_s, struct buf *out);

/* " 4294967295 IN DS 65535 255 2 ", 64 digits and a newline. */
enum { DS_TEXT_MAX = DNSSEC_KEYS_MAX * (DNAME_TEXT_MAX + 96) };

#endif
