/* Prints an explanation as JSON for programs, or as text for people. The text is made from the same
 * JSON with a few more members. Main thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_PAGE_H
#define SKYDNS_PAGES_EXPLAIN_PAGE_H

#include "common/base/buf.h"
#include "common/http/http_server.h"
#include "skydns/pages/explain.h"

void explain_page_text(const struct explanation *x, struct buf *out);

/* Appends {"name":...,"type":...,"revision":...,"status":"NOERROR","snapshot_age_s":12,"why":...,
 * "source":"cache",...,"answer":[...],"authority":[...],"additional":[...],"external":[...],
 * "serial":{"value":2600483790,"base":2600483776,"revision":14,"settings":0,"has_key":true},
 * "signed":[{"name":...,"type":...,"zone":...,"keys":[{"tag":12345,"algorithm":13,
 * "expires":"2026-01-02T03:04:05Z","left_s":604800}]}],
 * "client":{"address":...,"identity":"pod","namespace":...,"path":[{"name":...,"outcome":...}]},
 * "targets":[{"name":...,"type":...,"source":...}],"names":[{"name":...,"exists":true,
 * "keys":[{"key":...,"rule":"gave",...}]}]}. Empty fields are left out. */
void explain_page_json(const struct explanation *x, struct buf *out);

/* Reads the question of a request: ?name=&type=&client=. Borrowed during the handler. */
struct explain_query explain_page_query(const struct http_request *request);

/* Fill a handler's reply: with the page, as text or as JSON; or with 400 and the error's message.
 */
void explain_page_reply(const struct explanation *x, bool is_text, struct http_reply *reply);
void explain_page_refuse(const struct err *err, struct http_reply *reply);

struct explain_page {
    const struct explanation *x;
    bool is_for_text; /* with the members that only the form of the text has */
    struct buf *out;
};

/* Appends the page. */
void explain_page_put(const struct explain_page *p);

/* Append the parts about external names (explain_page_external.c), and about the client and the
 * search list of a short name (explain_page_client.c). */
void explain_page_put_external(const struct explain_page *p);
void explain_page_put_client(const struct explain_page *p);
void explain_page_put_search(const struct explain_page *p);

/* Word for programs and text for people. */
struct explain_word {
    const char *word;
    const char *text;
};

#endif
