#include "tests/support/skydns/foreign_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "tests/support/skydns/dns_text.h"

enum { RRSIG = 46, NSEC = 47, NSEC3 = 50, DNAME = 39, WORDS_MAX = 16 };

static void foreign_reply_require(bool is_right, const char *text)
{
    if (!is_right) {
        (void)fprintf(stderr, "reply text: %s\n", text);
        abort();
    }
}

static struct dname foreign_reply_name_of(const char *text)
{
    struct dname name = {0};
    foreign_reply_require(dname_from_text(slice_str(text), &name), text);
    return name;
}

struct words {
    size_t count;
    char *items[WORDS_MAX];
};

static struct words foreign_reply_split(char *line)
{
    struct words words = {0};
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        foreign_reply_require(words.count < WORDS_MAX, line);
        words.items[words.count++] = word;
    }
    return words;
}

static uint32_t foreign_reply_number_of(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    foreign_reply_require(*text && !*end, text);
    return (uint32_t)number;
}

/* Returns where this name, or its longest suffix, begins in the message: 0 if nowhere. */
static size_t foreign_reply_find_name(const struct writer *w, const struct dname *name)
{
    for (size_t at = DNS_HEADER_SIZE; at < w->pos && at <= DNS_POINTER_MAX; at++) {
        struct reader r = reader_of(w->data, w->pos);
        struct dname there;
        r.pos = at;
        if (dname_read(&r, &there) && there.len == name->len &&
            memcmp(there.wire, name->wire, name->len) == 0) {
            return at;
        }
    }
    return 0;
}

static void foreign_reply_put_name(struct writer *w, const char *text)
{
    struct dname name = foreign_reply_name_of(text);
    while (name.len > 1) {
        size_t at = foreign_reply_find_name(w, &name);
        if (at) {
            writer_u16(w, (uint16_t)(0xc000 | at));
            return;
        }
        writer_bytes(w, name.wire, name.wire[0] + 1u);
        dname_strip(&name, 1);
    }
    writer_u8(w, 0);
}

static void foreign_reply_put_address(struct writer *w, const char *text)
{
    struct ip ip;
    foreign_reply_require(ip_parse(slice_str(text), &ip), text);
    writer_bytes(w, ip.bytes, ip.family_bytes);
}

static void put_data(struct writer *w, uint16_t type, const struct words *words, size_t at)
{
    char *const *items = words->items + at;
    switch (type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        foreign_reply_put_address(w, items[0]);
        break;
    case DNS_TYPE_SOA:
        foreign_reply_put_name(w, items[0]);
        foreign_reply_put_name(w, items[1]);
        for (size_t i = 2; i < 7; i++) {
            writer_u32(w, foreign_reply_number_of(items[i]));
        }
        break;
    case DNS_TYPE_MX:
    case DNS_TYPE_SRV:
        for (; at + 1 < words->count; at++, items++) {
            writer_u16(w, (uint16_t)foreign_reply_number_of(items[0]));
        }
        foreign_reply_put_name(w, items[0]);
        break;
    case RRSIG:
        writer_u16(w, dns_text_type(items[0]));
        writer_u8(w, 13);
        writer_u8(w, (uint8_t)foreign_reply_number_of(items[1]));
        writer_bytes(w, "\0\0\1\54tttttttt\1\2", 14);
        foreign_reply_put_name(w, items[2]);
        writer_bytes(w, "signature", 9);
        break;
    case NSEC:
        foreign_reply_put_name(w, items[0]);
        writer_bytes(w, "\0\1\100", 3);
        break;
    case DNS_TYPE_TXT:
    case NSEC3:
        writer_u8(w, (uint8_t)strlen(items[0]));
        writer_bytes(w, items[0], strlen(items[0]));
        break;
    default:
        foreign_reply_put_name(w, items[0]);
        break;
    }
}

static void foreign_reply_put_record(struct writer *w, const struct words *words)
{
    uint16_t rr_class = DNS_CLASS_IN;
    size_t at = 3;
    foreign_reply_require(words->count > at, words->items[0]);
    if (strncmp(words->items[at], "class=", 6) == 0) {
        rr_class = (uint16_t)foreign_reply_number_of(words->items[at++] + 6);
    }
    uint16_t type = dns_text_type(words->items[at]);
    foreign_reply_put_name(w, words->items[1]);
    writer_u16(w, type);
    writer_u16(w, rr_class);
    writer_u32(w, foreign_reply_number_of(words->items[2]));
    size_t len_at = w->pos;
    writer_u16(w, 0);
    put_data(w, type, words, at + 1);
    size_t len = w->pos - len_at - 2;
    w->data[len_at] = (uint8_t)(len >> 8);
    w->data[len_at + 1] = (uint8_t)len;
}

static uint16_t flags_of(const struct words *words)
{
    static const char *const rcodes[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                         "NXDOMAIN", "NOTIMP",  "REFUSED"};
    static const struct {
        const char *name;
        uint16_t bit;
    } bits[] = {{"qr", 0x8000}, {"aa", 0x0400}, {"tc", 0x0200}, {"rd", 0x0100},
                {"ra", 0x0080}, {"ad", 0x0020}, {"cd", 0x0010}};
    uint16_t flags = 0;
    for (size_t i = 0; i < words->count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(rcodes); k++) {
            flags |= strcmp(words->items[i], rcodes[k]) == 0 ? (uint16_t)k : 0;
        }
        for (size_t k = 0; k < ARRAY_LEN(bits); k++) {
            flags |= strcmp(words->items[i], bits[k].name) == 0 ? bits[k].bit : 0;
        }
    }
    return flags;
}

static void put_line(struct writer *w, char *line, uint16_t counts[4])
{
    struct words words = foreign_reply_split(line);
    const char *marks = "?=!+";
    const char *mark = words.count > 0 ? strchr(marks, words.items[0][0]) : NULL;
    foreign_reply_require(mark != NULL && words.count > 3, line);
    counts[mark - marks]++;
    if (*mark == '?') {
        foreign_reply_put_name(w, words.items[1]);
        writer_u16(w, dns_text_type(words.items[3]));
        writer_u16(w, strcmp(words.items[2], "CH") == 0 ? DNS_CLASS_CH : DNS_CLASS_IN);
    } else {
        foreign_reply_put_record(w, &words);
    }
}

void external_reply_make(struct external_reply *reply, const char *text)
{
    struct writer w = writer_of(reply->wire, sizeof(reply->wire));
    uint16_t counts[4] = {0};
    char *lines = strdup(text), *rest = NULL;
    foreign_reply_require(lines != NULL, "memory");
    char *line = strtok_r(lines, "\n", &rest);
    struct words first = foreign_reply_split(line);
    writer_u16(&w, 0x1234);
    writer_u16(&w, flags_of(&first));
    w.pos = DNS_HEADER_SIZE;
    while ((line = strtok_r(NULL, "\n", &rest))) {
        put_line(&w, line, counts);
    }
    foreign_reply_require(!w.failed, "too long");
    reply->len = w.pos;
    w.pos = 4;
    for (size_t i = 0; i < 4; i++) {
        writer_u16(&w, counts[i]);
    }
    free(lines);
}

struct cache_key others_key(const char *text)
{
    struct cache_key key = {.qclass = DNS_CLASS_IN, .zone_serial = 1};
    char copy[DNAME_TEXT_MAX + 32];
    (void)snprintf(copy, sizeof(copy), "%s", text);
    struct words words = foreign_reply_split(copy);
    foreign_reply_require(words.count >= 2, text);
    key.name = foreign_reply_name_of(words.items[0]);
    key.type = dns_text_type(words.items[1]);
    for (size_t i = 2; i < words.count; i++) {
        key.dnssec_ok |= strcmp(words.items[i], "do") == 0;
        key.checking_disabled |= strcmp(words.items[i], "cd") == 0;
    }
    return key;
}

struct addr external_nameserver(void)
{
    const struct ip ip = {.family_bytes = 4, .bytes = {192, 0, 2, 53}};
    return addr_of_ip(&ip, 53);
}

const char *external_text(const struct cache_key *key, const struct cache_hit *hit,
                          const uint8_t *records, char *out, size_t size)
{
    static uint8_t wire[65535];
    struct writer w = writer_of(wire, sizeof(wire));
    writer_u16(&w, 0);
    writer_u16(&w, (uint16_t)(hit->rcode | (hit->is_authentic ? DNS_FLAG_AD : 0)));
    writer_u16(&w, 1);
    writer_u16(&w, hit->answers);
    writer_u16(&w, hit->authorities);
    writer_u16(&w, 0);
    writer_bytes(&w, key->name.wire, key->name.len);
    writer_u16(&w, key->type);
    writer_u16(&w, key->qclass);
    writer_bytes(&w, records, hit->len);
    return dns_text(wire, w.pos, out, size);
}
