#include "common/http/http_request_internal.h"

#include <string.h>
#include <strings.h>

#include "common/http/http_chunks.h"

/* Decodes %-escapes, and + where it means a space, in place. */
static bool http_request_decode(char *text, bool plus_is_blank)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from;
        if (c == '%') {
            int high = http_hex_digit((uint8_t)from[1]),
                low = high < 0 ? -1 : http_hex_digit((uint8_t)from[2]);
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

static bool parse_arguments(char *query, struct http_request *request)
{
    while (query && request->argument_count < HTTP_ARGUMENTS_MAX) {
        char *name = strsep(&query, "&");
        char *value = strchr(name, '=');
        if (value) {
            *value++ = '\0';
        } else {
            value = name + strlen(name);
        }
        if (!http_request_decode(name, true) || !http_request_decode(value, true)) {
            return false;
        }
        request->arguments[request->argument_count++] = (struct http_argument){name, value};
    }
    return true;
}

/* Accepts `/path?query`, the same after `http://host` (as sent to proxies), or `*`. */
static bool parse_target(char *target, struct http_request *request)
{
    static const char scheme[] = "http://";
    if (strncasecmp(target, scheme, sizeof(scheme) - 1) == 0) {
        target = strchr(target + sizeof(scheme) - 1, '/');
    }
    if (!target || (*target != '/' && strcmp(target, "*") != 0)) {
        return false;
    }
    char *query = target;
    request->path = strsep(&query, "?");
    return http_request_decode(target, false) && parse_arguments(query, request);
}

static char *http_request_terminate(uint8_t *bytes, struct http_text text)
{
    bytes[text.at + text.len] = '\0'; /* the blank or the line's end behind it */
    return (char *)bytes + text.at;
}

int http_request_parse(uint8_t *bytes, const struct http_head *head,
                       struct http_request *ret_request)
{
    struct http_request request = {.method = http_request_terminate(bytes, head->method),
                                   .path = ""};
    const bool is_understood = parse_target(http_request_terminate(bytes, head->target), &request);
    *ret_request = request;
    return !is_understood ? HTTP_BAD_REQUEST : head->is_chunked ? HTTP_LENGTH_REQUIRED : 0;
}

const char *http_request_arg(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->argument_count; i++) {
        if (strcmp(request->arguments[i].name, name) == 0) {
            return request->arguments[i].value;
        }
    }
    return NULL;
}
