#include "skydns/doh/doh_request_internal.h"

#include <string.h>
#include <strings.h>

#include "common/http/http_chunks.h"
#include "skydns/doh/doh_reply_internal.h"
#include "skydns/wire/question.h"

static bool doh_request_equals(struct slice s, const char *text)
{
    return slice_equal(s, slice_str(text));
}

/* Returns the path and query of `http://host/path`, as sent to proxies (RFC 9112 3.2.2). */
static struct slice without_authority(struct slice target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (target.len > len && strncasecmp(target.ptr, schemes[i], len) == 0) {
            while (len < target.len && target.ptr[len] != '/' && target.ptr[len] != '?') {
                len++;
            }
            return slice_of(target.ptr + len, target.len - len);
        }
    }
    return target;
}

/* Compares the type without the parameters behind it. */
static bool is_dns_message(struct slice content_type)
{
    static const char want[] = "application/dns-message";
    struct slice type = slice_cut(&content_type, ';');
    while (type.len && (type.ptr[type.len - 1] == ' ' || type.ptr[type.len - 1] == '\t')) {
        type.len--;
    }
    return type.len == sizeof(want) - 1 && strncasecmp(type.ptr, want, type.len) == 0;
}

/* Finds the value of `dns`, which must be there once: of two, a cache may have judged by the other
 * one. */
static bool find_dns(struct slice arguments, struct slice *ret_value)
{
    unsigned found = 0;
    while (arguments.len > 0) {
        struct slice value = slice_cut(&arguments, '&');
        struct slice name = slice_cut(&value, '=');
        if (doh_request_equals(name, "dns")) {
            *ret_value = value;
            found++;
        }
    }
    return found == 1;
}

unsigned doh_request_route(const struct doh_request *request, struct doh_route *ret_route)
{
    struct slice arguments = without_authority(request->target);
    struct slice path = slice_cut(&arguments, '?');
    *ret_route = (struct doh_route){.is_head = doh_request_equals(request->method, "HEAD"),
                                    .is_in_body = doh_request_equals(request->method, "POST")};
    if (!doh_request_equals(path, "/dns-query")) {
        return HTTP_NOT_FOUND;
    }
    if (ret_route->is_in_body) {
        return is_dns_message(request->content_type) ? 0 : HTTP_WRONG_TYPE;
    }
    if (!ret_route->is_head && !doh_request_equals(request->method, "GET")) {
        return HTTP_WRONG_METHOD;
    }
    return find_dns(arguments, &ret_route->text) ? 0 : HTTP_BAD_REQUEST;
}

/* ---- base64url, RFC 4648 5 ---- */

/* Values of the characters, plus one. */
static const uint8_t digits[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['-'] = 63, ['_'] = 64,
};

/* Returns the character at *at, which moves past it; 0, which is no digit: a broken escape. */
static uint8_t doh_request_next_character(struct slice text, size_t *at)
{
    char c = text.ptr[(*at)++];
    if (c != '%') {
        return (uint8_t)c;
    }
    if (text.len - *at < 2) {
        return 0;
    }
    int high = http_hex_digit((uint8_t)text.ptr[*at]),
        low = http_hex_digit((uint8_t)text.ptr[*at + 1]);
    *at += 2;
    return high < 0 || low < 0 ? 0 : (uint8_t)(high << 4 | low);
}

unsigned doh_request_decode(struct slice text, uint8_t out[DOH_TARGET_QUERY_MAX], size_t *ret_len)
{
    size_t n = 0, at = 0;
    uint32_t bits = 0;
    unsigned count = 0; /* of bits not written yet */
    while (at < text.len) {
        uint8_t digit = digits[doh_request_next_character(text, &at)];
        if (digit == 0 || n == DOH_TARGET_QUERY_MAX) {
            return HTTP_BAD_REQUEST;
        }
        bits = bits << 6 | (digit - 1U);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[n++] = (uint8_t)(bits >> count);
        }
    }
    *ret_len = n;
    return count == 6 ? HTTP_BAD_REQUEST : 0; /* a single character is no byte */
}

unsigned doh_request_check(struct slice query)
{
    if (query.len > DOH_QUERY_MAX) {
        return HTTP_TOO_LONG;
    }
    return question_is_there((const uint8_t *)query.ptr, query.len) ? 0 : HTTP_BAD_REQUEST;
}
