#include "common/base/network.h"

#include <string.h>

struct network network_of(const struct ip *ip, uint8_t prefix_bits)
{
    struct network network = {.ip = *ip, .prefix_bits = prefix_bits};
    for (unsigned i = 0; i < ip->family_bytes; i++) {
        unsigned first_bit = i * 8;
        if (first_bit >= prefix_bits) {
            network.ip.bytes[i] = 0;
        } else if (prefix_bits - first_bit < 8) {
            network.ip.bytes[i] &= (uint8_t)(0xff << (8 - (prefix_bits - first_bit)));
        }
    }
    return network;
}

/* One to three digits, nothing else. */
static bool parse_bits(struct slice text, unsigned limit, uint8_t *ret_bits)
{
    unsigned bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || i == 3) {
            return false;
        }
        bits = bits * 10 + (unsigned)(text.ptr[i] - '0');
    }
    *ret_bits = (uint8_t)bits;
    return text.len > 0 && bits <= limit;
}

int network_parse(struct slice text, struct network *ret_network, struct err *err)
{
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    size_t ip_len = slash ? (size_t)(slash - text.ptr) : text.len;
    struct ip ip;
    bool ok = ip_parse(slice_of(text.ptr, ip_len), &ip);
    uint8_t bits = ok ? (uint8_t)(ip.family_bytes * 8) : 0;
    if (ok && slash) {
        ok = parse_bits(slice_of(slash + 1, text.len - ip_len - 1), bits, &bits);
    }
    if (!ok) {
        return err_set(err, ERR_USAGE, "`%.*s`: expected a network like 10.0.0.0/8 or fd00::/8",
                       (int)text.len, text.ptr);
    }
    *ret_network = network_of(&ip, bits);
    return 0;
}

bool network_contains(const struct network *network, const struct ip *ip)
{
    unsigned whole = network->prefix_bits / 8, rest = network->prefix_bits % 8;
    return ip->family_bytes == network->ip.family_bytes &&
           memcmp(ip->bytes, network->ip.bytes, whole) == 0 &&
           (rest == 0 || (ip->bytes[whole] ^ network->ip.bytes[whole]) >> (8 - rest) == 0);
}
