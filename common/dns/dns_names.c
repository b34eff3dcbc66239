#include "common/dns/dns_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/dns/dns.h"

static const struct {
    uint16_t type;
    const char *name;
} types[] = {
#define TYPE_NAME(name, number, shape, answer, text) {number, #name},
    RR_TYPES(TYPE_NAME) RR_OTHER_TYPES(TYPE_NAME)
#undef TYPE_NAME
};

static const char *const rcodes[] = {
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP",  "REFUSED", "YXDOMAIN", "YXRRSET",
    "NXRRSET", "NOTAUTH", "NOTZONE",  "RCODE11",  "RCODE12", "RCODE13", "RCODE14",  "RCODE15",
    "BADVERS", "RCODE17", "RCODE18",  "RCODE19",  "RCODE20", "RCODE21", "RCODE22",  "BADCOOKIE",
};
_Static_assert(ARRAY_LEN(rcodes) == DNS_RCODE_BADCOOKIE + 1, "a name for each response code");

const char *dns_type_text(uint16_t type, char out[DNS_TYPE_TEXT_MAX])
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (types[i].type == type) {
            return types[i].name;
        }
    }
    (void)snprintf(out, DNS_TYPE_TEXT_MAX, "TYPE%u", type); /* always fits */
    return out;
}

bool dns_type_from_name(struct slice name, uint16_t *ret_type)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (slice_equal_nocase(slice_str(types[i].name), name)) {
            *ret_type = types[i].type;
            return true;
        }
    }
    return false;
}

/* Reads one to five digits; leading zeros are fine. */
static bool dns_names_read_number(struct slice digits, uint16_t *ret)
{
    enum { DIGITS_MAX = 5 };
    unsigned value = 0;
    for (size_t i = 0; i < digits.len && i < DIGITS_MAX; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(digits.ptr[i] - '0');
    }
    *ret = (uint16_t)value;
    return digits.len > 0 && digits.len <= DIGITS_MAX && value <= UINT16_MAX;
}

bool dns_type_from_text(struct slice text, uint16_t *ret_type)
{
    static const char generic[] = "TYPE";
    size_t prefix = sizeof(generic) - 1;
    if (dns_type_from_name(text, ret_type)) {
        return true;
    }
    return text.len > prefix && strncasecmp(text.ptr, generic, prefix) == 0 &&
           dns_names_read_number(slice_of(text.ptr + prefix, text.len - prefix), ret_type);
}

const char *dns_rcode_name(size_t rcode)
{
    assert(rcode < ARRAY_LEN(rcodes));
    return rcodes[rcode];
}

const char *dns_rcode_text(uint8_t rcode, char out[DNS_RCODE_TEXT_MAX])
{
    bool is_named = rcode <= DNS_RCODE_REFUSED || rcode == DNS_RCODE_NOTAUTH ||
                    rcode == DNS_RCODE_BADVERS || rcode == DNS_RCODE_BADCOOKIE;
    if (is_named) {
        return rcodes[rcode];
    }
    (void)snprintf(out, DNS_RCODE_TEXT_MAX, "RCODE%u", rcode); /* always fits */
    return out;
}
