/* record_json: what SkyDNS accepted and what kube2sky wrote, byte for byte. */
#include "common/base/addr.h"
#include "common/dns/record_json.h"
#include "tests/support/unit_test.h"

struct labelled {
    const char *host;
    const char *label;
};

static int record_json_before_tests(void **state)
{
    record_json_use_xalloc();
    return 0;
}

UNIT_TESTS_ONCE(record_json_before_tests, NULL)

UNIT_TEST(test_labels_of_known_addresses)
{
    static const struct labelled cases[] = {
        {"10.0.0.1", "c88f1059"},   {"10.0.0.10", "21172049"}, {"10.3.0.214", "6ead029a"},
        {"10.3.0.116", "5c82f78b"}, {"11.1.1.1", "2f15de08"},  {"10.0.0.9", "19ccb11"},
        {"10.0.0.26", "734242"},    {"fd00::1", "479bcb2e"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(record_fini) struct record r;
        char label[9];
        r = (struct record){.ttl_s = 0};
        r.host = slice_str(cases[i].host);
        r.priority = 10;
        r.weight = 10;
        r.ttl_s = 30;
        CLEANUP_BUF struct buf json = buf_of(RECORD_JSON_MAX);
        record_to_json(&r, &json);
        assert_string_equal(record_label(buf_slice(&json), label), cases[i].label);
    }
}

UNIT_TEST(test_label_of_old_form_and_of_nothing)
{
    char label[9];
    /* kube2sky 1.9-1.10 wrote no targetstrip. */
    assert_string_equal(
        record_label(slice_str("{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30}"),
                     label),
        "f488b1a2");
    assert_string_equal(record_label(slice_str(""), label), "811c9dc5"); /* the FNV offset basis */
    /* Without leading zeros, as few digits as trying finds. */
    assert_string_equal(record_label(slice_str("v4306"), label), "6f6");
    assert_string_equal(record_label(slice_str("v629"), label), "e35c");
}

UNIT_TEST(test_written_form)
{
    static const struct {
        const char *host;
        uint16_t port;
        const char *want;
    } cases[] = {
        {"10.0.0.1", 0,
         "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"},
        {"kubernetes.default.svc.cluster.local.", 443,
         "{\"host\":\"kubernetes.default.svc.cluster.local.\",\"port\":443,\"priority\":10,"
         "\"weight\":10,\"ttl\":30,\"targetstrip\":0}"},
        {"a\"b\\c\n", 65535,
         "{\"host\":\"a\\\"b\\\\c\\u000a\",\"port\":65535,\"priority\":10,\"weight\":10,"
         "\"ttl\":30,\"targetstrip\":0}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(record_fini) struct record r;
        r = (struct record){.ttl_s = 0};
        r.host = slice_str(cases[i].host);
        r.port = cases[i].port;
        r.priority = 10;
        r.weight = 10;
        r.ttl_s = 30;
        CLEANUP_BUF struct buf json = buf_of(RECORD_JSON_MAX);
        record_to_json(&r, &json);
        assert_string_equal(buf_cstr(&json), cases[i].want);
    }
}

struct accepted {
    const char *json;
    const char *host, *text, *group;
    uint32_t ttl_s;
    uint16_t port, priority, weight, targetstrip;
    bool mail;
    uint8_t family_bytes;
};

UNIT_TEST(test_accepted)
{
    static const struct accepted cases[] = {
        {"{}", "", "", "", 0, 0, 0, 0, 0, false, 0},
        {" { } \n", "", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"host\":\"10.0.0.1\",\"port\":80,\"priority\":1,\"weight\":2,\"text\":\"t\","
         "\"mail\":true,\"ttl\":30,\"targetstrip\":3,\"group\":\"g\"}",
         "10.0.0.1", "t", "g", 30, 80, 1, 2, 3, true, 4},
        {"{\"HOST\":\"fd00::1\",\"Port\":1,\"TTL\":2,\"TargetStrip\":1}", "fd00::1", "", "", 2, 1,
         0, 0, 1, false, 16},
        {"{\"host\":\"::ffff:10.0.0.1\"}", "::ffff:10.0.0.1", "", "", 0, 0, 0, 0, 0, false, 4},
        {"{\"host\":\"10.96.011.012\"}", "10.96.011.012", "", "", 0, 0, 0, 0, 0, false, 4},
        {"{\"host\":\"10.0.0.1.\"}", "10.0.0.1.", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"host\":\" 10.0.0.1\"}", " 10.0.0.1", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"host\":\"a\",\"host\":\"b\"}", "b", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"host\":\"a\",\"HOST\":\"b\"}", "b", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"host\":null,\"port\":null,\"mail\":null}", "", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"other\":{\"x\":[1,2]},\"host\":\"a\"}", "a", "", "", 0, 0, 0, 0, 0, false, 0},
        {"{\"port\":65535,\"weight\":65535,\"priority\":65535}", "", "", "", 0, 65535, 65535, 65535,
         0, false, 0},
        {"{\"ttl\":2147483647}", "", "", "", 2147483647, 0, 0, 0, 0, false, 0},
        {"{\"ttl\":4294967295}", "", "", "", 2147483647, 0, 0, 0, 0, false, 0},
        {"{\"text\":\"\\u00e9 \\\" \"}", "", "\xc3\xa9 \" ", "", 0, 0, 0, 0, 0, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct accepted *want = &cases[i];
        CLEANUP(record_fini) struct record r;
        struct err err = {0};
        assert_that(record_from_json(slice_str(want->json), &r, &err) == 0, "%s: %s", want->json,
                    err.msg);
        assert_true(slice_equal(r.host, slice_str(want->host)));
        assert_true(slice_equal(r.text, slice_str(want->text)));
        assert_true(slice_equal(r.group, slice_str(want->group)));
        assert_int_equal(r.ttl_s, want->ttl_s);
        assert_int_equal(r.port, want->port);
        assert_int_equal(r.priority, want->priority);
        assert_int_equal(r.weight, want->weight);
        assert_int_equal(r.targetstrip, want->targetstrip);
        assert_int_equal(r.mail, want->mail);
        struct ip ip;
        assert_int_equal(ip_parse_sloppy(r.host, &ip) ? ip.family_bytes : 0, want->family_bytes);
    }
}

static void record_json_assert_refused(struct slice json, int code, const char *want)
{
    struct record r = {.ttl_s = 77};
    struct err err = {0};
    assert_int_equal(record_from_json(json, &r, &err), code);
    assert_int_equal(err.code, code);
    assert_that(strstr(err.msg, want), "message `%s` lacks `%s`", err.msg, want);
    assert_int_equal(r.ttl_s, 77); /* untouched */
    assert_null(r.host.ptr);
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"", "not JSON"},
        {"10.0.0.1", "not JSON"},
        {"{\"host\":\"10.0.0.1\"", "not JSON"},
        {"{\"host\":\"10.0.0.1\"} x", "not JSON"},
        {"{'host':'10.0.0.1'}", "not JSON"},
        {"[]", "expected a JSON object"},
        {"{\"host\":10}", "field `host`: `10`: expected a string"},
        {"{\"text\":[\"a\"]}", "field `text`: `[\"a\"]`: expected a string"},
        {"{\"group\":true}", "field `group`: `true`: expected a string"},
        {"{\"port\":\"80\"}", "field `port`: `\"80\"`: expected a whole number from 0 to 65535"},
        {"{\"port\":65536}", "field `port`: `65536`"},
        {"{\"PORT\":-1}", "field `port`: `-1`"},
        {"{\"port\":80.0}", "field `port`: `80.0`"},
        {"{\"port\":99999999999999999999}", "not JSON"},
        {"{\"weight\":65536}", "field `weight`: `65536`"},
        {"{\"weight\":-10}", "field `weight`: `-10`"},
        {"{\"priority\":70000}", "field `priority`: `70000`"},
        {"{\"targetstrip\":-1}", "field `targetstrip`: `-1`"},
        {"{\"ttl\":-1}", "expected a whole number from 0 to 4294967295"},
        {"{\"ttl\":4294967296}", "field `ttl`"},
        {"{\"mail\":1}", "field `mail`: `1`: expected true or false"},
        {"{\"host\":\"a\\u0000b\"}", "not JSON"},
        {"{\"host\":\"\xff\"}", "not JSON"},
        {"{\"host\":\"a\",\"host\":1}", "field `host`: `1`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        record_json_assert_refused(slice_str(cases[i].json), ERR_SYNTAX, cases[i].want);
    }
    static const char with_nul[] = "{\"host\":\"a\0b\"}";
    record_json_assert_refused(slice_of(with_nul, sizeof(with_nul) - 1), ERR_SYNTAX, "not JSON");
    static const char nul_behind[] = "{\"host\":\"a\"}";
    record_json_assert_refused(slice_of(nul_behind, sizeof(nul_behind)), ERR_SYNTAX, "not JSON");
    record_json_assert_refused(slice_of(NULL, 0), ERR_SYNTAX, "not JSON");
}

UNIT_TEST(test_refused_by_size_and_depth)
{
    CLEANUP_FREE char *big = xmalloc(RECORD_JSON_MAX + 1);
    memset(big, ' ', RECORD_JSON_MAX + 1);
    memcpy(big, "{}", 2);
    record_json_assert_refused(slice_of(big, RECORD_JSON_MAX + 1), ERR_TOO_LARGE, "65537 bytes");
    struct record r;
    assert_int_equal(record_from_json(slice_of(big, RECORD_JSON_MAX), &r, NULL), 0);
    record_fini(&r);
    memset(big, '[', RECORD_JSON_MAX);
    record_json_assert_refused(slice_of(big, RECORD_JSON_MAX), ERR_SYNTAX, "not JSON");
}
