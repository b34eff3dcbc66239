/* Parses -no-aaaa, -dns64 and -nsid. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_values.h"

/* ---- -no-aaaa ---- */

int option_no_aaaa(struct options *o, const char *list, struct err *err)
{
    struct engine_settings *s = &o->engine;
    const int r = option_list_read(OPTION_NO_AAAA, o, list, err);
    if (option_list_has(list, "all")) {
        s->no_aaaa[0] = (struct dname){.len = 1};
        s->no_aaaa_count = 1;
    }
    return r;
}

/* ---- -dns64 ---- */

bool option_ipv6_network(const char *text, struct network *ret)
{
    enum { BITS_MAX = 128 };
    const char *slash = strchr(text, '/');
    const size_t ip_len = slash ? (size_t)(slash - text) : strlen(text);
    const size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;
    struct ip ip = {.family_bytes = sizeof(ip.bytes)};
    char address[INET6_ADDRSTRLEN];
    if (ip_len >= sizeof(address) ||
        (slash && (digits == 0 || digits > 3 || slash[1 + digits] != '\0'))) {
        return false;
    }
    memcpy(address, text, ip_len);
    address[ip_len] = '\0';
    const unsigned long bits = slash ? strtoul(slash + 1, NULL, 10) : BITS_MAX;
    if (bits > BITS_MAX || inet_pton(AF_INET6, address, ip.bytes) != 1) {
        return false;
    }
    *ret = network_of(&ip, (uint8_t)bits);
    return memcmp(ret->ip.bytes, ip.bytes, sizeof(ip.bytes)) == 0;
}

/* Returns whether RFC 6052 2.2 allows the prefix. */
static bool is_translation_prefix(const struct network *prefix)
{
    enum { ZERO_BYTE = 8 };
    static const uint8_t lengths[] = {32, 40, 48, 56, 64, 96};
    return memchr(lengths, prefix->prefix_bits, sizeof(lengths)) != NULL &&
           prefix->ip.bytes[ZERO_BYTE] == 0;
}

int option_dns64(struct options *o, const char *text, struct err *err)
{
    struct dns64_settings *dns64 = &o->engine.dns64;
    const char *prefix = strcmp(text, "well-known") == 0 ? "64:ff9b::/96" : text;
    struct network network;
    if (*text == '\0') {
        dns64->is_on = false;
        return 0;
    }
    if (!option_ipv6_network(prefix, &network) || !is_translation_prefix(&network)) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected well-known, or a prefix like 2001:db8:64::/96, of 32, 40, "
                       "48, 56, 64 or 96 bits, with zeros behind it and in bits 64 to 71",
                       text);
    }
    dns64->prefix = network;
    dns64->is_on = true;
    return 0;
}

/* ---- -nsid ---- */

int option_nsid(struct options *o, const char *text, struct err *err)
{
    const size_t len = strlen(text);
    if (len > ENGINE_NSID_MAX) {
        return err_set(err, ERR_USAGE, "`%s`: expected a text of at most %d bytes", text,
                       ENGINE_NSID_MAX);
    }
    memcpy(o->engine.nsid, text, len);
    o->engine.nsid_len = (uint8_t)len;
    return 0;
}
