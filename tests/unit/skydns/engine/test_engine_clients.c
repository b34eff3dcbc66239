/* Checks the engine's work for the client before and after answers: cookies, which change no other
 * byte of a response, and clients that -allow refuses. */
#include "common/dns/dns.h"
#include "skydns/engine/cookie.h"
#include "skydns/wire/question.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/owned.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

static const struct fixture_key keys[] = {
    {"local/cluster/default/web", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/default/_http/_tcp/a", "{'host':'web.default.cluster.local','port':80}"},
    {"local/cluster/far", "{'host':'www.example.com'}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'web.default.cluster.local'}"},
};

static const uint8_t sent[COOKIE_CLIENT_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct fixture *engine_clients_bed(void)
{
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    const struct ip ip = {4, {10, 1, 2, 3}};
    f->local = addr_of_ip(&ip, 53);
    f->config.cookies.count = 1;
    memset(f->config.cookies.items[0], 7, COOKIE_SECRET_SIZE);
    f->config.has_nameservers = true;
    f->config.allows_all = true;
    return f;
}

UNIT_FIXTURE_MADE(engine_clients_bed(), fixture_free)

/* Adds an option to the query's OPT record, which ends it. Before: as the first one. */
static void add_option(struct fixture *f, size_t opt_at, const void *option, size_t len,
                       bool is_first)
{
    uint8_t *length = f->query + opt_at + 9;
    size_t at = is_first ? opt_at + EDNS_OPT_SIZE : f->query_len;
    memmove(f->query + at + len, f->query + at, f->query_len - at);
    memcpy(f->query + at, option, len);
    f->query_len += len;
    size_t options_len = f->query_len - opt_at - EDNS_OPT_SIZE;
    length[0] = (uint8_t)(options_len >> 8);
    length[1] = (uint8_t)options_len;
}

static void add_cookie(struct fixture *f, size_t opt_at, const uint8_t *cookie, size_t len,
                       bool is_first)
{
    uint8_t option[EDNS_OPTION_HEAD + 64] = {0, EDNS_OPTION_COOKIE, 0, (uint8_t)len};
    memcpy(option + EDNS_OPTION_HEAD, cookie, len);
    add_option(f, opt_at, option, EDNS_OPTION_HEAD + len, is_first);
}

static size_t engine_clients_find_opt(const struct fixture *f)
{
    struct question q;
    enum question_verdict verdict = question_parse(f->query, f->query_len, &q);
    (void)verdict; /* of whatever version */
    return DNS_HEADER_SIZE + (size_t)q.name.len + 4;
}

/* Returns the rcode of a response without records: header, question, OPT. */
static unsigned engine_clients_rcode_of(const struct fixture *f, size_t opt_at)
{
    return (unsigned)f->reply[opt_at + 5] << 4 | (f->reply[3] & DNS_MASK_RCODE);
}

/* Asserts that the response has the same bytes, with the cookie as the last option. */
static void assert_same_but_cookie(const struct fixture *f, const uint8_t *plain, size_t plain_len)
{
    uint8_t without[4096];
    assert_int_equal(f->reply_len, plain_len + COOKIE_OPTION_SIZE);
    const uint8_t *option = f->reply + plain_len;
    assert_memory_equal(option, "\x00\x0a\x00\x18", EDNS_OPTION_HEAD);
    assert_memory_equal(option + EDNS_OPTION_HEAD, sent, sizeof(sent));
    struct cookie cookie = {.len = COOKIE_SIZE};
    memcpy(cookie.bytes, option + EDNS_OPTION_HEAD, COOKIE_SIZE);
    const struct ip ip = addr_ip(&f->local);
    assert_int_equal(cookie_check(&f->config.cookies, &cookie, &ip, FIXTURE_NOW_S), COOKIE_VALID);
    /* The one byte that differs is the length of the record. */
    memcpy(without, f->reply, plain_len);
    size_t differences = 0;
    for (size_t i = 0; i < plain_len; i++) {
        if (without[i] != plain[i]) {
            assert_int_equal(without[i], plain[i] + COOKIE_OPTION_SIZE);
            differences++;
        }
    }
    assert_int_equal(differences, 1);
}

static const char *const questions[] = {
    "web.default.cluster.local. A edns=1232",
    "WEB.default.cluster.local. A edns=1232 nord",
    "web.default.cluster.local. TXT edns=512 do",
    "_http._tcp.default.cluster.local. SRV edns=4096",
    "none.default.cluster.local. A edns=1232",
    "none.default.cluster.local. A edns=1232 subnet",
    "web.default.cluster.local. A edns=1232 stub subnet",
    "1.0.0.10.in-addr.arpa. PTR edns=1232",
    "version.bind. TXT ch edns=1232",
    "web.default.cluster.local. TYPE252 edns=1232",
    "default.cluster.local. ANY edns=1232 tcp",
    "web.default.cluster.local. A edns=1232 tcp",
};

UNIT_TEST_ON(changes_nothing_else, struct fixture *f)
{
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        for (unsigned way = 0; way < 4; way++) {
            uint8_t plain[4096];
            enum engine_transport transport = fixture_query(f, questions[i]);
            (void)fixture_answer(f, transport);
            assert_int_equal(f->verdict, ENGINE_REPLY);
            size_t plain_len = f->reply_len;
            memcpy(plain, f->reply, plain_len);
            size_t opt_at = engine_clients_find_opt(f);
            add_cookie(f, opt_at, sent, sizeof(sent), way & 1);
            if (way & 2) { /* looked up ahead */
                const struct slice both[] = {slice_of(f->query, f->query_len),
                                             slice_of(f->query, f->query_len)};
                engine_look_ahead(f->engine, f->store, both, 2);
                f->ahead = 2;
            }
            (void)fixture_answer(f, transport);
            f->ahead = 0;
            assert_same_but_cookie(f, plain, plain_len);
        }
    }
}

/* Messages of odd shape: other records around, a long one. */
UNIT_TEST_ON(odd_shapes, struct fixture *f)
{
    uint8_t plain[4096], padding[700] = {0, 12, (700 - 4) >> 8, (700 - 4) & 0xff};
    (void)fixture_ask(f, questions[0]);
    size_t plain_len = f->reply_len;
    memcpy(plain, f->reply, plain_len);
    add_cookie(f, engine_clients_find_opt(f), sent, sizeof(sent), false);
    add_option(f, engine_clients_find_opt(f), padding, sizeof(padding), false);
    (void)fixture_answer(f, ENGINE_UDP);
    assert_same_but_cookie(f, plain, plain_len);

    (void)fixture_query(f, questions[0]);
    add_cookie(f, engine_clients_find_opt(f), sent, sizeof(sent), false);
    static const uint8_t other[] = {0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 2, 1, 'x'};
    memcpy(f->query + f->query_len, other, sizeof(other));
    f->query_len += sizeof(other);
    f->query[11] = 2;
    (void)fixture_answer(f, ENGINE_UDP);
    assert_same_but_cookie(f, plain, plain_len);
}

/* Errors have cookies, too; a cookie that makes no sense is FORMERR. */
UNIT_TEST_ON(errors, struct fixture *f)
{
    (void)fixture_query(f, questions[0]);
    size_t opt_at = engine_clients_find_opt(f);
    f->query[opt_at + 6] = 1; /* the version */
    add_cookie(f, opt_at, sent, sizeof(sent), false);
    (void)fixture_answer(f, ENGINE_UDP);
    assert_int_equal(engine_clients_rcode_of(f, opt_at), DNS_RCODE_BADVERS);
    assert_int_equal(f->reply_len, opt_at + EDNS_OPT_SIZE + COOKIE_OPTION_SIZE);

    static const size_t bad[] = {0, 1, 7, 9, 15, 41};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        static const uint8_t bytes[64];
        (void)fixture_query(f, questions[0]);
        add_cookie(f, opt_at, bytes, bad[i], false);
        assert_true(strncmp(fixture_answer(f, ENGINE_UDP), "FORMERR", 7) == 0);
    }

    (void)fixture_query(f, questions[0]);
    add_cookie(f, opt_at, sent, sizeof(sent), false);
    struct engine_query query = {.wire = f->query,
                                 .len = f->query_len,
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S};
    assert_true(engine_servfail(f->engine, &query, EDNS_ERROR_NETWORK, &f->response));
    assert_int_equal(f->response.len,
                     opt_at + EDNS_OPT_SIZE + EDNS_ERROR_SIZE + COOKIE_OPTION_SIZE);
    assert_true(engine_refused(f->engine, &query, &f->response));
    assert_int_equal(f->response.len,
                     opt_at + EDNS_OPT_SIZE + EDNS_ERROR_SIZE + COOKIE_OPTION_SIZE);
}

/* A deferred query is a copy that keeps its cookie, and the late reply has one. */
UNIT_TEST_ON(late_replies, struct fixture *f)
{
    uint8_t plain[4096];
    union owned_query_room room;
    uint8_t upstream[512];
    (void)fixture_query(f, "www.example.com. A edns=1232");
    size_t opt_at = engine_clients_find_opt(f);
    memcpy(upstream, f->query, opt_at);
    memcpy(upstream + 2, "\x81\x80\0\1\0\1\0\0\0\0", 10);
    memcpy(upstream + opt_at, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1", 16);
    struct engine_query query = {.wire = f->query,
                                 .len = f->query_len,
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S};
    struct response without = {.bytes = plain};
    assert_true(engine_forwarded_bytes(f->engine, &query, upstream, opt_at + 16, &without));
    add_cookie(f, opt_at, sent, sizeof(sent), false);
    assert_string_equal(fixture_answer(f, ENGINE_UDP), "forward");
    query.len = f->query_len;
    assert_true(own_query(f->engine, &query, &room));
    assert_true(engine_forwarded_bytes(f->engine, &query, upstream, opt_at + 16, &f->response));
    f->reply_len = f->response.len;
    assert_same_but_cookie(f, plain, without.len);
}

/* RFC 7873 5.4. */
UNIT_TEST_ON(asks_for_a_cookie_alone, struct fixture *f)
{
    static const uint8_t alone[] = {0x12, 0x34, 1,  0, 0,    0, 0, 0, 0, 0, 0, 1,
                                    0,    0,    41, 4, 0xd0, 0, 0, 0, 0, 0, 0};
    uint8_t both[COOKIE_SIZE];
    for (unsigned i = 0; i < 3; i++) {
        memcpy(f->query, alone, sizeof(alone));
        f->query_len = sizeof(alone);
        add_cookie(f, DNS_HEADER_SIZE, i == 0 ? sent : both, i == 0 ? sizeof(sent) : sizeof(both),
                   false);
        (void)fixture_answer(f, i == 1 ? ENGINE_TCP : ENGINE_UDP);
        assert_int_equal(engine_clients_rcode_of(f, DNS_HEADER_SIZE),
                         i < 2 ? 0 : DNS_RCODE_BADCOOKIE);
        assert_int_equal(f->reply_len, sizeof(alone) + COOKIE_OPTION_SIZE);
        memcpy(both, f->reply + sizeof(alone) + EDNS_OPTION_HEAD, COOKIE_SIZE);
        both[COOKIE_SIZE - 1] ^= (uint8_t)(i > 0);
    }
    f->config.cookies.count = 0;
    assert_true(strncmp(fixture_answer(f, ENGINE_UDP), "FORMERR", 7) == 0);
}

/* Header, the longest name, and the cookie fit 512 bytes whatever the answer is. */
UNIT_TEST_ON(fits, struct fixture *f)
{
    CLEANUP_BUF struct buf question = buf_of(600);
    for (unsigned i = 0; i < 119; i++) {
        buf_append_str(&question, "a.");
    }
    buf_append_str(&question, "cluster.local. A edns=512");
    (void)fixture_query(f, buf_cstr(&question));
    add_cookie(f, engine_clients_find_opt(f), sent, sizeof(sent), false);
    (void)fixture_answer(f, ENGINE_UDP);
    assert_int_equal(f->verdict, ENGINE_REPLY);
    assert_in_range(f->reply_len, 1, 512);
    assert_memory_equal(f->reply + f->reply_len - COOKIE_SIZE, sent, sizeof(sent));
}

UNIT_TEST_ON(no_secrets_no_cookies, struct fixture *f)
{
    uint8_t plain[4096];
    f->config.cookies.count = 0;
    (void)fixture_ask(f, questions[0]);
    size_t plain_len = f->reply_len;
    memcpy(plain, f->reply, plain_len);
    add_cookie(f, engine_clients_find_opt(f), sent, sizeof(sent), false);
    (void)fixture_answer(f, ENGINE_UDP);
    assert_int_equal(f->reply_len, plain_len);
    assert_memory_equal(f->reply, plain, plain_len);
}

/* ---- Beyond the rate ---- */

UNIT_TEST_ON(limited, struct fixture *f)
{
    enum fixture_len { CLIENT = 8, BOTH = 24 };
    (void)fixture_query(f, "web.default.cluster.local. A edns=1232");
    size_t opt_at = engine_clients_find_opt(f);
    struct engine_query query = {.wire = f->query,
                                 .len = f->query_len,
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S};
    assert_true(engine_limited(f->engine, &query, COOKIE_ALONE, &f->response));
    assert_int_equal(engine_check_cookie(f->engine, &query), COOKIE_ALONE);
    assert_int_equal(f->response.len, opt_at + EDNS_OPT_SIZE);
    /* QR, TC, RD; RA; one question; OPT. */
    assert_memory_equal(f->reply, "\x12\x34\x83\x80\0\1\0\0\0\0\0\1", DNS_HEADER_SIZE);
    assert_memory_equal(f->reply + DNS_HEADER_SIZE, f->query + DNS_HEADER_SIZE,
                        opt_at - DNS_HEADER_SIZE);

    uint8_t wrong[BOTH] = {1, 2, 3, 4, 5, 6, 7, 8, 1};
    add_cookie(f, opt_at, wrong, sizeof(wrong), false);
    query.len = f->query_len;
    assert_int_equal(engine_check_cookie(f->engine, &query), COOKIE_WRONG);
    assert_true(engine_limited(f->engine, &query, COOKIE_WRONG, &f->response));
    assert_int_equal(f->response.len, opt_at + EDNS_OPT_SIZE + COOKIE_OPTION_SIZE);
    assert_int_equal(engine_clients_rcode_of(f, opt_at), DNS_RCODE_BADCOOKIE);

    /* With the one it got, the client is known. */
    memcpy(f->query + opt_at + EDNS_OPT_SIZE + EDNS_OPTION_HEAD,
           f->reply + f->response.len - COOKIE_SIZE, COOKIE_SIZE);
    assert_int_equal(engine_check_cookie(f->engine, &query), COOKIE_VALID);
    query.len = DNS_HEADER_SIZE;
    assert_false(engine_limited(f->engine, &query, COOKIE_ALONE, &f->response));
}

/* ---- Who may ask ---- */

UNIT_TEST_ON(admits, struct fixture *f)
{
    static const struct {
        const char *client;
        bool is_admitted;
    } cases[] = {
        {"10.1.2.3", true},        {"10.2.0.1", false},  {"192.0.2.1", true},
        {"10.1.255.255", true},    {"192.0.2.2", false}, {"fd00:1::5", true},
        {"::ffff:10.1.9.9", true}, {"fd00:2::5", false}, {"::ffff:10.2.0.1", false},
        {"10.1.0.0", true},
    };
    static const char *const networks[] = {"10.1.0.0/16", "192.0.2.1", "fd00:1::/32"};
    struct err err;
    f->config.settings.is_restricted = true;
    for (size_t i = 0; i < ARRAY_LEN(networks); i++) {
        assert_int_equal(
            network_parse(slice_str(networks[i]),
                          &f->config.settings.admitted[f->config.settings.admitted_count++], &err),
            0);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(questions); i++) {
        const char *question = questions[i / ARRAY_LEN(cases)];
        bool is_admitted = cases[i % ARRAY_LEN(cases)].is_admitted;
        struct ip ip = ip_from(cases[i % ARRAY_LEN(cases)].client);
        f->local = addr_of_ip(&ip, 53);
        const char *text = fixture_ask(f, question);
        assert_int_equal(f->deferral.is_barred, !is_admitted);
        if (!is_admitted) {
            assert_true(strncmp(text, "REFUSED", 7) == 0);
            assert_memory_equal(f->reply + f->reply_len - EDNS_ERROR_SIZE, "\0\x0f\0\2\0\x12",
                                EDNS_ERROR_SIZE);
            assert_int_equal(f->reply_len,
                             engine_clients_find_opt(f) + EDNS_OPT_SIZE + EDNS_ERROR_SIZE);
        }
    }
    /* Without EDNS there is no reason; with a cookie, a cookie; without sense, nothing. */
    struct ip ip = ip_from("10.2.0.1");
    f->local = addr_of_ip(&ip, 53);
    (void)fixture_ask(f, "web.default.cluster.local. A");
    assert_int_equal(f->reply_len, f->query_len);
    (void)fixture_query(f, questions[0]);
    size_t opt_at = engine_clients_find_opt(f);
    add_cookie(f, opt_at, sent, sizeof(sent), false);
    (void)fixture_answer(f, ENGINE_UDP);
    assert_int_equal(f->reply_len, opt_at + EDNS_OPT_SIZE + EDNS_ERROR_SIZE + COOKIE_OPTION_SIZE);
    f->query_len--;
    assert_string_equal(fixture_answer(f, ENGINE_UDP), "drop");
    /* A shorter list: what was remembered is not used. */
    assert_true(ip_parse(slice_str("fd00:1::5"), &ip));
    f->local = addr_of_ip(&ip, 53);
    (void)fixture_ask(f, questions[0]);
    assert_false(f->deferral.is_barred);
    f->config.settings.admitted_count = 0;
    (void)fixture_ask(f, questions[0]);
    assert_true(f->deferral.is_barred);
}
