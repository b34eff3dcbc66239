/* -dnstap: where messages go, and what the errors say. */
#include "skydns/dnstap/dnstap.h"
#include "tests/support/unit_test.h"

UNIT_TEST(reads)
{
    static const char *const texts[] = {"unix:/run/dnstap.sock", "tcp://127.0.0.1:6000",
                                        "tcp://[::1]:65535", ""};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct dnstap_target target;
        struct err err;
        char text[DNSTAP_TARGET_TEXT_MAX];
        assert_int_equal(dnstap_target_parse(texts[i], &target, &err), 0);
        assert_int_equal(target.is_set, *texts[i] != '\0');
        assert_string_equal(dnstap_target_format(&target, text), texts[i]);
    }
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"/run/dnstap.sock", "`/run/dnstap.sock`: expected unix:PATH or tcp://IP:port"},
        {"unix:", "`unix:`: expected the absolute path of a socket, like unix:/run/dnstap.sock"},
        {"unix:x", "`unix:x`: expected the absolute path of a socket, like unix:/run/dnstap.sock"},
        {"unix:/x/",
         "`unix:/x/`: expected the absolute path of a socket, like unix:/run/dnstap.sock"},
        {"tcp://127.0.0.1",
         "`tcp://127.0.0.1`: expected tcp://IP:port, like tcp://127.0.0.1:6000, port 1-65535"},
        {"tcp://localhost:1",
         "`tcp://localhost:1`: expected tcp://IP:port, like tcp://127.0.0.1:6000, port 1-65535"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dnstap_target target = {.is_set = true};
        struct err err;
        assert_int_equal(dnstap_target_parse(cases[i].text, &target, &err), ERR_USAGE);
        assert_string_equal(err.msg, cases[i].expected);
        assert_true(target.is_set); /* untouched */
    }
}

UNIT_TEST(has_the_kernels_limit)
{
    for (int len = 107; len <= 108; len++) {
        struct dnstap_target target;
        struct err err;
        char text[128];
        (void)snprintf(text, sizeof(text), "unix:/%0*d", len - 1, 0);
        assert_int_equal(dnstap_target_parse(text, &target, &err), len == 107 ? 0 : ERR_USAGE);
    }
}
