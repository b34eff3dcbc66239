/* The most asked names: in order, whatever the case, and in a table that is full. */
#include "skydns/pages/top_names_internal.h"

#include "common/dns/dns.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static void pages_top_names_add(struct top_names *top, const char *text, uint16_t type, int times)
{
    struct dname name = dname_from(text);
    for (int i = 0; i < times; i++) {
        top_names_add(top, &name, type);
    }
}

static void top_names_expect(const struct top_names *top, const char *begin)
{
    CLEANUP_BUF struct buf out = buf_of(64 * 1024);
    top_names_write(top, &out);
    const char *text = buf_cstr(&out) + strlen("\"top\":");
    assert_that(strncmp(text, begin, strlen(begin)) == 0, "%s", text);
}

UNIT_TEST(test_in_order)
{
    static struct top_names top;
    top = (struct top_names){0};
    top_names_expect(&top, "[]");
    pages_top_names_add(&top, "a.test.", DNS_TYPE_A, 1);
    pages_top_names_add(&top, "b.test.", DNS_TYPE_AAAA, 3);
    pages_top_names_add(&top, "B.Test.", DNS_TYPE_AAAA, 1);
    pages_top_names_add(&top, "b.test.", DNS_TYPE_A, 2);
    top_names_expect(&top, "[{\"name\":\"b.test.\",\"type\":\"AAAA\",\"count\":4},"
                           "{\"name\":\"b.test.\",\"type\":\"A\",\"count\":2},"
                           "{\"name\":\"a.test.\",\"type\":\"A\",\"count\":1}]");
}

/* Names that are asked once do not push out one that is asked often. */
UNIT_TEST(test_many_names)
{
    static struct top_names top;
    char name[32];
    top = (struct top_names){0};
    for (int i = 0; i < 10 * TOP_NAMES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "once%d.test.", i);
        pages_top_names_add(&top, name, DNS_TYPE_A, 1);
        pages_top_names_add(&top, "often.test.", DNS_TYPE_A, i % 4 == 0);
    }
    assert_int_equal(top.count, TOP_NAMES_MAX);
    top_names_expect(&top, "[{\"name\":\"often.test.\",\"type\":\"A\",\"count\":320}");
}
