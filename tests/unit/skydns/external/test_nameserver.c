/* How nameservers are written, and which of them are the same. */
#include "skydns/external/nameserver.h"
#include "tests/support/unit_test.h"

static struct nameserver external_nameserver_parse(const char *text)
{
    struct nameserver server;
    struct err err;
    assert_that(nameserver_parse(text, &server, &err) >= 0, "%s", err.msg);
    return server;
}

UNIT_TEST(test_texts)
{
    static const struct {
        const char *text, *want, *certificate; /* NULL: no TLS */
    } rows[] = {
        {"192.0.2.1", "192.0.2.1:53", NULL},
        {"192.0.2.1:5353", "192.0.2.1:5353", NULL},
        {"[::1]", "[::1]:53", NULL},
        {"[::1]:54", "[::1]:54", NULL},
        {"[fe80::1%lo]", "[fe80::1%1]:53", NULL},
        {"[fe80::1%1]:54", "[fe80::1%1]:54", NULL},
        {"tcp://192.0.2.1", "tcp://192.0.2.1:53", NULL},
        {"TCP://[::1]:54", "tcp://[::1]:54", NULL},
        {"tls://[fe80::1%lo]#dns.example", "tls://[fe80::1%1]:853#dns.example", "dns.example"},
        {"tls://192.0.2.1", "tls://192.0.2.1:853", "192.0.2.1"},
        {"TLS://192.0.2.1:8853", "tls://192.0.2.1:8853", "192.0.2.1"},
        {"tls://[2001:db8::1]", "tls://[2001:db8::1]:853", "2001:db8::1"},
        {"tls://[2001:db8::1]:54#dns.example", "tls://[2001:db8::1]:54#dns.example", "dns.example"},
        {"tls://192.0.2.1#Dns.Example.", "tls://192.0.2.1:853#dns.example", "dns.example"},
        {"tls://192.0.2.1#192.0.2.7", "tls://192.0.2.1:853#192.0.2.7", "192.0.2.7"},
        {"tls://192.0.2.1#2001:DB8::7", "tls://192.0.2.1:853#2001:db8::7", "2001:db8::7"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[NAMESERVER_TEXT_MAX], name[INET6_ADDRSTRLEN];
        struct nameserver server = external_nameserver_parse(rows[i].text), again;
        assert_string_equal(nameserver_format(&server, text), rows[i].want);
        again = external_nameserver_parse(text);
        assert_true(nameserver_equal(&server, &again));
        assert_int_equal(nameserver_is_tls(&server), rows[i].certificate != NULL);
        if (rows[i].certificate) {
            assert_string_equal(nameserver_certificate_name(&server, name), rows[i].certificate);
        }
    }
}

UNIT_TEST(test_refused)
{
    static const char *const rows[] = {
        "",
        "dns.example",
        "192.0.2.1:0",
        "192.0.2.1:65536",
        "192.0.2.1#dns.example",
        "::1",
        "[fe80::1%absent]:53",
        "tls://[fe80::1%absent]",
        "https://192.0.2.1",
        "tls:192.0.2.1",
        "tls://",
        "tls://#dns.example",
        "tcp://",
        "tcp://192.0.2.1#dns.example",
        "tcp://dns.example",
        "tls://dns.example",
        "tls://192.0.2.1:",
        "tls://192.0.2.1:0",
        "tls://192.0.2.1#",
        "tls://192.0.2.1#.",
        "tls://192.0.2.1#a..b",
        "tls://192.0.2.1#*.example",
        "tls://192.0.2.1#dns.example/",
        "tls://192.0.2.1#\\065.example",
        "tls://192.0.2.1#dns example",
        "tls://192.0.2.1/#dns.example",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct nameserver server;
        struct err err;
        char quoted[64];
        assert_int_equal(nameserver_parse(rows[i], &server, &err), ERR_USAGE);
        (void)snprintf(quoted, sizeof(quoted), "`%s`: expected ", rows[i]); /* fits */
        assert_memory_equal(err.msg, quoted, strlen(quoted));
    }
}

UNIT_TEST(test_equality)
{
    static const char *const rows[] = {
        "192.0.2.1:853",
        "192.0.2.1:854",
        "tcp://192.0.2.1:853",
        "tls://192.0.2.1:853",
        "tls://192.0.2.1:854",
        "tls://192.0.2.1:853#a.example",
        "tls://192.0.2.1:853#b.example",
        "tls://192.0.2.2:853#a.example",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            struct nameserver a = external_nameserver_parse(rows[i]),
                              b = external_nameserver_parse(rows[k]);
            assert_int_equal(nameserver_equal(&a, &b), i == k);
        }
    }
}

/* The longest name there is fits; a longer one is none. */
UNIT_TEST(test_long_names)
{
    enum { SCHEME = sizeof("tls://192.0.2.1#") - 1 };
    char text[SCHEME + NAMESERVER_NAME_MAX + 2] = "tls://192.0.2.1#", again[NAMESERVER_TEXT_MAX];
    struct nameserver server;
    struct err err;
    for (size_t i = 0; i < NAMESERVER_NAME_MAX; i++) {
        text[SCHEME + i] = i % 50 == 49 ? '.' : 'a';
    }
    server = external_nameserver_parse(text);
    assert_int_equal(strlen(server.tls_name), NAMESERVER_NAME_MAX);
    assert_int_equal(strlen(nameserver_format(&server, again)),
                     SCHEME + sizeof(":853") - 1 + NAMESERVER_NAME_MAX);
    text[SCHEME + NAMESERVER_NAME_MAX] = 'a';
    assert_int_equal(nameserver_parse(text, &server, &err), ERR_USAGE);
}

/* Names are kept for good: so there is an end. Those that are known go on. */
UNIT_TEST(test_too_many_names)
{
    char text[64];
    struct nameserver server;
    struct err err;
    int r = 0;
    for (unsigned i = 0; r == 0 && i <= NAMESERVER_NAMES_MAX; i++) {
        (void)snprintf(text, sizeof(text), "tls://192.0.2.1#n%u.example", i); /* fits */
        r = nameserver_parse(text, &server, &err);
    }
    assert_int_equal(r, ERR_USAGE);
    assert_non_null(strstr(err.msg, "at most 16384 different names"));
    (void)external_nameserver_parse("tls://192.0.2.9#n0.example");
    (void)external_nameserver_parse("192.0.2.9");
}
