/* Lists how a name's records changed: /history?name=NAME[&since=WHEN], as JSON, the newest first.
 *
 *     {"name":"web.default.svc.cluster.local.","since":"1h",
 *      "from":{"revision":1200,"time":"2026-05-01T02:12:00.000Z","time_ms":1777601520000},
 *      "to":1234,"changes":[
 *      {"time":"2026-05-01T03:11:58.120Z","time_ms":1777605118120,"revision":1230,
 *       "key":"/skydns/local/cluster/svc/default/web/c1","before":"{...}","after":"{...}"}]}
 *
 * "cut" says why it begins later than asked: "compacted", or "unmarked" if this server does not
 * know the revision of that time. A change has a time if marks tell it (revision_marks.h): when
 * this server had it, to the second. "before" is absent for a new key, "after" for a deleted one.
 * "more" counts the older changes that are left out. Part of past_desk; main loop. */
#ifndef SKYDNS_PAST_PAST_HISTORY_INTERNAL_H
#define SKYDNS_PAST_PAST_HISTORY_INTERNAL_H

struct http_reply;
struct http_request;
struct past_desk;
struct past_history;

struct past_history *past_history_new(struct past_desk *desk);
void past_history_free(struct past_history *history);
void past_history_reply(struct past_history *history, const struct http_request *request,
                        struct http_reply *reply);

#endif
