/* Writes what a response says besides DNS: status, texts, its head in HTTP/1.1. Pure. */
#ifndef SKYDNS_DOH_DOH_REPLY_INTERNAL_H
#define SKYDNS_DOH_DOH_REPLY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/http/http_head.h"

#define DOH_ALLOWED    "GET, POST, HEAD" /* with 405 */
#define DOH_TYPE       "application/dns-message"
#define DOH_ERROR_TYPE "text/plain; charset=utf-8"

enum {
    DOH_NUMBER_MAX = 11,      /* the digits of 32 bits, and a NUL */
    DOH_DATE_MAX = 30,        /* RFC 9110 5.6.7, and a NUL */
    DOH_REPLY_HEAD_MAX = 320, /* the longest, 405 with everything, has 251 */
    /* Limits requests refused on one connection beyond those answered; then it is closed. They cost
     * less than an answer but are not counted as one. A health check of a proxy that asks for `/`
     * has to connect again after so many. */
    DOH_REFUSED_MAX = 64,
};

/* Returns the body of a response that refuses: says what was expected, repeats nothing of the
 * request. */
struct slice doh_reply_error(enum http_status status);

/* Writes it in decimal; returns the length without the NUL behind it. */
size_t doh_reply_number(uint32_t number, char out[DOH_NUMBER_MAX]);

struct doh_reply_head {
    enum http_status status;
    uint32_t content_length, max_age;
    const char *date;
    bool is_last;     /* the connection closes behind it */
    bool keeps_alive; /* HTTP/1.0 does so only if it is said */
};

/* Writes the head of an HTTP/1.1 response; returns its length. */
size_t doh_reply_head(const struct doh_reply_head *head, uint8_t out[DOH_REPLY_HEAD_MAX]);

/* Writes the Date field of responses once a second. A server with a clock sends it (RFC 9110
 * 6.6.1), so that a cache counts from when the response was made. A connection's own. */

struct doh_date {
    int64_t second; /* of the text, Unix time; zeroed: the text is not written yet */
    char text[DOH_DATE_MAX];
};

/* Returns the time now by the wall clock: "Sun, 06 Nov 1994 08:49:37 GMT". Borrowed until the next
 * call. */
const char *doh_date_now(struct doh_date *date);

#endif
