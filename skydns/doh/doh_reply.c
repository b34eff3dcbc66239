#include "skydns/doh/doh_reply_internal.h"

#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"

/* ---- Texts ---- */

static const struct error_text {
    enum http_status status;
    const char *body;
} error_texts[] = {
    {HTTP_OK, ""},
    {HTTP_BAD_REQUEST, "not a DNS query, or not an HTTP request\n"},
    {HTTP_NOT_FOUND, "DNS queries go to /dns-query\n"},
    {HTTP_WRONG_METHOD, "expected " DOH_ALLOWED "\n"},
    {HTTP_TOO_LONG, "a DNS query has at most 65535 bytes\n"},
    {HTTP_TARGET_TOO_LONG, "send long queries with POST\n"},
    {HTTP_WRONG_TYPE, "expected content-type: " DOH_TYPE "\n"},
    {HTTP_EXPECTATION_FAILED, "expected 100-continue or none\n"},
    {HTTP_HEAD_TOO_LONG, "a request's header has at most 16384 bytes\n"},
    {HTTP_INTERNAL_ERROR, "this query gets no response\n"},
    {HTTP_UNKNOWN_CODING, "expected transfer-encoding: chunked or none\n"},
    {HTTP_WRONG_VERSION, "expected HTTP/1.1 or HTTP/2\n"},
};

struct slice doh_reply_error(enum http_status status)
{
    const struct error_text *text = error_texts;
    while (text->status != status) {
        text++;
    }
    return slice_str(text->body);
}

size_t doh_reply_number(uint32_t number, char out[DOH_NUMBER_MAX])
{
    char reversed[DOH_NUMBER_MAX];
    size_t len = 0;
    do {
        reversed[len++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < len; i++) {
        out[i] = reversed[len - 1 - i];
    }
    out[len] = '\0';
    return len;
}

/* ---- The head ---- */

static void doh_reply_write_text(struct writer *w, const char *text)
{
    writer_bytes(w, text, strlen(text));
}

static void write_number(struct writer *w, uint32_t number)
{
    char text[DOH_NUMBER_MAX];
    writer_bytes(w, text, doh_reply_number(number, text));
}

size_t doh_reply_head(const struct doh_reply_head *head, uint8_t out[DOH_REPLY_HEAD_MAX])
{
    struct writer w = writer_of(out, DOH_REPLY_HEAD_MAX);
    if (head->status == HTTP_OK) {
        doh_reply_write_text(&w,
                             "HTTP/1.1 200 OK\r\nContent-Type: " DOH_TYPE "\r\nContent-Length: ");
    } else {
        doh_reply_write_text(&w, "HTTP/1.1 ");
        doh_reply_write_text(&w, http_status_line(head->status));
        doh_reply_write_text(&w, "\r\nContent-Type: " DOH_ERROR_TYPE "\r\nContent-Length: ");
    }
    write_number(&w, head->content_length);
    doh_reply_write_text(&w, "\r\nCache-Control: max-age=");
    write_number(&w, head->max_age);
    doh_reply_write_text(&w, "\r\nDate: ");
    doh_reply_write_text(&w, head->date);
    if (head->status == HTTP_WRONG_METHOD) {
        doh_reply_write_text(&w, "\r\nAllow: " DOH_ALLOWED);
    }
    if (head->is_last) {
        doh_reply_write_text(&w, "\r\nConnection: close");
    } else if (head->keeps_alive) {
        doh_reply_write_text(&w, "\r\nConnection: keep-alive");
    }
    doh_reply_write_text(&w, "\r\n\r\n");
    return w.pos;
}

const char *doh_date_now(struct doh_date *date)
{
    time_t now_s = (time_t)clock_wall_s();
    if (date->second != now_s || date->text[0] == '\0') {
        struct tm utc;
        date->second = now_s;
        strftime(date->text, sizeof(date->text), "%a, %d %b %Y %H:%M:%S GMT",
                 gmtime_r(&now_s, &utc));
    }
    return date->text;
}
