#include "common/http/http_request_internal.h"

#include <string.h>
#include <strings.h>

#include "common/base/slice.h"

enum { BAD_REQUEST = 400, LENGTH_REQUIRED = 411, EXPECTATION_FAILED = 417, BAD_VERSION = 505 };

/* More digits than any accepted length has, and too few to overflow. */
enum { LENGTH_DIGITS_MAX = 18 };

/* Values of header fields for the checks that need all of them. */
struct fields {
    unsigned hosts;
    bool has_length;
    bool is_chunked;
};

/* ---- Lines ---- */

static bool is_blank(const uint8_t *line, size_t len)
{
    return len == 0 || (len == 1 && line[0] == '\r');
}

size_t http_head_length(const uint8_t *bytes, size_t len)
{
    const uint8_t *newline;
    size_t pos = 0;
    bool has_line =
        false; /* empty lines before the request line do not end the head (RFC 9112 2.2) */
    while (pos < len && (newline = memchr(bytes + pos, '\n', len - pos))) {
        bool blank = is_blank(bytes + pos, (size_t)(newline - (bytes + pos)));
        pos = (size_t)(newline - bytes) + 1;
        if (blank && has_line) {
            return pos;
        }
        has_line = has_line || !blank;
    }
    return 0;
}

/* No NUL or other control character, and CR only at the end of a line. */
static bool is_text(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t c = bytes[i];
        bool ends_line = c == '\n' || (c == '\r' && i + 1 < len && bytes[i + 1] == '\n');
        if ((c < ' ' && c != '\t' && !ends_line) || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* The next line without its newline; *at moves past it. The bytes end with a newline. */
static struct slice next_line(char **at)
{
    char *start = *at, *newline = strchr(start, '\n');
    *at = newline + 1;
    size_t len = (size_t)(newline - start);
    len -= len > 0 && start[len - 1] == '\r';
    return slice_of(start, len);
}

/* RFC 9110 5.6.2 */
static bool is_token(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && !memchr("!#$%&'*+-.^_`|~", c, 15)) {
            return false;
        }
    }
    return s.len > 0;
}

static bool is_word(struct slice s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* ---- The request line ---- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c, 16);
    return at ? (int)(at - digits) : -1;
}

/* Decodes %-escapes, and + where it means a space, in place. */
static bool decode(char *text, bool plus_is_blank)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from;
        if (c == '%') {
            int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
            if (low < 0 || high + low == 0) { /* a NUL would cut the string */
                return false;
            }
            c = (char)(high << 4 | low);
            from += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

static bool parse_arguments(char *query, struct http_head *head)
{
    while (query && head->argument_count < HTTP_ARGUMENTS_MAX) {
        char *name = strsep(&query, "&");
        char *value = strchr(name, '=');
        if (value) {
            *value++ = '\0';
        } else {
            value = name + strlen(name);
        }
        if (!decode(name, true) || !decode(value, true)) {
            return false;
        }
        head->arguments[head->argument_count++] = (struct http_argument){name, value};
    }
    return true;
}

/* `/path?query`, the same after `http://host` (as sent to proxies), or `*`. */
static bool parse_target(char *target, struct http_head *head)
{
    static const char scheme[] = "http://";
    if (strncasecmp(target, scheme, sizeof(scheme) - 1) == 0) {
        target = strchr(target + sizeof(scheme) - 1, '/');
    }
    if (!target || (*target != '/' && strcmp(target, "*") != 0)) {
        return false;
    }
    char *query = target;
    head->path = strsep(&query, "?");
    return decode(target, false) && parse_arguments(query, head);
}

static int parse_version(const char *version, struct http_head *head)
{
    bool is_http = strlen(version) == 8 && strncmp(version, "HTTP/", 5) == 0 && version[5] >= '0' &&
                   version[5] <= '9' && version[6] == '.' && version[7] >= '0' && version[7] <= '9';
    if (!is_http) {
        return BAD_REQUEST;
    }
    head->is_1_0 = version[7] == '0';
    return version[5] == '1' ? 0 : BAD_VERSION;
}

/* NUL-terminates its three words in place. */
static int parse_request_line(char *line, size_t len, struct http_head *head)
{
    line[len] = '\0';
    char *target = strchr(line, ' '), *version = strrchr(line, ' ');
    if (!target || target == version) {
        return BAD_REQUEST;
    }
    *target++ = '\0';
    *version++ = '\0';
    head->method = line;
    if (!is_token(slice_str(line)) || strchr(target, ' ') || strchr(target, '\t')) {
        return BAD_REQUEST;
    }
    int status = parse_version(version, head);
    return status == 0 && !parse_target(target, head) ? BAD_REQUEST : status;
}

/* ---- Header fields ---- */

static struct slice trim(struct slice s)
{
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s = slice_of(s.ptr + 1, s.len - 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

static bool parse_length(struct slice value, uint64_t *ret_length)
{
    uint64_t length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') {
            return false;
        }
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    *ret_length = length;
    return value.len > 0 && value.len <= LENGTH_DIGITS_MAX;
}

static bool has_word(struct slice list, const char *word)
{
    while (list.len > 0) {
        const char *comma = memchr(list.ptr, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
        if (is_word(trim(slice_of(list.ptr, len)), word)) {
            return true;
        }
        len += comma != NULL;
        list = slice_of(list.ptr + len, list.len - len);
    }
    return false;
}

static int parse_field(struct slice line, struct fields *fields, struct http_head *head)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    struct slice name = slice_of(line.ptr, colon ? (size_t)(colon - line.ptr) : 0);
    if (!is_token(name)) {
        return BAD_REQUEST;
    }
    struct slice value = trim(slice_of(colon + 1, line.len - name.len - 1));
    if (is_word(name, "host")) {
        fields->hosts++;
        head->host = value;
    } else if (is_word(name, "connection")) {
        head->wants_close = head->wants_close || has_word(value, "close");
    } else if (is_word(name, "transfer-encoding")) {
        fields->is_chunked = true;
    } else if (is_word(name, "expect")) {
        head->wants_continue = is_word(value, "100-continue");
        return head->wants_continue ? 0 : EXPECTATION_FAILED;
    } else if (is_word(name, "content-length")) {
        uint64_t length;
        if (!parse_length(value, &length) || (fields->has_length && length != head->body_len)) {
            return BAD_REQUEST;
        }
        head->body_len = length;
        fields->has_length = true;
    }
    return 0;
}

static int check_fields(const struct fields *fields, const struct http_head *head)
{
    if (fields->hosts > 1 || (fields->hosts == 0 && !head->is_1_0)) {
        return BAD_REQUEST; /* RFC 9112 3.2 */
    }
    return fields->is_chunked ? LENGTH_REQUIRED : 0;
}

int http_head_parse(uint8_t *bytes, size_t len, struct http_head *ret_head)
{
    struct http_head head = {.path = "", .host = slice_of("", 0)};
    struct fields fields = {0};
    char *at = (char *)bytes;
    struct slice line;
    if (!is_text(bytes, len)) {
        return BAD_REQUEST;
    }
    do {
        line = next_line(&at);
    } while (line.len == 0);
    int status = parse_request_line((char *)bytes + (line.ptr - (char *)bytes), line.len, &head);
    while (status == 0 && (line = next_line(&at)).len > 0) {
        status = parse_field(line, &fields, &head);
    }
    if (status == 0) {
        status = check_fields(&fields, &head);
    }
    head.wants_close = head.wants_close || head.is_1_0;
    *ret_head = head;
    return status;
}

const char *http_head_argument(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->argument_count; i++) {
        if (strcmp(head->arguments[i].name, name) == 0) {
            return head->arguments[i].value;
        }
    }
    return NULL;
}
