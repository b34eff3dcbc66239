#include "skydns/doh/doh_http1_internal.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/http/http_chunks.h"
#include "common/http/http_head.h"
#include "skydns/doh/doh_held_internal.h"
#include "skydns/doh/doh_reply_internal.h"
#include "skydns/doh/doh_request_internal.h"
#include "skydns/wire/response.h"

/* Part of the request that comes next. */
enum phase {
    HEAD,
    BODY,        /* of a query */
    CHUNKS,      /* the same */
    SKIP,        /* of a request that is answered already */
    SKIP_CHUNKS, /* the same */
    ENDED,
};

struct doh_http1 {
    struct stream_host *host;
    struct doh_held held;
    uint64_t last_tag;
    bool is_asking;    /* inside stream_host_query */
    bool has_answered; /* the reply came inside it */
    bool is_draining;
    uint8_t refused;
    enum phase phase;

    /* Request in hand, behind its head. */
    bool is_head, is_last, keeps_alive;
    size_t left; /* bytes of the body; of SKIP_CHUNKS, how many more are skipped */

    struct http_head head;
    struct http_chunks chunks;
    struct buf body; /* of CHUNKS */
    struct doh_date date;
};

struct doh_http1 *doh_http1_new(struct stream_host *host)
{
    struct doh_http1 *s = xcalloc(1, sizeof(*s));
    s->host = host;
    doh_held_init(&s->held);
    buf_init(&s->body, DOH_QUERY_MAX);
    return s;
}

void doh_http1_free(struct doh_http1 *stream)
{
    doh_held_fini(&stream->held);
    buf_fini(&stream->body);
    free(stream);
}

/* ---- Replies ---- */

/* Puts them if nothing is before them and they fit. */
static bool put_now(struct doh_http1 *s, struct slice head, struct slice body)
{
    if (s->held.count > 0 || head.len + body.len > stream_host_room(s->host)) {
        return false;
    }
    stream_host_put(s->host, head.ptr, head.len);
    if (body.len > 0) {
        stream_host_put(s->host, body.ptr, body.len);
    }
    return true;
}

/* Puts the response to the request in hand, or a late one to one that is held. */
static void doh_http1_put_reply(struct doh_http1 *s, struct doh_held_reply *held,
                                enum http_status status, struct slice body, uint32_t max_age_s)
{
    uint8_t text[DOH_REPLY_HEAD_MAX];
    const struct doh_reply_head head = {.status = status,
                                        .content_length = (uint32_t)body.len,
                                        .max_age = max_age_s,
                                        .date = doh_date_now(&s->date),
                                        .is_last = held ? held->is_last : s->is_last,
                                        .keeps_alive = held ? held->keeps_alive : s->keeps_alive};
    struct slice head_text = slice_of(text, doh_reply_head(&head, text));
    if (held ? held->is_head : s->is_head) {
        body.len = 0;
    }
    if (!held && !put_now(s, head_text, body)) {
        held = doh_held_add(&s->held, 0);
    }
    if (held) {
        doh_held_ready(&s->held, held, head_text, body);
    }
}

void doh_http1_reply(struct doh_http1 *stream, uint64_t tag, const struct response *response)
{
    struct doh_http1 *s = stream;
    bool is_in_hand = s->is_asking && tag == s->last_tag;
    struct doh_held_reply *held = is_in_hand ? NULL : doh_held_find(&s->held, tag);
    s->has_answered = s->has_answered || is_in_hand;
    if ((is_in_hand || held) && response->len > 0) {
        doh_http1_put_reply(s, held, HTTP_OK, slice_of(response->bytes, response->len),
                            response_max_age_s(response));
    } else if (is_in_hand || held) {
        doh_http1_put_reply(s, held, HTTP_INTERNAL_ERROR, doh_reply_error(HTTP_INTERNAL_ERROR), 0);
    }
    if (held) {
        (void)doh_held_flush(&s->held, s->host); /* the rest: flush */
    }
}

bool doh_http1_flush(struct doh_http1 *stream)
{
    return doh_held_flush(&stream->held, stream->host);
}

/* ---- Requests ---- */

static void doh_http1_ask(struct doh_http1 *s, struct slice query)
{
    s->refused -= s->refused > 0;
    s->is_asking = true;
    s->has_answered = false;
    stream_host_query(s->host, ++s->last_tag, (const uint8_t *)query.ptr, query.len);
    s->is_asking = false;
    if (!s->has_answered) {
        struct doh_held_reply *due = doh_held_add(&s->held, s->last_tag);
        due->is_head = s->is_head;
        due->is_last = s->is_last;
        due->keeps_alive = s->keeps_alive;
    }
}

static void doh_http1_refuse(struct doh_http1 *s, unsigned status)
{
    s->is_last = s->is_last || ++s->refused > DOH_REFUSED_MAX;
    doh_http1_put_reply(s, NULL, status, doh_reply_error(status), 0);
}

/* Refuses the request and ends the connection, whose next bytes cannot be understood. */
static void doh_http1_give_up(struct doh_http1 *s, unsigned status)
{
    s->is_last = true;
    s->phase = ENDED;
    doh_http1_refuse(s, status);
}

/* Ends the request. */
static void end_request(struct doh_http1 *s)
{
    s->phase = s->is_last ? ENDED : HEAD;
}

/* Asks a whole query, if it is one. */
static void doh_http1_take_query(struct doh_http1 *s, struct slice query)
{
    unsigned status = doh_request_check(query);
    if (status == 0) {
        doh_http1_ask(s, query);
    } else {
        doh_http1_refuse(s, status);
    }
}

static void take_query_in_target(struct doh_http1 *s, struct slice text)
{
    uint8_t query[DOH_TARGET_QUERY_MAX];
    size_t len;
    unsigned status = doh_request_decode(text, query, &len);
    if (status == 0) {
        doh_http1_take_query(s, slice_of(query, len));
    } else {
        doh_http1_refuse(s, status);
    }
}

/* Skips the body of a request that is answered, or asked: it does not matter. */
static void skip_body(struct doh_http1 *s, const struct http_head *head)
{
    if (head->is_chunked) {
        s->left = DOH_SKIPPED_MAX;
        s->phase = SKIP_CHUNKS;
    } else if (head->body_len > 0) {
        s->left = (size_t)head->body_len;
        s->phase = SKIP;
    } else {
        end_request(s);
    }
}

static void expect_body(struct doh_http1 *s, const struct http_head *head, bool has_begun)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct slice text = slice_str(go_on);
    s->left = (size_t)head->body_len;
    s->phase = head->is_chunked ? CHUNKS : BODY;
    if (head->wants_continue && !head->is_1_0 && !has_begun &&
        !put_now(s, text, slice_of(NULL, 0))) {
        doh_held_ready(&s->held, doh_held_add(&s->held, 0), text, slice_of(NULL, 0));
    }
}

/* Returns whether too many responses are ready behind one that is late. */
static bool is_full(const struct doh_http1 *s)
{
    return s->held.count >= DOH_HELD_MAX || s->held.bytes >= DOH_HELD_BYTES_MAX;
}

/* Returns whether the rest is in doubt: a refused body that is too long to read, or that the client
 * may not send. Whatever comes next on the connection may be it, or not. */
static bool leaves_doubt(const struct http_head *head)
{
    bool has_body = head->is_chunked || head->body_len > 0;
    return has_body && (head->wants_continue || head->body_len > DOH_SKIPPED_MAX);
}

/* Takes a complete head, in `bytes`; behind it, some of the body may have arrived. */
static void doh_http1_take_request(struct doh_http1 *s, const uint8_t *bytes, bool has_more)
{
    const struct http_head *head = &s->head;
    const struct doh_request request = {.method = http_head_text(bytes, head->method),
                                        .target = http_head_text(bytes, head->target),
                                        .content_type = http_head_text(bytes, head->content_type)};
    struct doh_route route;
    unsigned status = doh_request_route(&request, &route);
    if (status == 0 && route.is_in_body && head->body_len > DOH_QUERY_MAX) {
        status = HTTP_TOO_LONG;
    }
    s->is_head = route.is_head;
    s->keeps_alive = head->is_1_0 && head->wants_keep_alive;
    s->is_last =
        head->wants_close || (head->is_1_0 && !s->keeps_alive) || s->is_draining || is_full(s);
    if (status == 0 && route.is_in_body && (head->is_chunked || head->body_len > 0)) {
        expect_body(s, head, has_more);
        return;
    }
    if (leaves_doubt(head)) {
        s->is_last = true;
    }
    if (status != 0 || route.is_in_body) {
        doh_http1_refuse(s, status ? status : HTTP_BAD_REQUEST); /* an empty body */
    } else {
        take_query_in_target(s, route.text);
    }
    if (leaves_doubt(head)) {
        s->phase = ENDED;
    } else {
        skip_body(s, head);
    }
}

/* ---- Bytes. Each returns how many are done with; fewer than all: it waits for more ---- */

static size_t doh_http1_take_head(struct doh_http1 *s, const uint8_t *bytes, size_t len)
{
    int status = http_head_parse(&s->head, bytes, len);
    if (status == HTTP_HEAD_MORE) {
        return 0;
    }
    size_t head_len = s->head.at;
    if (status == 0) {
        doh_http1_take_request(s, bytes, head_len < len);
    } else {
        s->is_head = false;
        doh_http1_give_up(s, (unsigned)status);
    }
    s->head = (struct http_head){0};
    s->chunks = (struct http_chunks){0};
    return head_len;
}

static size_t doh_http1_take_body(struct doh_http1 *s, const uint8_t *bytes, size_t len)
{
    size_t body_len = s->left;
    if (len < body_len) {
        return 0;
    }
    doh_http1_take_query(s, slice_of(bytes, body_len));
    end_request(s);
    return body_len;
}

static size_t take_chunks(struct doh_http1 *s, const uint8_t *bytes, size_t len)
{
    size_t taken;
    int status = http_chunks_take(&s->chunks, bytes, len, &s->body, &taken);
    if (status == HTTP_CHUNKS_MORE) {
        return taken;
    }
    if (status == 0) {
        doh_http1_take_query(s, buf_slice(&s->body));
        end_request(s);
    } else if (status == HTTP_TOO_LONG) {
        s->is_last = true; /* nobody knows how much follows: the reply could not say it later */
        doh_http1_refuse(s, HTTP_TOO_LONG);
        s->left = DOH_SKIPPED_MAX;
        s->phase = SKIP_CHUNKS;
    } else {
        doh_http1_give_up(s, (unsigned)status);
    }
    buf_fini(&s->body);
    buf_init(&s->body, DOH_QUERY_MAX);
    return taken;
}

static size_t doh_http1_skip(struct doh_http1 *s, size_t len)
{
    size_t part = len < s->left ? len : s->left;
    s->left -= part;
    if (s->left == 0) {
        end_request(s);
    }
    return part;
}

/* Skips a refused body's chunks. Says nothing of errors in them: the request has its response. */
static size_t skip_chunks(struct doh_http1 *s, const uint8_t *bytes, size_t len)
{
    size_t taken;
    int status = http_chunks_take(&s->chunks, bytes, len, NULL, &taken);
    s->left -= taken < s->left ? taken : s->left;
    if (status == 0) {
        end_request(s);
    } else if (status != HTTP_CHUNKS_MORE || s->left == 0) {
        s->phase = ENDED;
    }
    return taken;
}

static size_t doh_http1_take_some(struct doh_http1 *s, const uint8_t *bytes, size_t len)
{
    switch (s->phase) {
    case HEAD:
        return doh_http1_take_head(s, bytes, len);
    case BODY:
        return doh_http1_take_body(s, bytes, len);
    case CHUNKS:
        return take_chunks(s, bytes, len);
    case SKIP:
        return doh_http1_skip(s, len);
    case SKIP_CHUNKS:
        return skip_chunks(s, bytes, len);
    case ENDED:
        break;
    }
    return len;
}

enum stream_take doh_http1_take(struct doh_http1 *stream, const uint8_t *bytes, size_t len,
                                size_t *ret_taken)
{
    struct doh_http1 *s = stream;
    size_t at = 0, taken = 1;
    while (at < len && taken > 0 && s->phase != ENDED) {
        if (!stream_host_may_go_on(s->host)) {
            *ret_taken = at;
            return STREAM_PAUSED;
        }
        taken = doh_http1_take_some(s, bytes + at, len - at);
        at += taken;
    }
    *ret_taken = s->phase == ENDED ? len : at;
    return s->phase == ENDED ? STREAM_ENDS : STREAM_WAITS;
}

void doh_http1_drain(struct doh_http1 *stream)
{
    stream->is_draining = true; /* the next reply says that it is the last */
}

size_t doh_http1_memory(const struct doh_http1 *stream)
{
    return doh_held_memory(&stream->held) + stream->body.cap;
}
