#include "exechealthz/doh_message.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"

static const char media_type[] = "application/dns-message";

enum {
    SHOWN_MAX = 80, /* of a peer's text in an error: more than any of HTTP's own */
};

/* ---- The request ---- */

/* The name that the certificate must have, or else the address; the port unless it is HTTPS's. */
static void append_host(const struct dns_target *target, struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    const struct addr *server = &target->server;
    uint16_t port = addr_port(server);
    if (!target->tls_name[0]) {
        buf_append_str(out, addr_format(server, text));
        return;
    }
    bool is_ipv6 = strchr(target->tls_name, ':');
    buf_printf(out, is_ipv6 ? "[%s]" : "%s", target->tls_name);
    if (port != 443) {
        buf_printf(out, ":%u", port);
    }
}

void doh_request_write(const struct dns_target *target, struct slice query, struct buf *out)
{
    buf_printf(out, "POST %s HTTP/1.1\r\nHost: ", target->path);
    append_host(target, out);
    buf_printf(out,
               "\r\nAccept: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n",
               media_type, media_type, query.len);
    buf_append_slice(out, query);
}

/* ---- Lines of the reply ---- */

/* A peer's text as one that can be shown; returns out. */
static const char *shown(struct slice text, char out[SHOWN_MAX + 1])
{
    size_t len = text.len < SHOWN_MAX ? text.len : SHOWN_MAX;
    for (size_t i = 0; i < len; i++) {
        out[i] = text.ptr[i] >= ' ' && text.ptr[i] < 0x7f ? text.ptr[i] : '?';
    }
    out[len] = '\0';
    return out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct slice trimmed(struct slice s)
{
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s = slice_of(s.ptr + 1, s.len - 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

static bool is_word(struct slice s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* "HTTP/1.1 200 OK" */
static int take_status(struct doh_reply *reply, struct slice line, struct err *err)
{
    char text[SHOWN_MAX + 1];
    const char *p = line.ptr;
    if (line.len < 12 || memcmp(p, "HTTP/1.", 7) != 0 || !is_digit(p[7]) || p[8] != ' ' ||
        !is_digit(p[9]) || !is_digit(p[10]) || !is_digit(p[11]) ||
        (line.len > 12 && p[12] != ' ')) {
        return err_set(err, ERR_PROTOCOL, "not HTTP/1.1, but `%s`", shown(line, text));
    }
    reply->status = (unsigned)(100 * (p[9] - '0') + 10 * (p[10] - '0') + (p[11] - '0'));
    if (reply->status >= 200 && reply->status != 200) { /* not an interim one (RFC 9110 15.2) */
        return err_set(err, ERR_REFUSED, "HTTP status %s",
                       shown(slice_of(p + 9, line.len - 9), text));
    }
    reply->part = DOH_HEADERS;
    return 0;
}

static int take_length(struct doh_reply *reply, struct slice value, struct err *err)
{
    char text[SHOWN_MAX + 1];
    size_t length = 0, i = 0;
    for (; i < value.len && is_digit(value.ptr[i]) && length <= DOH_BODY_MAX; i++) {
        length = length * 10 + (size_t)(value.ptr[i] - '0');
    }
    if (length > DOH_BODY_MAX) {
        return err_set(err, ERR_TOO_LARGE, "a reply of more than %d bytes", DOH_BODY_MAX);
    }
    if (value.len == 0 || i < value.len || (reply->has_length && reply->left != length)) {
        return err_set(err, ERR_PROTOCOL, "Content-Length `%s`: expected one number",
                       shown(value, text));
    }
    reply->has_length = true;
    reply->left = length;
    return 0;
}

static int take_type(struct doh_reply *reply, struct slice value, struct err *err)
{
    const char *end = value.len > 0 ? memchr(value.ptr, ';', value.len) : NULL;
    struct slice type = end ? slice_of(value.ptr, (size_t)(end - value.ptr)) : value;
    char text[SHOWN_MAX + 1];
    if (!is_word(trimmed(type), media_type)) {
        return err_set(err, ERR_REFUSED, "content type `%s`, expected %s", shown(value, text),
                       media_type);
    }
    reply->is_dns = true;
    return 0;
}

static int take_header(struct doh_reply *reply, struct slice line, struct err *err)
{
    char text[SHOWN_MAX + 1];
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon || colon == line.ptr) {
        return err_set(err, ERR_PROTOCOL, "HTTP header `%s`: expected NAME: VALUE",
                       shown(line, text));
    }
    struct slice name = slice_of(line.ptr, (size_t)(colon - line.ptr));
    struct slice value = trimmed(slice_of(colon + 1, line.len - name.len - 1));
    if (reply->status < 200) {
        return 0;
    }
    if (is_word(name, "content-length")) {
        return take_length(reply, value, err);
    }
    if (is_word(name, "content-type")) {
        return take_type(reply, value, err);
    }
    if (is_word(name, "transfer-encoding")) {
        if (!is_word(value, "chunked")) {
            return err_set(err, ERR_PROTOCOL, "Transfer-Encoding `%s`: expected chunked",
                           shown(value, text));
        }
        reply->is_chunked = true;
    }
    return 0;
}

/* RFC 9112 6.3: chunks go before a length; without both, the connection's end is the body's. */
static int end_headers(struct doh_reply *reply, struct err *err)
{
    if (reply->status < 200) {
        reply->part = DOH_STATUS;
        return 0;
    }
    if (!reply->is_dns) {
        return err_set(err, ERR_REFUSED, "no content type, expected %s", media_type);
    }
    if (reply->is_chunked) {
        reply->part = DOH_CHUNK_SIZE;
    } else if (reply->has_length) {
        reply->part = reply->left > 0 ? DOH_BODY : DOH_DONE;
    } else {
        reply->part = DOH_BODY_UNTIL_END;
    }
    return 0;
}

/* Hexadecimal, perhaps with extensions behind a semicolon. */
static int take_chunk_size(struct doh_reply *reply, struct slice line, struct err *err)
{
    static const char digits[] = "0123456789abcdef";
    char text[SHOWN_MAX + 1];
    size_t size = 0, i = 0;
    for (; i < line.len && size <= DOH_BODY_MAX; i++) {
        char c = line.ptr[i];
        const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);
        if (!digit || !*digit) {
            break;
        }
        size = size * 16 + (size_t)(digit - digits);
    }
    if (size > DOH_BODY_MAX - reply->body.len) {
        return err_set(err, ERR_TOO_LARGE, "a reply of more than %d bytes", DOH_BODY_MAX);
    }
    if (i == 0 || (i < line.len && !strchr("; \t", line.ptr[i]))) {
        return err_set(err, ERR_PROTOCOL, "HTTP chunk of size `%s`: expected a hexadecimal number",
                       shown(line, text));
    }
    reply->left = size;
    reply->part = size > 0 ? DOH_CHUNK : DOH_TRAILERS;
    return 0;
}

static int take_line(struct doh_reply *reply, struct slice line, struct err *err)
{
    switch (reply->part) {
    case DOH_STATUS:
        return take_status(reply, line, err);
    case DOH_HEADERS:
        return line.len > 0 ? take_header(reply, line, err) : end_headers(reply, err);
    case DOH_CHUNK_SIZE:
        return take_chunk_size(reply, line, err);
    case DOH_CHUNK_END:
        if (line.len > 0) {
            return err_set(err, ERR_PROTOCOL, "an HTTP chunk longer than its size");
        }
        reply->part = DOH_CHUNK_SIZE;
        return 0;
    default: /* DOH_TRAILERS */
        reply->part = line.len > 0 ? DOH_TRAILERS : DOH_DONE;
        return 0;
    }
}

/* Removes a line, or what there is of it, from *bytes. */
static int add_to_line(struct doh_reply *reply, struct slice *bytes, struct err *err)
{
    assert(bytes->ptr); /* there are some left */
    const char *newline = memchr(bytes->ptr, '\n', bytes->len);
    size_t len = newline ? (size_t)(newline - bytes->ptr) + 1 : bytes->len;
    reply->head_len += len;
    if (reply->head_len > DOH_HEAD_MAX) {
        return err_set(err, ERR_TOO_LARGE, "more than %d bytes of HTTP headers", DOH_HEAD_MAX);
    }
    buf_append(&reply->line, bytes->ptr, len);
    *bytes = slice_of(bytes->ptr + len, bytes->len - len);
    if (!newline) {
        return 0;
    }
    struct slice line = slice_of(reply->line.data, reply->line.len - 1);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    int r = take_line(reply, line, err);
    buf_clear(&reply->line);
    return r;
}

/* ---- The body ---- */

static void add_to_body(struct doh_reply *reply, struct slice *bytes)
{
    size_t len = bytes->len < reply->left ? bytes->len : reply->left;
    buf_append(&reply->body, bytes->ptr, len);
    *bytes = slice_of(bytes->ptr + len, bytes->len - len);
    reply->left -= len;
    if (reply->left == 0) {
        reply->part = reply->part == DOH_CHUNK ? DOH_CHUNK_END : DOH_DONE;
    }
}

int doh_reply_add(struct doh_reply *reply, struct slice bytes, struct err *err)
{
    int r = 0;
    while (r == 0 && bytes.len > 0 && reply->part != DOH_DONE) {
        switch (reply->part) {
        case DOH_BODY:
        case DOH_CHUNK:
            add_to_body(reply, &bytes);
            break;
        case DOH_BODY_UNTIL_END:
            buf_append_slice(&reply->body, bytes);
            bytes.len = 0;
            if (reply->body.failed) {
                r = err_set(err, ERR_TOO_LARGE, "a reply of more than %d bytes", DOH_BODY_MAX);
            }
            break;
        default:
            r = add_to_line(reply, &bytes, err);
        }
    }
    return r;
}

int doh_reply_end(struct doh_reply *reply, struct err *err)
{
    if (reply->part == DOH_BODY_UNTIL_END) {
        reply->part = DOH_DONE;
    }
    if (reply->part != DOH_DONE) {
        return err_set(err, ERR_PROTOCOL, "the server closed the connection %s",
                       reply->head_len > 0 ? "within its reply" : "without a reply");
    }
    return 0;
}

/* ---- Lifetime ---- */

void doh_reply_init(struct doh_reply *reply)
{
    *reply = (struct doh_reply){.part = DOH_STATUS};
    buf_init(&reply->line, DOH_HEAD_MAX);
    buf_init(&reply->body, DOH_BODY_MAX);
}

void doh_reply_fini(struct doh_reply *reply)
{
    buf_fini(&reply->line);
    buf_fini(&reply->body);
}
