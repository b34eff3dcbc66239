#include "tests/support/skydns/dns_text.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint16_t number;
} types[] = {
    {"A", 1},      {"NS", 2},     {"CNAME", 5},   {"SOA", 6},    {"PTR", 12},
    {"MX", 15},    {"TXT", 16},   {"AAAA", 28},   {"SRV", 33},   {"OPT", 41},
    {"ANY", 255},  {"HINFO", 13}, {"DNAME", 39},  {"RRSIG", 46}, {"NSEC", 47},
    {"NSEC3", 50}, {"DS", 43},    {"DNSKEY", 48}, {"CDS", 59},   {"CDNSKEY", 60},
};

struct decoder {
    const uint8_t *wire;
    size_t len;
    size_t pos;
    const char *error; /* the first one */
    char *out;
    size_t size;
    size_t used;
};

static void dns_text_fail(struct decoder *d, const char *error)
{
    if (!d->error) {
        d->error = error;
    }
}

__attribute__((format(printf, 2, 3))) static void dns_text_print(struct decoder *d,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(d->out + d->used, d->size - d->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= d->size - d->used) {
        dns_text_fail(d, "text too long");
    } else {
        d->used += (size_t)n;
    }
}

static unsigned dns_text_number(struct decoder *d, unsigned bytes)
{
    unsigned value = 0;
    if (bytes > d->len - d->pos) {
        dns_text_fail(d, "ends early");
        return 0;
    }
    while (bytes-- > 0) {
        value = value << 8 | d->wire[d->pos++];
    }
    return value;
}

static void print_label(struct decoder *d, size_t at, unsigned len)
{
    for (size_t i = at; i < at + len; i++) {
        uint8_t c = d->wire[i];
        if (c <= ' ' || c >= 0x7f) {
            dns_text_print(d, "\\%03u", c);
        } else {
            dns_text_print(d, "%s%c", c == '.' || c == '\\' ? "\\" : "", c);
        }
    }
    dns_text_print(d, ".");
}

/* Prints a name; a pointer must lead to before the name that contains it. */
static void dns_text_name(struct decoder *d)
{
    size_t at = d->pos, before = d->pos, total = 0;
    bool jumped = false;
    for (unsigned labels = 0; !d->error; labels++) {
        if (at >= d->len) {
            dns_text_fail(d, "name ends early");
        } else if (d->wire[at] >= 0xc0) {
            if (at + 1 >= d->len) {
                dns_text_fail(d, "pointer ends early");
                break;
            }
            size_t target = (size_t)(d->wire[at] & 0x3f) << 8 | d->wire[at + 1];
            d->pos = jumped ? d->pos : at + 2;
            jumped = true;
            if (target >= before || target < 12) {
                dns_text_fail(d, "pointer not backwards into the message");
            }
            at = before = target;
        } else if (d->wire[at] > 63) {
            dns_text_fail(d, "label of unknown kind");
        } else if (d->wire[at] == 0) {
            d->pos = jumped ? d->pos : at + 1;
            dns_text_print(d, total == 0 ? "." : "");
            return;
        } else if (at + 1 + d->wire[at] > d->len || (total += d->wire[at] + 1u) > 254) {
            dns_text_fail(d, "name too long");
        } else {
            print_label(d, at + 1, d->wire[at]);
            at += d->wire[at] + 1u;
        }
    }
}

static bool is_compressed(const struct decoder *d)
{
    size_t at = d->pos;
    while (at < d->len && d->wire[at] != 0 && d->wire[at] < 0xc0) {
        at += d->wire[at] + 1u;
    }
    return at < d->len && d->wire[at] >= 0xc0;
}

static void print_type(struct decoder *d, unsigned type)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].number == type) {
            dns_text_print(d, "%s", types[i].name);
            return;
        }
    }
    dns_text_print(d, "TYPE%u", type);
}

static void print_class(struct decoder *d, unsigned rclass)
{
    if (rclass == 1 || rclass == 3) {
        dns_text_print(d, "%s ", rclass == 1 ? "IN" : "CH");
    } else {
        dns_text_print(d, "CLASS%u ", rclass);
    }
}

static void dns_text_address(struct decoder *d, int family, size_t len, size_t rdlen)
{
    char text[INET6_ADDRSTRLEN];
    if (rdlen != len || len > d->len - d->pos) {
        dns_text_fail(d, "address of a wrong length");
        return;
    }
    dns_text_print(d, "%s", inet_ntop(family, d->wire + d->pos, text, sizeof(text)));
    d->pos += len;
}

static void dns_text_strings(struct decoder *d, size_t end)
{
    if (d->pos == end) {
        dns_text_fail(d, "TXT without a string");
    }
    for (const char *before = ""; d->pos < end && !d->error; before = " ") {
        unsigned len = dns_text_number(d, 1);
        if (len > end - d->pos) {
            dns_text_fail(d, "string ends early");
            return;
        }
        dns_text_print(d, "%s\"%.*s\"", before, (int)len, (const char *)d->wire + d->pos);
        d->pos += len;
    }
}

static void dns_text_signature(struct decoder *d, size_t end)
{
    print_type(d, dns_text_number(d, 2));
    (void)dns_text_number(d, 1); /* algorithm */
    dns_text_print(d, " %u ", dns_text_number(d, 1));
    for (unsigned i = 0; i < 7; i++) {
        (void)dns_text_number(d, 2); /* original TTL, expiration, inception, key tag */
    }
    if (is_compressed(d)) {
        dns_text_fail(d, "signer compressed");
    }
    dns_text_name(d);
    d->pos = d->pos < end ? end : d->pos;
}

static void dns_text_rdata(struct decoder *d, unsigned type, size_t rdlen)
{
    size_t end = d->pos + rdlen;
    switch (type) {
    case 1:
        dns_text_address(d, AF_INET, 4, rdlen);
        break;
    case 28:
        dns_text_address(d, AF_INET6, 16, rdlen);
        break;
    case 13:
    case 16:
        dns_text_strings(d, end);
        break;
    case 2:
    case 5:
    case 12:
        dns_text_name(d);
        break;
    case 15:
        dns_text_print(d, "%u ", dns_text_number(d, 2));
        dns_text_name(d);
        break;
    case 33:
        for (unsigned i = 0; i < 3; i++) {
            dns_text_print(d, "%u ", dns_text_number(d, 2));
        }
        if (is_compressed(d)) {
            dns_text_fail(d, "SRV target compressed");
        }
        dns_text_name(d);
        break;
    case 6:
        dns_text_name(d);
        dns_text_print(d, " ");
        dns_text_name(d);
        for (unsigned i = 0; i < 5; i++) {
            dns_text_print(d, " %u", dns_text_number(d, 4));
        }
        break;
    case 39: /* DNAME */
    case 47: /* NSEC, without its types */
        dns_text_name(d);
        d->pos = end;
        break;
    case 46: /* RRSIG, without times and key */
        dns_text_signature(d, end);
        break;
    case 43: /* DS, without their data */
    case 48:
    case 59:
    case 60:
    case 50: /* NSEC3 */
        dns_text_print(d, "...");
        d->pos = end;
        break;
    default:
        dns_text_fail(d, "record of an unexpected type");
        break;
    }
    if (!d->error && d->pos != end) {
        dns_text_fail(d, "data of a wrong length");
    }
}

/* The OPT record is printed at the end. */
struct edns {
    bool is_present;
    unsigned udp_size;
    unsigned ttl;
    int error; /* extended, RFC 8914; -1: none, like the next ones */
    int keepalive, padding;
};

/* Those that responses have but for a cookie, in their order: extended error, keepalive, padding.
 */
static void dns_text_options(struct decoder *d, unsigned len, struct edns *edns)
{
    const size_t end = d->pos + len;
    unsigned before = 0;
    while (!d->error && d->pos < end) {
        static const unsigned codes[] = {15, 11, 12};
        const unsigned code = dns_text_number(d, 2), size = dns_text_number(d, 2);
        while (before < 3 && codes[before] != code) {
            before++;
        }
        if (before++ == 3 || size > end - d->pos || (code != 12 && size != 2)) {
            dns_text_fail(d, "an option that is no extended error, keepalive or padding");
        } else if (code == 12) {
            edns->padding = (int)size;
            d->pos += size;
        } else {
            *(code == 15 ? &edns->error : &edns->keepalive) = (int)dns_text_number(d, 2);
        }
    }
}

static void dns_text_record(struct decoder *d, const char *mark, struct edns *edns)
{
    size_t line = d->used;
    dns_text_print(d, "\n%s ", mark);
    dns_text_name(d);
    unsigned type = dns_text_number(d, 2), rclass = dns_text_number(d, 2),
             ttl = dns_text_number(d, 4), rdlen = dns_text_number(d, 2);
    if (rdlen > d->len - d->pos) {
        dns_text_fail(d, "data ends early");
    }
    if (d->error) {
        return;
    }
    if (type == 41) {
        if (edns->is_present || *mark != '+' || d->used - line != 4) {
            dns_text_fail(d, "OPT where none may be");
        }
        *edns = (struct edns){true, rclass, ttl, -1, -1, -1};
        dns_text_options(d, rdlen, edns);
        d->used = line;
        return;
    }
    dns_text_print(d, " %u ", ttl);
    if (rclass != 1) {
        print_class(d, rclass);
    }
    print_type(d, type);
    dns_text_print(d, " ");
    dns_text_rdata(d, type, rdlen);
}

static void dns_text_header(struct decoder *d, unsigned flags)
{
    static const char *const rcodes[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                         "NXDOMAIN", "NOTIMP",  "REFUSED"};
    static const struct {
        unsigned bit;
        const char *name;
    } bits[] = {{0x8000, "qr"}, {0x0400, "aa"}, {0x0200, "tc"}, {0x0100, "rd"},
                {0x0080, "ra"}, {0x0040, "z"},  {0x0020, "ad"}, {0x0010, "cd"}};

    if ((flags & 15) < sizeof(rcodes) / sizeof(rcodes[0])) {
        dns_text_print(d, "%s", rcodes[flags & 15]);
    } else {
        dns_text_print(d, "RCODE%u", flags & 15);
    }
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        if (flags & bits[i].bit) {
            dns_text_print(d, " %s", bits[i].name);
        }
    }
    if (flags & 0x7800) {
        dns_text_print(d, " opcode=%u", flags >> 11 & 15);
    }
}

static void dns_text_message(struct decoder *d)
{
    static const char *const marks[] = {"=", "!", "+"};
    unsigned counts[4];
    struct edns edns = {0};
    (void)dns_text_number(d, 2); /* the id */
    dns_text_header(d, dns_text_number(d, 2));
    for (unsigned i = 0; i < 4; i++) {
        counts[i] = dns_text_number(d, 2);
    }
    for (unsigned i = 0; i < counts[0] && !d->error; i++) {
        dns_text_print(d, "\n? ");
        dns_text_name(d);
        unsigned type = dns_text_number(d, 2);
        dns_text_print(d, " ");
        print_class(d, dns_text_number(d, 2));
        print_type(d, type);
    }
    for (unsigned section = 0; section < 3; section++) {
        for (unsigned i = 0; i < counts[section + 1] && !d->error; i++) {
            dns_text_record(d, marks[section], &edns);
        }
    }
    if (edns.is_present) {
        dns_text_print(d, "\nedns %u", edns.udp_size);
        dns_text_print(d, "%s", edns.ttl & 0x8000 ? " do" : "");
        if (edns.ttl & ~0x8000u) {
            dns_text_print(d, " rcode=%u version=%u flags=%u", (edns.ttl >> 24) << 4,
                           edns.ttl >> 16 & 255, edns.ttl & 0x7fff);
        }
        if (edns.error >= 0) {
            dns_text_print(d, " ede=%d", edns.error);
        }
        if (edns.keepalive >= 0) {
            dns_text_print(d, " keepalive=%d", edns.keepalive);
        }
        if (edns.padding >= 0) {
            dns_text_print(d, " padding=%d", edns.padding);
        }
    }
    if (!d->error && d->pos != d->len) {
        dns_text_fail(d, "bytes behind the last record");
    }
}

const char *dns_text(const uint8_t *wire, size_t len, char *out, size_t size)
{
    struct decoder d = {.wire = wire, .len = len, .out = out, .size = size};
    dns_text_message(&d);
    if (d.error) {
        (void)snprintf(out, size, "malformed: %s at byte %zu of %zu", d.error, d.pos, d.len);
    }
    return out;
}

uint16_t dns_text_type(const char *type)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, type) == 0) {
            return types[i].number;
        }
    }
    if (strncmp(type, "TYPE", 4) == 0) {
        return (uint16_t)strtoul(type + 4, NULL, 10);
    }
    abort();
}
