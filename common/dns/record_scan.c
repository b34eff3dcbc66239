#include "common/dns/record_scan.h"

#include "common/dns/record_json.h"

/* Holds the unread rest, not NUL-terminated: every step checks for the end first. */
struct rest {
    const char *at;
    const char *end;
};

static bool take_char(struct rest *rest, char c)
{
    if (rest->at == rest->end || *rest->at != c) {
        return false;
    }
    rest->at++;
    return true;
}

/* Takes printable ASCII between quotes; anything else needs UTF-8 validation or escape decoding. */
static bool record_scan_take_string(struct rest *rest, struct slice *ret_string)
{
    if (!take_char(rest, '"')) {
        return false;
    }
    const char *start = rest->at;
    while (rest->at < rest->end && *rest->at != '"') {
        if (*rest->at < ' ' || *rest->at > '~' || *rest->at == '\\') {
            return false;
        }
        rest->at++;
    }
    *ret_string = slice_of(start, (size_t)(rest->at - start));
    return take_char(rest, '"');
}

/* Takes a number without a leading zero, which JSON forbids; fractions, exponents and signs are
 * left to record_from_json. */
static bool record_scan_take_number(struct rest *rest, uint32_t max, uint32_t *ret_number)
{
    const char *start = rest->at;
    uint64_t number = 0;
    while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9' && number <= max) {
        number = number * 10 + (uint64_t)(*rest->at++ - '0');
    }
    bool is_padded = rest->at - start > 1 && *start == '0';
    *ret_number = (uint32_t)number;
    return rest->at > start && !is_padded && number <= max;
}

static bool record_scan_take_short(struct rest *rest, uint16_t *ret_number)
{
    uint32_t number = 0;
    bool is_taken = record_scan_take_number(rest, UINT16_MAX, &number);
    *ret_number = (uint16_t)number;
    return is_taken;
}

static bool record_scan_take_ttl(struct rest *rest, uint32_t *ret_ttl_s)
{
    bool is_taken = record_scan_take_number(rest, UINT32_MAX, ret_ttl_s);
    *ret_ttl_s = record_ttl_s(*ret_ttl_s);
    return is_taken;
}

static bool record_scan_take_word(struct rest *rest, struct slice word)
{
    if (!slice_has_prefix(slice_of(rest->at, (size_t)(rest->end - rest->at)), word)) {
        return false;
    }
    rest->at += word.len;
    return true;
}

static bool take_bool(struct rest *rest, bool *ret_is_true)
{
    *ret_is_true = record_scan_take_word(rest, slice_str("true"));
    return *ret_is_true || record_scan_take_word(rest, slice_str("false"));
}

static bool record_scan_take_value(struct rest *rest, struct slice field, struct record *view)
{
    if (slice_equal(field, slice_str("host"))) {
        return record_scan_take_string(rest, &view->host);
    }
    if (slice_equal(field, slice_str("port"))) {
        return record_scan_take_short(rest, &view->port);
    }
    if (slice_equal(field, slice_str("priority"))) {
        return record_scan_take_short(rest, &view->priority);
    }
    if (slice_equal(field, slice_str("weight"))) {
        return record_scan_take_short(rest, &view->weight);
    }
    if (slice_equal(field, slice_str("ttl"))) {
        return record_scan_take_ttl(rest, &view->ttl_s);
    }
    if (slice_equal(field, slice_str("targetstrip"))) {
        return record_scan_take_short(rest, &view->targetstrip);
    }
    if (slice_equal(field, slice_str("text"))) {
        return record_scan_take_string(rest, &view->text);
    }
    if (slice_equal(field, slice_str("group"))) {
        return record_scan_take_string(rest, &view->group);
    }
    return slice_equal(field, slice_str("mail")) && take_bool(rest, &view->mail);
}

/* Lets the last of duplicate fields count, as record_from_json does. */
bool record_scan(struct slice value, struct record *ret_view)
{
    struct rest rest = {value.ptr, value.ptr + value.len};
    struct record view = {.host.len = 0};
    struct slice field;
    if (value.len > RECORD_JSON_MAX || !take_char(&rest, '{')) {
        return false;
    }
    do {
        if (!record_scan_take_string(&rest, &field) || !take_char(&rest, ':') ||
            !record_scan_take_value(&rest, field, &view)) {
            return false;
        }
    } while (take_char(&rest, ','));
    if (!take_char(&rest, '}') || rest.at != rest.end) {
        return false;
    }
    *ret_view = view;
    return true;
}
