#include "common/http/http_head.h"

#include <string.h>

/* Allows more digits than any length that is accepted has, and too few to overflow. */
enum { LENGTH_DIGITS_MAX = 18 };

/* Marks the characters of a token, RFC 9110 5.6.2. */
static const bool token_characters[256] = {
    ['0' ... '9'] = true,  ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
    ['#' ... '\''] = true, ['*'] = true,         ['+'] = true,         ['-'] = true,
    ['.'] = true,          ['^' ... '`'] = true, ['|'] = true,         ['~'] = true,
};

static bool is_token(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!token_characters[(uint8_t)s.ptr[i]]) {
            return false;
        }
    }
    return s.len > 0;
}

/* Returns false for control characters but tabs; also for CR within a line. */
static bool is_text(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool http_head_has_word(struct slice list, const char *word)
{
    while (list.len > 0) {
        if (slice_equal_nocase(slice_trim(slice_cut(&list, ',')), slice_str(word))) {
            return true;
        }
    }
    return false;
}

static struct http_text text_at(const uint8_t *bytes, struct slice s)
{
    return (struct http_text){(uint16_t)(s.ptr - (const char *)bytes), (uint16_t)s.len};
}

/* ---- The request line ---- */

static int parse_version(struct slice version, struct http_head *head)
{
    static const char name[] = "HTTP/";
    const char *at = version.ptr + sizeof(name) - 1;
    if (version.len != sizeof(name) + 2 || memcmp(version.ptr, name, sizeof(name) - 1) != 0 ||
        at[0] < '0' || at[0] > '9' || at[1] != '.' || at[2] < '0' || at[2] > '9') {
        return HTTP_BAD_REQUEST;
    }
    head->is_1_0 = at[2] == '0';
    return at[0] == '1' ? 0 : HTTP_WRONG_VERSION;
}

/* Accepts three words with one space between each. */
static int parse_request_line(struct slice line, const uint8_t *bytes, struct http_head *head)
{
    const char *end = line.ptr + line.len;
    const char *first = memchr(line.ptr, ' ', line.len), *last = memrchr(line.ptr, ' ', line.len);
    if (!first || first == last) {
        return HTTP_BAD_REQUEST;
    }
    struct slice method = slice_of(line.ptr, (size_t)(first - line.ptr));
    struct slice target = slice_of(first + 1, (size_t)(last - first) - 1);
    if (!is_token(method) || target.len == 0 || !is_text(target) ||
        memchr(target.ptr, ' ', target.len) || memchr(target.ptr, '\t', target.len)) {
        return HTTP_BAD_REQUEST;
    }
    head->method = text_at(bytes, method);
    head->target = text_at(bytes, target);
    return parse_version(slice_of(last + 1, (size_t)(end - last) - 1), head);
}

/* ---- Header fields ---- */

static int http_head_take_length(struct slice value, struct http_head *head)
{
    uint64_t length = 0;
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX) {
        return value.len ? HTTP_TOO_LONG : HTTP_BAD_REQUEST;
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') {
            return HTTP_BAD_REQUEST;
        }
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    if (head->has_length && length != head->body_len) {
        return HTTP_BAD_REQUEST;
    }
    head->has_length = true;
    head->body_len = length;
    return 0;
}

/* Refuses any coding but chunked, which could end anywhere (RFC 9112 6.1). */
static int take_coding(struct slice value, struct http_head *head)
{
    if (head->is_chunked || !slice_equal_nocase(value, slice_str("chunked"))) {
        return HTTP_UNKNOWN_CODING;
    }
    head->is_chunked = true;
    return 0;
}

static int take_host(struct slice value, const uint8_t *bytes, struct http_head *head)
{
    head->host = text_at(bytes, value);
    bool is_second = head->has_host;
    head->has_host = true;
    return is_second ? HTTP_BAD_REQUEST : 0;
}

static void take_connection(struct slice value, struct http_head *head)
{
    head->wants_close = head->wants_close || http_head_has_word(value, "close");
    head->wants_keep_alive = head->wants_keep_alive || http_head_has_word(value, "keep-alive");
}

static int take_expectation(struct slice value, struct http_head *head)
{
    head->wants_continue = slice_equal_nocase(value, slice_str("100-continue"));
    return head->wants_continue ? 0 : HTTP_EXPECTATION_FAILED;
}

#define IS_FIELD(name, literal) slice_equal_nocase(name, slice_of(literal, sizeof(literal) - 1))

static int parse_field(struct slice line, const uint8_t *bytes, struct http_head *head)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon) {
        return HTTP_BAD_REQUEST;
    }
    struct slice name = slice_of(line.ptr, (size_t)(colon - line.ptr));
    if (!is_token(name)) {
        return HTTP_BAD_REQUEST;
    }
    struct slice value = slice_trim(slice_of(colon + 1, line.len - name.len - 1));
    if (!is_text(value)) {
        return HTTP_BAD_REQUEST;
    }
    if (IS_FIELD(name, "host")) {
        return take_host(value, bytes, head);
    }
    if (IS_FIELD(name, "content-length")) {
        return http_head_take_length(value, head);
    }
    if (IS_FIELD(name, "transfer-encoding")) {
        return take_coding(value, head);
    }
    if (IS_FIELD(name, "expect")) {
        return take_expectation(value, head);
    }
    if (IS_FIELD(name, "content-type")) {
        head->content_type = text_at(bytes, value);
    } else if (IS_FIELD(name, "skydns-flush")) {
        head->has_flush = slice_equal(value, slice_str("1"));
    } else if (IS_FIELD(name, "connection")) {
        take_connection(value, head);
    }
    return 0;
}

static int check_fields(const struct http_head *head)
{
    bool lacks_host = !head->has_host && !head->is_1_0;                         /* RFC 9112 3.2 */
    bool has_two_ends = head->is_chunked && (head->has_length || head->is_1_0); /* RFC 9112 6.1,
                                                                                   6.3 */
    return lacks_host || has_two_ends ? HTTP_BAD_REQUEST : 0;
}

/* ---- Lines ---- */

/* Skips empty lines before the request line (RFC 9112 2.2). */
static int parse_line(struct slice line, const uint8_t *bytes, struct http_head *head)
{
    if (head->method.len > 0) {
        return parse_field(line, bytes, head);
    }
    return line.len > 0 ? parse_request_line(line, bytes, head) : 0;
}

int http_head_parse(struct http_head *head, const uint8_t *bytes, size_t len)
{
    size_t end = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX;
    const uint8_t *newline;
    while ((newline = memchr(bytes + head->at, '\n', end - head->at))) {
        const uint8_t *start = bytes + head->at;
        size_t line_len = (size_t)(newline - start);
        head->at = (uint16_t)(head->at + line_len + 1);
        if (line_len > 0 && newline[-1] == '\r') {
            line_len--;
        } else if (!head->takes_bare_lf) {
            return HTTP_BAD_REQUEST;
        }
        if (line_len == 0 && head->method.len > 0) {
            return check_fields(head);
        }
        int status = parse_line(slice_of(start, line_len), bytes, head);
        if (status != 0) {
            return status;
        }
    }
    if (end < HTTP_HEAD_MAX) {
        return HTTP_HEAD_MORE;
    }
    return head->method.len > 0 ? HTTP_HEAD_TOO_LONG : HTTP_TARGET_TOO_LONG;
}

const char *http_status_line(enum http_status status)
{
    static const struct {
        enum http_status status;
        const char *line;
    } rows[] = {
        {HTTP_OK, "200 OK"},
        {HTTP_BAD_REQUEST, "400 Bad Request"},
        {HTTP_FORBIDDEN, "403 Forbidden"},
        {HTTP_NOT_FOUND, "404 Not Found"},
        {HTTP_WRONG_METHOD, "405 Method Not Allowed"},
        {HTTP_GONE, "410 Gone"},
        {HTTP_LENGTH_REQUIRED, "411 Length Required"},
        {HTTP_TOO_LONG, "413 Content Too Large"},
        {HTTP_TARGET_TOO_LONG, "414 URI Too Long"},
        {HTTP_WRONG_TYPE, "415 Unsupported Media Type"},
        {HTTP_EXPECTATION_FAILED, "417 Expectation Failed"},
        {HTTP_WRONG_HOST, "421 Misdirected Request"},
        {HTTP_HEAD_TOO_LONG, "431 Request Header Fields Too Large"},
        {HTTP_UNKNOWN_CODING, "501 Not Implemented"},
        {HTTP_UNAVAILABLE, "503 Service Unavailable"},
        {HTTP_TIMED_OUT, "504 Gateway Timeout"},
        {HTTP_NO_ROOM, "507 Insufficient Storage"},
        {HTTP_WRONG_VERSION, "505 HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status == status) {
            return rows[i].line;
        }
    }
    return "500 Internal Server Error";
}
