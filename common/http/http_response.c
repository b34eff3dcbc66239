#include "common/http/http_response.h"

#include <assert.h>
#include <string.h>

#include "common/http/http_head.h"

/* ---- Lines ---- */

/* Copies a peer's text as one that can be shown; returns out. */
static const char *http_response_printable(struct slice text, char out[HTTP_RESPONSE_SHOWN_MAX + 1])
{
    size_t len = text.len < HTTP_RESPONSE_SHOWN_MAX ? text.len : HTTP_RESPONSE_SHOWN_MAX;
    for (size_t i = 0; i < len; i++) {
        out[i] = text.ptr[i] >= ' ' && text.ptr[i] < 0x7f ? text.ptr[i] : '?';
    }
    out[len] = '\0';
    return out;
}

static bool http_response_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "HTTP/1.1 200 OK". */
static int take_status(struct http_response *response, struct slice line, struct err *err)
{
    const char *p = line.ptr;
    if (line.len < 12 || memcmp(p, "HTTP/1.", 7) != 0 || !http_response_is_digit(p[7]) ||
        p[8] != ' ' || !http_response_is_digit(p[9]) || !http_response_is_digit(p[10]) ||
        !http_response_is_digit(p[11]) || (line.len > 12 && p[12] != ' ')) {
        char text[HTTP_RESPONSE_SHOWN_MAX + 1];
        return err_set(err, ERR_PROTOCOL, "it does not speak HTTP, but `%s`",
                       http_response_printable(line, text));
    }
    unsigned status = (unsigned)(100 * (p[9] - '0') + 10 * (p[10] - '0') + (p[11] - '0'));
    response->is_interim = status < 200; /* RFC 9110 15.2 */
    if (!response->is_interim) {
        response->status = status;
        (void)http_response_printable(slice_of(p + 9, line.len - 9), response->reason);
    }
    response->part = HTTP_RESPONSE_HEADERS;
    return 0;
}

static int http_response_too_large(const struct http_response *response, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "a response of more than %zu bytes", response->body.limit);
}

static int http_response_take_length(struct http_response *response, struct slice value,
                                     struct err *err)
{
    char text[HTTP_RESPONSE_SHOWN_MAX + 1];
    size_t length = 0, i = 0;
    for (; i < value.len && http_response_is_digit(value.ptr[i]) && length <= response->body.limit;
         i++) {
        length = length * 10 + (size_t)(value.ptr[i] - '0');
    }
    if (length > response->body.limit) {
        return http_response_too_large(response, err);
    }
    if (value.len == 0 || i < value.len || (response->has_length && response->left != length)) {
        return err_set(err, ERR_PROTOCOL, "Content-Length `%s`: expected one number",
                       http_response_printable(value, text));
    }
    response->has_length = true;
    response->left = length;
    return 0;
}

static int take_header(struct http_response *response, struct slice line, struct err *err)
{
    char text[HTTP_RESPONSE_SHOWN_MAX + 1];
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon || colon == line.ptr) {
        return err_set(err, ERR_PROTOCOL, "HTTP header `%s`: expected NAME: VALUE",
                       http_response_printable(line, text));
    }
    struct slice name = slice_of(line.ptr, (size_t)(colon - line.ptr));
    struct slice value = slice_trim(slice_of(colon + 1, line.len - name.len - 1));
    if (response->is_interim) {
        return 0;
    }
    if (slice_equal_nocase(name, slice_str("content-length"))) {
        return http_response_take_length(response, value, err);
    }
    if (slice_equal_nocase(name, slice_str("content-type"))) {
        response->has_type = true;
        (void)http_response_printable(value, response->type);
    } else if (slice_equal_nocase(name, slice_str("transfer-encoding"))) {
        if (!slice_equal_nocase(value, slice_str("chunked"))) {
            return err_set(err, ERR_PROTOCOL, "Transfer-Encoding `%s`: expected chunked",
                           http_response_printable(value, text));
        }
        response->is_chunked = true;
    }
    return 0;
}

/* Decides how the body ends (RFC 9112 6.3): chunks go before a length; without both, the
 * connection's end is the body's. */
static void end_headers(struct http_response *response)
{
    if (response->is_interim) {
        response->part = HTTP_RESPONSE_STATUS;
    } else if (response->is_chunked) {
        response->part = HTTP_RESPONSE_CHUNKS;
    } else if (response->has_length) {
        response->part = response->left > 0 ? HTTP_RESPONSE_BODY : HTTP_RESPONSE_DONE;
    } else {
        response->part = HTTP_RESPONSE_BODY_UNTIL_END;
    }
}

static int http_response_take_line(struct http_response *response, struct slice line,
                                   struct err *err)
{
    if (response->part == HTTP_RESPONSE_STATUS) {
        return take_status(response, line, err);
    }
    if (line.len > 0) {
        return take_header(response, line, err);
    }
    end_headers(response);
    return 0;
}

/* Removes a line, or what there is of it, from *bytes. */
static int add_to_line(struct http_response *response, struct slice *bytes, struct err *err)
{
    assert(bytes->ptr); /* there are some left */
    const char *newline = memchr(bytes->ptr, '\n', bytes->len);
    size_t len = newline ? (size_t)(newline - bytes->ptr) + 1 : bytes->len;
    response->head_len += len;
    if (response->head_len > HTTP_RESPONSE_HEAD_MAX) {
        return err_set(err, ERR_TOO_LARGE, "more than %d bytes of HTTP headers",
                       HTTP_RESPONSE_HEAD_MAX);
    }
    buf_append(&response->line, bytes->ptr, len);
    *bytes = slice_of(bytes->ptr + len, bytes->len - len);
    if (!newline) {
        return 0;
    }
    struct slice line = slice_of(response->line.data, response->line.len - 1);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    int r = http_response_take_line(response, line, err);
    buf_clear(&response->line);
    return r;
}

/* ---- The body ---- */

static void add_to_body(struct http_response *response, struct slice *bytes)
{
    size_t len = bytes->len < response->left ? bytes->len : response->left;
    buf_append(&response->body, bytes->ptr, len);
    *bytes = slice_of(bytes->ptr + len, bytes->len - len);
    response->left -= len;
    if (response->left == 0) {
        response->part = HTTP_RESPONSE_DONE;
    }
}

static int add_chunks(struct http_response *response, struct slice *bytes, struct err *err)
{
    size_t taken;
    int status = http_chunks_take(&response->chunks, (const uint8_t *)bytes->ptr, bytes->len,
                                  &response->body, &taken);
    *bytes = slice_of(bytes->ptr + taken, bytes->len - taken);
    if (status == HTTP_CHUNKS_MORE) {
        return 0;
    }
    if (status != 0 && status != HTTP_TOO_LONG) {
        return err_set(err, ERR_PROTOCOL, "a body in HTTP chunks that make no sense");
    }
    response->part = HTTP_RESPONSE_DONE;
    return status == 0 ? 0 : http_response_too_large(response, err);
}

int http_response_add(struct http_response *response, struct slice bytes, struct err *err)
{
    int r = 0;
    while (r == 0 && bytes.len > 0 && response->part != HTTP_RESPONSE_DONE) {
        switch (response->part) {
        case HTTP_RESPONSE_BODY:
            add_to_body(response, &bytes);
            break;
        case HTTP_RESPONSE_CHUNKS:
            r = add_chunks(response, &bytes, err);
            break;
        case HTTP_RESPONSE_BODY_UNTIL_END:
            buf_append_slice(&response->body, bytes);
            bytes.len = 0;
            r = response->body.failed ? http_response_too_large(response, err) : 0;
            break;
        default:
            r = add_to_line(response, &bytes, err);
        }
    }
    return r;
}

int http_response_end(struct http_response *response, struct err *err)
{
    if (response->part == HTTP_RESPONSE_BODY_UNTIL_END) {
        response->part = HTTP_RESPONSE_DONE;
    }
    if (response->part != HTTP_RESPONSE_DONE) {
        return err_set(err, ERR_PROTOCOL, "the server closed the connection %s",
                       response->head_len > 0 ? "within its response" : "without a response");
    }
    return 0;
}

bool http_response_is_type(const struct http_response *response, const char *media_type)
{
    struct slice type = slice_of(response->type, strcspn(response->type, ";"));
    return response->has_type && slice_equal_nocase(slice_trim(type), slice_str(media_type));
}

/* ---- Lifetime ---- */

void http_response_init(struct http_response *response, size_t body_max)
{
    *response = (struct http_response){.part = HTTP_RESPONSE_STATUS};
    buf_init(&response->line, HTTP_RESPONSE_HEAD_MAX);
    buf_init(&response->body, body_max);
}

void http_response_fini(struct http_response *response)
{
    buf_fini(&response->line);
    buf_fini(&response->body);
}
