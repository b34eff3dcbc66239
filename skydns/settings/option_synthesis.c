/* Parses -no-aaaa, -dns64, -dns64-exclude and -nsid. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_values.h"

/* ---- -no-aaaa ---- */

static bool is_denied_already(const struct engine_settings *s, const struct dname *zone)
{
    for (size_t i = 0; i < s->no_aaaa_count; i++) {
        if (dname_equal(&s->no_aaaa[i], zone)) {
            return true;
        }
    }
    return false;
}

int option_no_aaaa(struct options *o, const char *list, struct err *err)
{
    static const struct dname root = {.len = 1};
    struct engine_settings *s = &o->engine;
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    bool is_all = false;
    s->no_aaaa_count = 0;
    while (option_next_item(&rest, item)) {
        struct dname zone;
        if (strcmp(item, "all") == 0) {
            is_all = true;
            continue;
        }
        if (!option_lower_name(item, &zone) || dname_label_count(&zone) == 0) {
            return err_set(err, ERR_USAGE, "`%s`: expected all, or a zone like example.com", item);
        }
        if (is_denied_already(s, &zone)) {
            continue;
        }
        if (s->no_aaaa_count == ENGINE_NO_AAAA_MAX) {
            return err_set(err, ERR_USAGE, "more than %d zones; expected fewer, or all",
                           ENGINE_NO_AAAA_MAX);
        }
        s->no_aaaa[s->no_aaaa_count++] = zone;
    }
    if (is_all) {
        s->no_aaaa[0] = root;
        s->no_aaaa_count = 1;
    }
    return 0;
}

/* ---- -dns64 ---- */

/* Parses an IPv6 network. One of IPv4-mapped addresses is allowed here, which network_parse would
 * take for IPv4. Returns false if host bits are set, or the text is no network. */
static bool read_ipv6_network(const char *text, struct network *ret)
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
    if (!read_ipv6_network(prefix, &network) || !is_translation_prefix(&network)) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected well-known, or a prefix like 2001:db8:64::/96, of 32, 40, "
                       "48, 56, 64 or 96 bits, with zeros behind it and in bits 64 to 71",
                       text);
    }
    dns64->prefix = network;
    dns64->is_on = true;
    return 0;
}

int option_dns64_exclude(struct options *o, const char *list, struct err *err)
{
    struct dns64_settings *dns64 = &o->engine.dns64;
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    dns64->excluded_count = 0;
    while (option_next_item(&rest, item)) {
        if (dns64->excluded_count == ENGINE_EXCLUDED_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d networks", list,
                           ENGINE_EXCLUDED_MAX);
        }
        if (!read_ipv6_network(item, &dns64->excluded[dns64->excluded_count])) {
            return err_set(err, ERR_USAGE, "`%s`: expected an IPv6 network like 2001:db8::/32",
                           item);
        }
        dns64->excluded_count++;
    }
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
