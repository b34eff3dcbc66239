/* Prints records as JSON: one for /explain, all for /cache, streamed because there may be a
 * million. Main thread.
 *
 *     {"revision":1234,"records":[{"key":"/skydns/local/cluster/web","host":"10.0.0.1","ttl":30,
 *      "revision":17,"known_s":3},...],"broken":[{"key":...,"reason":...,"revision":19}]} */
#ifndef SKYDNS_PAGES_RECORD_PAGE_INTERNAL_H
#define SKYDNS_PAGES_RECORD_PAGE_INTERNAL_H

#include "common/http/http_server.h"
#include "skydns/records/store.h"

struct store_sync;

/* Appends the fields, without braces: the key, the value's fields, the key's revision, and for how
 * long this process has known it. `prefix` as in common/dns/record_key.h. */
void record_page_fields(const struct store_record *record, struct slice prefix, struct buf *out);

/* Seconds since the record arrived with its revision. */
uint32_t record_page_known_s(const struct store_record *record);

/* Serves the whole page as a stream. Each piece comes from one version; the next continues in the
 * newest one. */
void record_page_stream(const struct store_sync *sync, struct http_reply *reply);

#endif
