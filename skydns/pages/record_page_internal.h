/* Prints records as JSON: one for /explain, all for /cache, streamed because there may be a
 * million. Main thread.
 *
 *     {"revision":1234,"records":[{"key":"/skydns/local/cluster/web","host":"10.0.0.1","ttl":30,
 *      "revision":17,"known_s":3},...],"broken":[{"key":...,"reason":...,"revision":19}]} */
#ifndef SKYDNS_PAGES_RECORD_PAGE_INTERNAL_H
#define SKYDNS_PAGES_RECORD_PAGE_INTERNAL_H

#include "common/base/buf.h"
#include "common/http/http_server.h"
#include "skydns/records/store.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/recent_changes.h"

struct store_sync;

/* Appends the fields, without braces: the key, the value's fields, and the key's revision. `prefix`
 * as in common/dns/record.h. */
void record_page_fields(const struct store_record *record, struct slice prefix, struct buf *out);

/* Appends the field that says for how long this process has known it. */
void record_page_age(const struct store_record *record, struct buf *out);

/* Appends the key of a name as a field. */
void record_page_key(struct buf *out, const char *field, const struct dname *name,
                     struct slice prefix);

/* Appends the fields of an unusable key, and the brace behind them. */
void broken_key_fields(const struct broken_key *key, struct buf *out);

/* Serves the whole page as a stream. Each piece comes from one version; the next continues in the
 * newest one. */
void record_page_stream(const struct store_sync *sync, struct http_reply *reply);

/* Prints changes of records (recent_changes.h) as JSON: for /explain and /live. Main thread.
 *
 *     {"time_ms":1767323045000,"revision":17,"kind":"put","name":"web.default.svc.cluster.local.",
 *      "key":"/skydns/local/cluster/svc/default/web","took_us":85} */

/* Prints one change as a field, without took_us until all threads see it. */
void change_page_one(const char *field, const struct recent_change *change, struct slice prefix,
                     struct buf *out);

/* Prints the field "changes": the latest first, at most so many. */
void change_page_list(const struct store_sync *sync, size_t max, struct buf *out);

#endif
