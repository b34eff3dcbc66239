/* Reads what pages write: whole explanations, responses in pieces, JSON with jansson. Failures fail
 * the running test. */
#ifndef TESTS_UNIT_SKYDNS_PAGES_READ_PAGES_H
#define TESTS_UNIT_SKYDNS_PAGES_READ_PAGES_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/http/http_server.h"
#include "skydns/pages/explain_page.h"
#include "tests/support/unit_test.h"

/* The caller owns the result. */
static inline json_t *read_json(struct buf *page)
{
    json_error_t error;
    json_t *json = json_loads(buf_cstr(page), JSON_REJECT_DUPLICATES, &error);
    assert_that(json, "%s: %s", error.text, buf_cstr(page));
    return json;
}

static inline const char *read_explained_text(const struct explanation *explanation,
                                              struct buf *page)
{
    buf_clear(page);
    explain_page_text(explanation, page);
    return buf_cstr(page);
}

static inline json_t *read_explained_json(const struct explanation *explanation, struct buf *page)
{
    buf_clear(page);
    explain_page_json(explanation, page);
    return read_json(page);
}

/* Reads all pieces of a stream, without its end. Each has something, so that the loop turns in
 * between. The caller owns the result. */
static inline json_t *read_streamed_json(const struct http_reply *reply, size_t page_max,
                                         unsigned *ret_pieces)
{
    struct buf piece;
    bool has_more = true;
    CLEANUP_BUF struct buf page = buf_of(page_max);
    for (*ret_pieces = 0; has_more; ++*ret_pieces) {
        buf_init(&piece, HTTP_PIECE_MAX);
        has_more = reply->stream.more(reply->stream.data, &piece);
        assert_true(piece.len > 0 && !piece.failed);
        buf_append_slice(&page, buf_slice(&piece));
        buf_fini(&piece);
    }
    return read_json(&page);
}

#endif
