#include "skydns/answer/special_names.h"

#include "common/base/attributes.h"
#include "skydns/external/zone_table.h"

const uint8_t special_ipv4[4] = {127, 0, 0, 1};
const uint8_t special_ipv6[16] = {[15] = 1};

#define WIRE_NAME(text) \
    {                   \
        sizeof(text),   \
        {               \
            text        \
        }               \
    }
#define IPV6_ZEROS_7  "\0010\0010\0010\0010\0010\0010\0010"
#define IPV6_ZEROS_31 IPV6_ZEROS_7 IPV6_ZEROS_7 IPV6_ZEROS_7 IPV6_ZEROS_7 "\0010\0010\0010"

static const struct {
    struct dname name; /* the string's end is the root label */
    bool is_alone;     /* nothing below it is special */
    enum special_kind kind;
} special_names[] = {
    {WIRE_NAME("\011localhost"), false, SPECIAL_LOCALHOST},
    {WIRE_NAME("\007invalid"), false, SPECIAL_DENIED},
    {WIRE_NAME("\005onion"), false, SPECIAL_DENIED},
    {WIRE_NAME("\010resolver\004arpa"), false, SPECIAL_NO_DATA},
    {WIRE_NAME("\0011\0010\0010\003127\007in-addr\004arpa"), true, SPECIAL_POINTER},
    {WIRE_NAME("\0011" IPV6_ZEROS_31 "\003ip6\004arpa"), true, SPECIAL_POINTER},
};

struct slice special_name_localhost(void)
{
    const struct dname *name = &special_names[0].name;
    return slice_of(name->wire, name->len);
}

enum special_kind special_name_find(const struct dname *name, const struct forward_zone *zone)
{
    for (size_t i = 0; i < ARRAY_LEN(special_names); i++) {
        const struct dname *special = &special_names[i].name;
        const bool is_it =
            special_names[i].is_alone ? dname_equal(name, special) : dname_is_within(name, special);
        if (is_it) { /* both contain the name: the longer one is below */
            return zone && zone_is_stub(zone) && zone->name.len >= special->len
                       ? SPECIAL_NONE
                       : special_names[i].kind;
        }
    }
    return SPECIAL_NONE;
}
