/* Resource records of a DNS message as people write them, one by one: "www.example.com. 290 A
 * 192.0.2.7". Types without a form here are printed as RFC 3597 has it: \# 4 0a000001. Pure. */
#ifndef SKYDNS_PAGES_MESSAGE_TEXT_INTERNAL_H
#define SKYDNS_PAGES_MESSAGE_TEXT_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"

/* Of one record: at worst a text of 64 KiB with each byte escaped, and some names. */
enum { MESSAGE_TEXT_MAX = 4 * 65536 + 4096 };

/* Appends the record at the reader, which is over the whole message, and moves on. False: there is
 * no whole record; what was appended means nothing. */
bool message_text_record(struct reader *message, struct buf *out) MUST_CHECK;

#endif
