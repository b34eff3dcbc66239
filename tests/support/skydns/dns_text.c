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

static void fail(struct decoder *d, const char *error)
{
    if (!d->error) {
        d->error = error;
    }
}

__attribute__((format(printf, 2, 3))) static void print(struct decoder *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(d->out + d->used, d->size - d->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= d->size - d->used) {
        fail(d, "text too long");
    } else {
        d->used += (size_t)n;
    }
}

static unsigned number(struct decoder *d, unsigned bytes)
{
    unsigned value = 0;
    if (bytes > d->len - d->pos) {
        fail(d, "ends early");
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
            print(d, "\\%03u", c);
        } else {
            print(d, "%s%c", c == '.' || c == '\\' ? "\\" : "", c);
        }
    }
    print(d, ".");
}

/* Prints a name; a pointer must lead to before the name that contains it. */
static void name(struct decoder *d)
{
    size_t at = d->pos, before = d->pos, total = 0;
    bool jumped = false;
    for (unsigned labels = 0; !d->error; labels++) {
        if (at >= d->len) {
            fail(d, "name ends early");
        } else if (d->wire[at] >= 0xc0) {
            if (at + 1 >= d->len) {
                fail(d, "pointer ends early");
                break;
            }
            size_t target = (size_t)(d->wire[at] & 0x3f) << 8 | d->wire[at + 1];
            d->pos = jumped ? d->pos : at + 2;
            jumped = true;
            if (target >= before || target < 12) {
                fail(d, "pointer not backwards into the message");
            }
            at = before = target;
        } else if (d->wire[at] > 63) {
            fail(d, "label of unknown kind");
        } else if (d->wire[at] == 0) {
            d->pos = jumped ? d->pos : at + 1;
            print(d, total == 0 ? "." : "");
            return;
        } else if (at + 1 + d->wire[at] > d->len || (total += d->wire[at] + 1u) > 254) {
            fail(d, "name too long");
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
            print(d, "%s", types[i].name);
            return;
        }
    }
    print(d, "TYPE%u", type);
}

static void print_class(struct decoder *d, unsigned rclass)
{
    if (rclass == 1 || rclass == 3) {
        print(d, "%s ", rclass == 1 ? "IN" : "CH");
    } else {
        print(d, "CLASS%u ", rclass);
    }
}

static void address(struct decoder *d, int family, size_t len, size_t rdlen)
{
    char text[INET6_ADDRSTRLEN];
    if (rdlen != len || len > d->len - d->pos) {
        fail(d, "address of a wrong length");
        return;
    }
    print(d, "%s", inet_ntop(family, d->wire + d->pos, text, sizeof(text)));
    d->pos += len;
}

static void strings(struct decoder *d, size_t end)
{
    if (d->pos == end) {
        fail(d, "TXT without a string");
    }
    for (const char *before = ""; d->pos < end && !d->error; before = " ") {
        unsigned len = number(d, 1);
        if (len > end - d->pos) {
            fail(d, "string ends early");
            return;
        }
        print(d, "%s\"%.*s\"", before, (int)len, (const char *)d->wire + d->pos);
        d->pos += len;
    }
}

static void signature(struct decoder *d, size_t end)
{
    print_type(d, number(d, 2));
    (void)number(d, 1); /* algorithm */
    print(d, " %u ", number(d, 1));
    for (unsigned i = 0; i < 7; i++) {
        (void)number(d, 2); /* original TTL, expiration, inception, key tag */
    }
    if (is_compressed(d)) {
        fail(d, "signer compressed");
    }
    name(d);
    d->pos = d->pos < end ? end : d->pos;
}

static void rdata(struct decoder *d, unsigned type, size_t rdlen)
{
    size_t end = d->pos + rdlen;
    switch (type) {
    case 1:
        address(d, AF_INET, 4, rdlen);
        break;
    case 28:
        address(d, AF_INET6, 16, rdlen);
        break;
    case 13:
    case 16:
        strings(d, end);
        break;
    case 2:
    case 5:
    case 12:
        name(d);
        break;
    case 15:
        print(d, "%u ", number(d, 2));
        name(d);
        break;
    case 33:
        for (unsigned i = 0; i < 3; i++) {
            print(d, "%u ", number(d, 2));
        }
        if (is_compressed(d)) {
            fail(d, "SRV target compressed");
        }
        name(d);
        break;
    case 6:
        name(d);
        print(d, " ");
        name(d);
        for (unsigned i = 0; i < 5; i++) {
            print(d, " %u", number(d, 4));
        }
        break;
    case 39: /* DNAME */
    case 47: /* NSEC, without its types */
        name(d);
        d->pos = end;
        break;
    case 46: /* RRSIG, without times and key */
        signature(d, end);
        break;
    case 43: /* DS, without their data */
    case 48:
    case 59:
    case 60:
    case 50: /* NSEC3 */
        print(d, "...");
        d->pos = end;
        break;
    default:
        fail(d, "record of an unexpected type");
        break;
    }
    if (!d->error && d->pos != end) {
        fail(d, "data of a wrong length");
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
static void options(struct decoder *d, unsigned len, struct edns *edns)
{
    const size_t end = d->pos + len;
    unsigned before = 0;
    while (!d->error && d->pos < end) {
        static const unsigned codes[] = {15, 11, 12};
        const unsigned code = number(d, 2), size = number(d, 2);
        while (before < 3 && codes[before] != code) {
            before++;
        }
        if (before++ == 3 || size > end - d->pos || (code != 12 && size != 2)) {
            fail(d, "an option that is no extended error, keepalive or padding");
        } else if (code == 12) {
            edns->padding = (int)size;
            d->pos += size;
        } else {
            *(code == 15 ? &edns->error : &edns->keepalive) = (int)number(d, 2);
        }
    }
}

static void record(struct decoder *d, const char *mark, struct edns *edns)
{
    size_t line = d->used;
    print(d, "\n%s ", mark);
    name(d);
    unsigned type = number(d, 2), rclass = number(d, 2), ttl = number(d, 4), rdlen = number(d, 2);
    if (rdlen > d->len - d->pos) {
        fail(d, "data ends early");
    }
    if (d->error) {
        return;
    }
    if (type == 41) {
        if (edns->is_present || *mark != '+' || d->used - line != 4) {
            fail(d, "OPT where none may be");
        }
        *edns = (struct edns){true, rclass, ttl, -1, -1, -1};
        options(d, rdlen, edns);
        d->used = line;
        return;
    }
    print(d, " %u ", ttl);
    if (rclass != 1) {
        print_class(d, rclass);
    }
    print_type(d, type);
    print(d, " ");
    rdata(d, type, rdlen);
}

static void header(struct decoder *d, unsigned flags)
{
    static const char *const rcodes[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                         "NXDOMAIN", "NOTIMP",  "REFUSED"};
    static const struct {
        unsigned bit;
        const char *name;
    } bits[] = {{0x8000, "qr"}, {0x0400, "aa"}, {0x0200, "tc"}, {0x0100, "rd"},
                {0x0080, "ra"}, {0x0040, "z"},  {0x0020, "ad"}, {0x0010, "cd"}};

    if ((flags & 15) < sizeof(rcodes) / sizeof(rcodes[0])) {
        print(d, "%s", rcodes[flags & 15]);
    } else {
        print(d, "RCODE%u", flags & 15);
    }
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        if (flags & bits[i].bit) {
            print(d, " %s", bits[i].name);
        }
    }
    if (flags & 0x7800) {
        print(d, " opcode=%u", flags >> 11 & 15);
    }
}

static void message(struct decoder *d)
{
    static const char *const marks[] = {"=", "!", "+"};
    unsigned counts[4];
    struct edns edns = {0};
    (void)number(d, 2); /* the id */
    header(d, number(d, 2));
    for (unsigned i = 0; i < 4; i++) {
        counts[i] = number(d, 2);
    }
    for (unsigned i = 0; i < counts[0] && !d->error; i++) {
        print(d, "\n? ");
        name(d);
        unsigned type = number(d, 2);
        print(d, " ");
        print_class(d, number(d, 2));
        print_type(d, type);
    }
    for (unsigned section = 0; section < 3; section++) {
        for (unsigned i = 0; i < counts[section + 1] && !d->error; i++) {
            record(d, marks[section], &edns);
        }
    }
    if (edns.is_present) {
        print(d, "\nedns %u", edns.udp_size);
        print(d, "%s", edns.ttl & 0x8000 ? " do" : "");
        if (edns.ttl & ~0x8000u) {
            print(d, " rcode=%u version=%u flags=%u", (edns.ttl >> 24) << 4, edns.ttl >> 16 & 255,
                  edns.ttl & 0x7fff);
        }
        if (edns.error >= 0) {
            print(d, " ede=%d", edns.error);
        }
        if (edns.keepalive >= 0) {
            print(d, " keepalive=%d", edns.keepalive);
        }
        if (edns.padding >= 0) {
            print(d, " padding=%d", edns.padding);
        }
    }
    if (!d->error && d->pos != d->len) {
        fail(d, "bytes behind the last record");
    }
}

const char *dns_text(const uint8_t *wire, size_t len, char *out, size_t size)
{
    struct decoder d = {.wire = wire, .len = len, .out = out, .size = size};
    message(&d);
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
