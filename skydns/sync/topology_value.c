#include "skydns/sync/topology_value_internal.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_record.h"
#include "skydns/clients/topology_service.h"
#include "skydns/sync/record_value_internal.h"

/* The shortest entry is `"::":"z",`, of 8 bytes without its comma. */
enum { ENTRY_BYTES_MIN = 8 };

static void skip_spaces(struct slice *rest)
{
    while (rest->len > 0 &&
           (*rest->ptr == ' ' || *rest->ptr == '\n' || *rest->ptr == '\t' || *rest->ptr == '\r')) {
        *rest = slice_of(rest->ptr + 1, rest->len - 1);
    }
}

/* Takes this character, and spaces around it; false, if it is not there. */
static bool topology_value_take(struct slice *rest, char c)
{
    skip_spaces(rest);
    if (rest->len == 0 || *rest->ptr != c) {
        return false;
    }
    *rest = slice_of(rest->ptr + 1, rest->len - 1);
    skip_spaces(rest);
    return true;
}

/* Takes a text without escapes. */
static bool topology_value_take_text(struct slice *rest, struct slice *ret_text)
{
    if (rest->len == 0 || *rest->ptr != '"') {
        return false;
    }
    size_t at = 1;
    while (at < rest->len && rest->ptr[at] != '"' && rest->ptr[at] != '\\') {
        at++;
    }
    if (at == rest->len || rest->ptr[at] == '\\') {
        return false;
    }
    *ret_text = slice_of(rest->ptr + 1, at - 1);
    *rest = slice_of(rest->ptr + at + 1, rest->len - at - 1);
    return true;
}

static const char *read_entry(struct slice *rest, struct topology_entry *ret)
{
    struct slice address;
    if (!topology_value_take_text(rest, &address) || !topology_value_take(rest, ':') ||
        !topology_value_take_text(rest, &ret->zone)) {
        return "no JSON object of texts";
    }
    if (!ip_parse(address, &ret->ip)) {
        return "one of its addresses is none";
    }
    return ret->zone.len == 0 || !record_value_is_name(ret->zone) ? "one of its zones is no name"
                                                                  : NULL;
}

static const char *read_entries(struct slice rest, struct topology_entry *entries,
                                size_t *ret_count)
{
    const char *refusal = NULL;
    size_t count = 0;
    if (!topology_value_take(&rest, '{')) {
        return "no JSON object of texts";
    }
    bool is_more = rest.len == 0 || *rest.ptr != '}';
    while (is_more && !refusal) {
        refusal = read_entry(&rest, &entries[count]);
        count++;
        is_more = !refusal && topology_value_take(&rest, ',');
    }
    *ret_count = count;
    return refusal                                            ? refusal
           : !topology_value_take(&rest, '}') || rest.len > 0 ? "no JSON object of texts"
                                                              : NULL;
}

const char *topology_value_read(struct slice value, struct slice name,
                                struct topology_service **ret_service)
{
    if (value.len > TOPOLOGY_VALUE_MAX) {
        return "more than 256 KiB";
    }
    struct topology_entry *entries =
        xcalloc(value.len / ENTRY_BYTES_MIN + 1, sizeof(struct topology_entry));
    size_t count = 0;
    const char *refusal = read_entries(value, entries, &count);
    if (!refusal) {
        *ret_service = topology_service_new(name, entries, count);
    }
    free(entries);
    return refusal;
}

void topology_value_write(const struct topology_service *service, struct buf *out)
{
    struct topology_entry entry;
    char text[INET6_ADDRSTRLEN];
    char separator = '{';
    for (size_t at = 0; topology_service_next(service, &at, &entry); separator = ',') {
        buf_append_char(out, separator);
        buf_append_char(out, '"');
        buf_append_str(out, ip_format(&entry.ip, text));
        buf_append_str(out, "\":\"");
        buf_append_slice(out, entry.zone);
        buf_append_char(out, '"');
    }
    buf_append_str(out, separator == '{' ? "{}" : "}");
}
