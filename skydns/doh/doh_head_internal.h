/* Parses the head of an HTTP/1.x request (RFC 9112), line by line as they arrive, each line once.
 * The pages' parser (common/http) is for people with nc, and needs a head whole and writable; this
 * one faces proxies, and is strict where two parsers of one stream could disagree about where a
 * request ends: lines end with CR LF, no folded lines, no space before a colon, one length and no
 * contradiction to it. Pure. */
#ifndef SKYDNS_DOH_DOH_HEAD_INTERNAL_H
#define SKYDNS_DOH_DOH_HEAD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

enum {
    /* As HTTP/2's (HTTP2_HEADERS_MAX): a query of 12 KB in the target, or a browser's cookies. */
    DOH_HEAD_MAX = 16 * 1024,
    DOH_HEAD_MORE = -1,
};

/* Zeroed before its first line. Texts are positions in the bytes: those may move. */
struct doh_head {
    struct doh_text {
        uint16_t at, len;
    } method, target, content_type;
    uint16_t at; /* the lines before are parsed; in the end, the head's length */
    bool is_1_0;
    bool has_host, has_length, is_chunked;
    bool wants_close, wants_keep_alive; /* of Connection */
    bool wants_continue;                /* waits for `100 Continue` before it sends the body */
    uint64_t body_len;
};

/* Parses the lines that have arrived; `bytes` start where the head does, and those of earlier calls
 * are still there. 0: the head is complete. DOH_HEAD_MORE: it is not. Else a status of
 * doh_reply_internal.h: refused, and what follows on the connection cannot be understood. */
int doh_head_parse(struct doh_head *head, const uint8_t *bytes, size_t len) MUST_CHECK;

static inline struct slice doh_head_text(const uint8_t *bytes, struct doh_text text)
{
    return slice_of(bytes + text.at, text.len);
}

#endif
