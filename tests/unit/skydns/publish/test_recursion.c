/* Checks which clients' questions about external names are forwarded. */
#include "skydns/publish/recursion.h"
#include "tests/support/unit_test.h"

static struct addr recursion_client_of(const char *ip)
{
    char text[ADDR_TEXT_MAX];
    struct addr addr;
    struct err err;
    (void)snprintf(text, sizeof(text), strchr(ip, ':') ? "[%s]:1000" : "%s:1000", ip);
    assert_int_equal(addr_parse(text, &addr, &err), 0);
    return addr;
}

/* No interface has an address in 240.0.0.0/4, or in the other ranges refused here. */
UNIT_TEST(test_clients)
{
    static const struct {
        const char *list, *client;
        bool want;
    } rows[] = {
        {"", "127.0.0.1", true},
        {"", "127.255.0.1", true},
        {"", "::1", true},
        {"", "169.254.20.10", true},
        {"", "fe80::1", true},
        {"", "10.255.255.255", true},
        {"", "9.255.255.255", false},
        {"", "172.15.255.255", false},
        {"", "172.16.0.0", true},
        {"", "172.31.255.255", true},
        {"", "172.32.0.0", false},
        {"", "192.168.1.1", true},
        {"", "192.169.0.0", false},
        {"", "100.63.255.255", false},
        {"", "100.64.0.1", true},
        {"", "100.127.255.255", true},
        {"", "100.128.0.0", false},
        {"", "fd00::1", true},
        {"", "fe00::1", false},
        {"", "240.0.0.1", false},
        {"", "2001:db8::1", false},
        {"", "::ffff:10.0.0.1", true},
        {"", "::ffff:240.0.0.1", false},
        {"192.0.2.0/25,2001:db8::/33", "192.0.2.127", true},
        {"192.0.2.0/25,2001:db8::/33", "192.0.2.128", false},
        {"192.0.2.0/25,2001:db8::/33", "2001:db8:7fff::1", true},
        {"192.0.2.0/25,2001:db8::/33", "2001:db8:8000::1", false},
        {"192.0.2.0/25,2001:db8::/33", "127.0.0.1", false},
        {"192.0.2.77/25", "192.0.2.1", true}, /* host bits are ignored */
        {"192.0.2.1,", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"0.0.0.0/0", "192.0.2.1", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"all", "192.0.2.1", true},
        {"all", "2001:db8::1", true},
        {"none", "127.0.0.1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct recursion recursion;
        struct err err = {0};
        struct addr client = recursion_client_of(rows[i].client);
        assert_int_equal(recursion_init(&recursion, rows[i].list, &err), 0);
        assert_that(recursion_allows(&recursion, &client, 1) == rows[i].want,
                    "`%s`, client %s: not %d", rows[i].list, rows[i].client, rows[i].want);
    }
}

UNIT_TEST(test_refused_lists)
{
    static const char *const rows[] = {
        "10",         "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/0008",
        "fd00::/129", "10.0.0.0/-1", "x",         "10.0.0.0/8 ", "everybody",
        "/8",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct recursion recursion;
        struct err err = {0};
        assert_that(recursion_init(&recursion, rows[i], &err) != 0, "`%s` was accepted", rows[i]);
        assert_non_null(strstr(err.msg, rows[i]));
    }
}

UNIT_TEST(test_as_many_as_fit)
{
    char list[(RECURSION_NETWORKS_MAX + 1) * 10 + 1] = "";
    struct recursion recursion;
    struct err err = {0};
    for (size_t i = 0; i < RECURSION_NETWORKS_MAX; i++) {
        memcpy(list + i * 10, "192.0.2.1,", 11);
    }
    assert_int_equal(recursion_init(&recursion, list, &err), 0);
    memcpy(list + RECURSION_NETWORKS_MAX * 10, "192.0.2.1,", 11);
    assert_int_equal(recursion_init(&recursion, list, &err), ERR_USAGE);
}

/* An interface may appear after the start; interfaces are reread, but not on every refused
 * question. */
UNIT_TEST(test_interfaces_are_read_again)
{
    struct recursion recursion;
    struct addr loopback = recursion_client_of("127.0.0.1");
    struct err err;
    assert_int_equal(recursion_init(&recursion, "", &err), 0);
    recursion.count = 0; /* as if there were no interfaces */
    recursion.read_ms = 1;
    assert_false(recursion_allows(&recursion, &loopback, 60000));
    assert_true(recursion_allows(&recursion, &loopback, 60001));
}
