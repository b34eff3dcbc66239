/* Replies put behind a CNAME: its TTL, names in data, and what cannot be moved. fuzz_relocate
 * checks that names stay what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/answer/relocate.h"
#include "tests/support/skydns/dns_text.h"

static const uint8_t client[] = "\1w\4team\3svc\4test"; /* with the root label */

struct message {
    uint8_t wire[DNS_MESSAGE_MAX];
    struct writer w;
};

static struct message m;
static char text[DNS_TEXT_MAX];

/* The reply to w. A. */
static void begin(uint16_t flags)
{
    static const uint8_t question[] = {0, 1, 0, 0, 0, 0, 0, 0, 1, 'w', 0, 0, 1, 0, 1};
    m.w = writer_of(m.wire, sizeof(m.wire));
    writer_u16(&m.w, 1);
    writer_u16(&m.w, flags);
    writer_bytes(&m.w, question, sizeof(question));
}

/* A record of w., in a section: 0 answer, 1 authority, 2 additional. */
static void add(unsigned section, uint16_t type, uint32_t ttl_s, const void *data, size_t len)
{
    m.wire[7 + 2 * section]++;
    writer_u16(&m.w, 0xc00c);
    writer_u16(&m.w, type);
    writer_u16(&m.w, DNS_CLASS_IN);
    writer_u32(&m.w, ttl_s);
    writer_u16(&m.w, (uint16_t)len);
    writer_bytes(&m.w, data, len);
    assert_false(m.w.failed);
}

static size_t move(void)
{
    return relocate(m.wire, m.w.pos, sizeof(m.wire), slice_of(client, sizeof(client)));
}

static const char *moved(void)
{
    size_t len = move();
    assert_int_equal(len, m.w.pos + RELOCATE_ROOM(sizeof(client)));
    return dns_text(m.wire, len, text, sizeof(text));
}

#define HEAD "qr rd ra\n? w.team.svc.test. IN A\n= w.team.svc.test. "

static void ttls(void **state)
{
    static const uint8_t soa[] = {0, 0, [21] = 60};
    (void)state;
    begin(0x81a0);
    add(0, DNS_TYPE_A, 30, "\1\2\3\4", 4);
    add(0, DNS_TYPE_A, 20, "\1\2\3\5", 4);
    add(2, DNS_TYPE_A, 10, "\1\2\3\6", 4); /* does not count */
    assert_string_equal(moved(), "NOERROR " HEAD "20 CNAME w.\n= w. 30 A 1.2.3.4\n"
                                 "= w. 20 A 1.2.3.5\n+ w. 10 A 1.2.3.6");
    begin(0x8180);
    add(1, DNS_TYPE_SOA, 90, soa, sizeof(soa));
    assert_non_null(strstr(moved(), HEAD "60 CNAME w.\n! w. 90 SOA "));
    begin(0x8180);
    add(1, DNS_TYPE_SOA, 50, soa, sizeof(soa));
    assert_non_null(strstr(moved(), HEAD "50 CNAME w.\n! w. 50 SOA "));
    begin(0x8180);
    assert_string_equal(moved(), "NOERROR " HEAD "0 CNAME w.");
    begin(0x8180);
    add(0, DNS_TYPE_A, 0x80000000, "\1\2\3\4", 4); /* RFC 2181 8: that is 0 */
    assert_non_null(strstr(moved(), HEAD "0 CNAME w."));
    begin(0x8380); /* TC stays */
    assert_non_null(strstr(moved(), "NOERROR qr tc rd ra"));
}

static void names_in_data(void **state)
{
    (void)state;
    begin(0x8180);
    add(0, DNS_TYPE_CNAME, 9, "\1a\xc0\x0c", 4);
    add(0, DNS_TYPE_MX, 9, "\0\5\1b\xc0\x0c", 6);
    add(0, DNS_TYPE_PTR, 9, "\xc0\x1f", 2); /* the CNAME's target */
    add(0, DNS_TYPE_TXT, 9, "\2\xc0\x0c", 3);
    const char *right =
        "NOERROR " HEAD
        "9 CNAME w.\n= w. 9 CNAME a.w.\n= w. 9 MX 5 b.w.\n= w. 9 PTR a.w.\n= w. 9 TXT ";
    assert_memory_equal(moved(), right, strlen(right));
    size_t len = m.w.pos + RELOCATE_ROOM(sizeof(client));
    assert_memory_equal(m.wire + len - 3, "\2\xc0\x0c", 3); /* no pointer */
}

static void not_movable(void **state)
{
    static const struct {
        uint16_t type;
        const char *data;
        size_t len;
    } bad[] = {
        {DNS_TYPE_CNAME, "\xc0\x1f", 2}, /* itself */
        {DNS_TYPE_CNAME, "\xc0\x0d", 2}, /* within a label */
        {DNS_TYPE_CNAME, "\xc0\x10", 2}, /* the question's type */
        {DNS_TYPE_CNAME, "\1a", 2},      /* no end */
        {DNS_TYPE_CNAME, "\x40", 1},     /* no label */
        {DNS_TYPE_SRV, "\0\1\0\2", 4},   /* no name */
        {DNS_TYPE_SOA, "\xc0\x0c", 2},   /* one name */
        {35, "\0\1\0\2\xff", 5},         /* NAPTR: a string beyond the data */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(0x8180);
        add(0, bad[i].type, 9, bad[i].data, bad[i].len);
        assert_int_equal(move(), 0);
    }
    begin(0x8180);
    add(0, DNS_TYPE_A, 9, "\1\2\3\4", 4);
    m.w.pos--;
    assert_int_equal(move(), 0);
    m.w.pos += 2; /* a byte more than the records */
    assert_int_equal(move(), 0);
    m.w.pos--;
    assert_int_equal(relocate(m.wire, m.w.pos, m.w.pos + RELOCATE_ROOM(sizeof(client)) - 1,
                              slice_of(client, sizeof(client))),
                     0);
}

/* Pointers have 14 bits: a name that is just within their reach leaves it. */
static void far_names(void **state)
{
    static const uint8_t padding[16384 - 70];
    (void)state;
    for (unsigned is_far = 0; is_far < 2; is_far++) {
        begin(0x8180);
        add(0, 99, 9, padding, sizeof(padding) - (is_far ? 0 : 60));
        unsigned at = (unsigned)m.w.pos + 12;
        add(0, DNS_TYPE_CNAME, 9, "\1a", 3);
        const uint8_t pointer[] = {(uint8_t)(0xc0 | at >> 8), (uint8_t)at};
        add(0, DNS_TYPE_CNAME, 9, pointer, sizeof(pointer));
        assert_true(at < 16384);
        assert_int_equal(move() == 0, is_far);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ttls),
        cmocka_unit_test(names_in_data),
        cmocka_unit_test(not_movable),
        cmocka_unit_test(far_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
