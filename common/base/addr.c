#include "common/base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool ip_parse(struct slice text, struct ip *ret_ip)
{
    char s[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof(s) || memchr(text.ptr, '\0', text.len)) {
        return false;
    }
    memcpy(s, text.ptr, text.len);
    s[text.len] = '\0';

    struct ip ip = {0};
    if (inet_pton(AF_INET, s, ip.bytes) == 1) {
        ip.family_bytes = 4;
    } else if (inet_pton(AF_INET6, s, ip.bytes) == 1) {
        ip.family_bytes = 16;
        if (memcmp(ip.bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
            memmove(ip.bytes, ip.bytes + 12, 4);
            memset(ip.bytes + 4, 0, 12);
            ip.family_bytes = 4;
        }
    } else {
        return false;
    }
    *ret_ip = ip;
    return true;
}

bool ip_parse_sloppy(struct slice text, struct ip *ret_ip)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    char trimmed[INET6_ADDRSTRLEN];
    size_t len = 0;
    bool is_leading = false; /* a zero before another digit of its group */
    if (ip_parse(text, ret_ip)) {
        return true;
    }
    for (size_t i = 0; i < text.len; i++) {
        bool begins_group = i == 0 || text.ptr[i - 1] == '.' || text.ptr[i - 1] == ':';
        is_leading = (begins_group || is_leading) && text.ptr[i] == '0' && i + 1 < text.len &&
                     memchr(digits, text.ptr[i + 1], strlen(digits));
        if (!is_leading && len == sizeof(trimmed)) {
            return false;
        }
        if (!is_leading) {
            trimmed[len++] = text.ptr[i];
        }
    }
    return len < text.len && ip_parse(slice_of(trimmed, len), ret_ip);
}

/* Formats "10.0.0.1" without the printf of inet_ntop: kube2sky formats thousands at once. */
static void format_v4(const uint8_t bytes[4], char *out)
{
    for (size_t i = 0; i < 4; i++) {
        unsigned byte = bytes[i];
        if (byte >= 100) {
            *out++ = (char)('0' + byte / 100);
        }
        if (byte >= 10) {
            *out++ = (char)('0' + byte / 10 % 10);
        }
        *out++ = (char)('0' + byte % 10);
        *out++ = i < 3 ? '.' : '\0';
    }
}

/* Formats IPv6. inet_ntop writes ::1:2 as ::0.1.0.2, which RFC 5952 section 5 leaves to well-known
 * prefixes. */
static void format_v6(const uint8_t bytes[16], char *out)
{
    static const uint8_t none[12];
    unsigned high = (unsigned)(bytes[12] << 8 | bytes[13]);
    unsigned low = (unsigned)(bytes[14] << 8 | bytes[15]);
    if (high && memcmp(bytes, none, sizeof(none)) == 0) {
        (void)snprintf(out, INET6_ADDRSTRLEN, "::%x:%x", high, low); /* fits */
    } else {
        (void)inet_ntop(AF_INET6, bytes, out, INET6_ADDRSTRLEN); /* it is large enough */
    }
}

bool ip_parse_dashed(struct slice dashed, struct ip *ret_ip)
{
    static const char separators[] = {'.', ':'};
    char text[INET6_ADDRSTRLEN];
    if (dashed.len >= sizeof(text)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(separators); i++) {
        for (size_t at = 0; at < dashed.len; at++) {
            text[at] = dashed.ptr[at] == '-' ? separators[i] : dashed.ptr[at];
        }
        if (ip_parse(slice_of(text, dashed.len), ret_ip)) {
            return true;
        }
    }
    return false;
}

const char *ip_format(const struct ip *ip, char out[INET6_ADDRSTRLEN])
{
    out[0] = '\0';
    if (ip->family_bytes == 4) {
        format_v4(ip->bytes, out);
    } else if (ip->family_bytes) {
        format_v6(ip->bytes, out);
    }
    return out;
}

static bool addr_parse_port(const char *text, uint16_t *ret_port)
{
    unsigned port = 0;
    size_t n = strlen(text);
    if (n == 0 || n > 5) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port == 0 || port > 65535) {
        return false;
    }
    *ret_port = (uint16_t)port;
    return true;
}

/* Splits off the scope behind `%`. Returns false if it is none. */
static bool split_scope(struct slice *text, char ret_scope[IF_NAMESIZE])
{
    const char *percent = memchr(text->ptr, '%', text->len);
    ret_scope[0] = '\0';
    if (!percent) {
        return true;
    }
    struct slice scope = slice_of(percent + 1, (size_t)(text->ptr + text->len - percent - 1));
    if (scope.len == 0 || scope.len >= IF_NAMESIZE) {
        return false;
    }
    for (size_t i = 0; i < scope.len;
         i++) { /* what the kernel takes for a name, and can be shown */
        if (scope.ptr[i] <= ' ' || scope.ptr[i] > '~' || strchr("/:%[]\"\\,#", scope.ptr[i])) {
            return false;
        }
    }
    memcpy(ret_scope, scope.ptr, scope.len);
    ret_scope[scope.len] = '\0';
    text->len = (size_t)(percent - text->ptr);
    return true;
}

static bool needs_scope(const struct addr *addr)
{
    return addr->sa.sa_family == AF_INET6 && (IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr) ||
                                              IN6_IS_ADDR_MC_LINKLOCAL(&addr->v6.sin6_addr));
}

/* Finds the scope's interface, by number or name. Returns false if there is none. */
static bool find_scope(struct addr *addr, const char *scope)
{
    if (*scope == '\0' || !needs_scope(addr)) {
        return true;
    }
    char *end;
    unsigned long number = strtoul(scope, &end, 10);
    addr->v6.sin6_scope_id =
        *end == '\0' && number <= UINT32_MAX ? (uint32_t)number : if_nametoindex(scope);
    return addr->v6.sin6_scope_id != 0;
}

/* Parses an address without a port. */
static bool parse_host(struct slice text, uint16_t port, struct addr *ret,
                       char ret_scope[IF_NAMESIZE])
{
    struct ip ip;
    if (!split_scope(&text, ret_scope) || !ip_parse(text, &ip) ||
        (*ret_scope && ip.family_bytes != 16)) {
        return false;
    }
    *ret = addr_of_ip(&ip, port);
    return true;
}

/* Parses an address with a port. An IPv4-mapped address in brackets is one of IPv6. */
static bool parse_host_port(const char *text, struct addr *ret, char ret_scope[IF_NAMESIZE])
{
    const char *colon = strrchr(text, ':');
    uint16_t port;
    struct in6_addr v6;
    char s[INET6_ADDRSTRLEN] = "";
    if (!colon || !addr_parse_port(colon + 1, &port)) {
        return false;
    }
    struct slice host = slice_of(text, (size_t)(colon - text));
    bool is_bracketed = host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    ret_scope[0] = '\0';
    if (!is_bracketed) {
        return !memchr(host.ptr, ':', host.len) && parse_host(host, port, ret, ret_scope);
    }
    host = slice_of(host.ptr + 1, host.len - 2);
    if (!split_scope(&host, ret_scope) || host.len >= sizeof(s)) {
        return false;
    }
    memcpy(s, host.ptr, host.len);
    if (inet_pton(AF_INET6, s, &v6) != 1) {
        return false;
    }
    *ret = (struct addr){.len = sizeof(ret->v6)};
    ret->v6.sin6_family = AF_INET6;
    ret->v6.sin6_addr = v6;
    ret->v6.sin6_port = htons(port);
    return true;
}

int addr_parse(const char *text, struct addr *ret_addr, struct err *err)
{
    struct addr addr;
    char scope[IF_NAMESIZE];
    if (!parse_host_port(text, &addr, scope)) {
        return err_set(err, ERR_SYNTAX,
                       "`%s`: expected IP:port, like 127.0.0.1:53 or [::1]:53, port 1-65535", text);
    }
    if (!find_scope(&addr, scope)) {
        return err_set(err, ERR_SYNTAX, "`%s`: no interface %s here, expected the name of one",
                       text, scope);
    }
    *ret_addr = addr;
    return 0;
}

bool addr_parse_ip(struct slice text, uint16_t port, struct addr *ret_addr)
{
    struct addr addr;
    char scope[IF_NAMESIZE];
    if (!parse_host(text, port, &addr, scope) || !find_scope(&addr, scope)) {
        return false;
    }
    *ret_addr = addr;
    return true;
}

bool addr_parse_remote(const char *text, uint16_t default_port, struct addr *ret_addr,
                       char ret_scope[IF_NAMESIZE])
{
    return (default_port > 0 && parse_host(slice_str(text), default_port, ret_addr, ret_scope)) ||
           parse_host_port(text, ret_addr, ret_scope);
}

const char *addr_format_remote(const struct addr *addr, const char *scope, char out[ADDR_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "";
    if (addr->sa.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &addr->v6.sin6_addr, ip, sizeof(ip)); /* fits */
        (void)snprintf(out, ADDR_TEXT_MAX, "[%s%s%s]:%u", ip, *scope ? "%" : "", scope,
                       addr_port(addr));
    } else if (addr->sa.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &addr->v4.sin_addr, ip, sizeof(ip)); /* fits */
        (void)snprintf(out, ADDR_TEXT_MAX, "%s:%u", ip, addr_port(addr));
    } else {
        (void)snprintf(out, ADDR_TEXT_MAX, "unknown");
    }
    return out;
}

const char *addr_format(const struct addr *addr, char out[ADDR_TEXT_MAX])
{
    char scope[IF_NAMESIZE] = "";
    if (addr->sa.sa_family == AF_INET6 && addr->v6.sin6_scope_id != 0) {
        (void)snprintf(scope, sizeof(scope), "%u", addr->v6.sin6_scope_id); /* fits */
    }
    return addr_format_remote(addr, scope, out);
}

struct addr addr_of_ip(const struct ip *ip, uint16_t port)
{
    struct addr addr = {0};
    if (ip->family_bytes == 4) {
        addr.v4.sin_family = AF_INET;
        addr.v4.sin_port = htons(port);
        memcpy(&addr.v4.sin_addr, ip->bytes, 4);
        addr.len = sizeof(addr.v4);
    } else if (ip->family_bytes == 16) {
        addr.v6.sin6_family = AF_INET6;
        addr.v6.sin6_port = htons(port);
        memcpy(&addr.v6.sin6_addr, ip->bytes, 16);
        addr.len = sizeof(addr.v6);
    }
    return addr;
}

uint16_t addr_port(const struct addr *addr)
{
    switch (addr->sa.sa_family) {
    case AF_INET:
        return ntohs(addr->v4.sin_port);
    case AF_INET6:
        return ntohs(addr->v6.sin6_port);
    default:
        return 0;
    }
}

struct ip addr_ip(const struct addr *addr)
{
    struct ip ip = {0};
    if (addr->sa.sa_family == AF_INET) {
        ip.family_bytes = 4;
        memcpy(ip.bytes, &addr->v4.sin_addr, 4);
    } else if (addr->sa.sa_family == AF_INET6) {
        if (IN6_IS_ADDR_V4MAPPED(&addr->v6.sin6_addr)) {
            ip.family_bytes = 4;
            memcpy(ip.bytes, addr->v6.sin6_addr.s6_addr + 12, 4);
        } else {
            ip.family_bytes = 16;
            memcpy(ip.bytes, &addr->v6.sin6_addr, 16);
        }
    }
    return ip;
}

bool addr_is_wildcard(const struct addr *addr)
{
    if (addr->sa.sa_family == AF_INET) {
        return addr->v4.sin_addr.s_addr == htonl(INADDR_ANY);
    }
    return addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr);
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    struct ip ip_a = addr_ip(a), ip_b = addr_ip(b);
    return a->sa.sa_family == b->sa.sa_family && addr_port(a) == addr_port(b) &&
           ip_a.family_bytes == ip_b.family_bytes &&
           memcmp(ip_a.bytes, ip_b.bytes, ip_a.family_bytes) == 0 &&
           (a->sa.sa_family != AF_INET6 || a->v6.sin6_scope_id == b->v6.sin6_scope_id);
}

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

/* Accepts one to three digits, nothing else. */
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
