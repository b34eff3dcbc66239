/* Flags about external names, -alias, -no-aaaa, -dns64, -dns64-exclude and -nsid: what they take,
 * as the log shows it, and what each wrong value is told. */
#include "skydns/settings/config_doc_internal.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"
#include "tests/support/unit_test.h"

#define ALIAS_FORM \
    "expected FROM=TO, *.FROM=TO or *.FROM=*.TO, like app.example.com=web.prod.svc.cluster.local"
#define PREFIX_FORM                                                                        \
    "expected well-known, or a prefix like 2001:db8:64::/96, of 32, 40, 48, 56, 64 or 96 " \
    "bits, with zeros behind it and in bits 64 to 71"

/* One label of 63 letters. */
#define LABEL "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg."
#define LONG                                                                                  \
    LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL LABEL \
        LABEL LABEL LABEL

enum { ARGS_MAX = 4, TEXT_MAX = 4096 };

/* Parses up to three flags; the strings live until the next call: options borrow them. */
static int option_names_parse(const char *const flags[ARGS_MAX], struct options *ret_options,
                              struct err *err)
{
    static char strings[ARGS_MAX][TEXT_MAX] = {"skydns"};
    char *argv[ARGS_MAX + 1] = {strings[0]};
    int argc = 1;
    for (size_t i = 0; i + 1 < ARGS_MAX && flags[i]; i++, argc++) {
        assert_true(strlen(flags[i]) < TEXT_MAX);
        memcpy(strings[argc], flags[i], strlen(flags[i]) + 1);
        argv[argc] = strings[argc];
    }
    return skydns_options_parse(argc, argv, ret_options, err);
}

typedef void (*text_fn)(const struct options *o, struct buf *out);

static void show_no_aaaa(const struct options *o, struct buf *out)
{
    option_list_show(OPTION_NO_AAAA, o, out);
}

static void show_dns64_excluded(const struct options *o, struct buf *out)
{
    option_list_show(OPTION_DNS64_EXCLUDED, o, out);
}

/* Flags, and the setting's text; or the whole message, which begins with `flag `. */
struct row {
    const char *flags[ARGS_MAX];
    const char *want;
};

static void option_names_check(const struct row *rows, size_t count, text_fn show)
{
    for (size_t i = 0; i < count; i++) {
        struct options o;
        struct err err = {.code = 0};
        CLEANUP_BUF struct buf text = buf_of(TEXT_MAX);
        if (option_names_parse(rows[i].flags, &o, &err) == 0) {
            show(&o, &text);
        } else {
            assert_int_equal(err.code, ERR_USAGE);
            buf_append_str(&text, err.msg);
        }
        assert_that(strcmp(buf_cstr(&text), rows[i].want) == 0, "%s: `%s`, expected `%s`",
                    rows[i].flags[0], buf_cstr(&text), rows[i].want);
    }
}

UNIT_TEST(test_alias)
{
    static const struct row rows[] = {
        {{"-alias=App.example.com=Web.prod.svc.cluster.local."},
         "app.example.com.=web.prod.svc.cluster.local."},
        {{"-alias=*.a.test=b.test", "-alias=a.test=b.test", "-alias=*.c.test=*.d.test"},
         "*.a.test.=b.test. a.test.=b.test. *.c.test.=*.d.test."},
        {{"-alias=a.test"}, "flag -alias: `a.test`: " ALIAS_FORM},
        {{"-alias==b.test"}, "flag -alias: `=b.test`: " ALIAS_FORM},
        {{"-alias=a.test="}, "flag -alias: `a.test=`: " ALIAS_FORM},
        {{"-alias=a.test=."}, "flag -alias: `a.test=.`: " ALIAS_FORM},
        {{"-alias=.=a.test"}, "flag -alias: `.=a.test`: " ALIAS_FORM},
        {{"-alias=*.=a.test"}, "flag -alias: `*.=a.test`: " ALIAS_FORM},
        {{"-alias=a..b=c.test"}, "flag -alias: `a..b=c.test`: " ALIAS_FORM},
        {{"-alias=a.test=b..c"}, "flag -alias: `a.test=b..c`: " ALIAS_FORM},
        {{"-alias=a.test=*.b.test"}, "flag -alias: `a.test=*.b.test`: " ALIAS_FORM},
        {{"-alias=x.*.test=b.test"}, "flag -alias: `x.*.test=b.test`: " ALIAS_FORM},
        {{"-alias=a.test=b.test=c.test"}, "flag -alias: `a.test=b.test=c.test`: " ALIAS_FORM},
        {{"-alias=a.test=b.test", "-alias=A.test.=c.test"},
         "flag -alias: `A.test.=c.test`: expected each FROM once"},
        {{"-alias=*.a.test=b.test", "-alias=*.a.test=*.c.test"},
         "flag -alias: `*.a.test=*.c.test`: expected each FROM once"},
        {{"-domain=a.test", "-alias=web.A.test=b.test"},
         "flag -alias: `web.a.test.`: expected a name in none of the domains answered here"},
        {{"-alias=a.test=b.test", "-domain=x.test,a.test"},
         "flag -alias: `a.test.`: expected a name in none of the domains answered here"},
    };
    option_names_check(rows, ARRAY_LEN(rows), option_text_aliases);
}

/* More than a name can have; one more than there may be. */
UNIT_TEST(test_alias_limits)
{
    struct options o;
    struct err err;
    char text[40];
    assert_int_equal(
        option_names_parse((const char *[ARGS_MAX]){"-alias=" LONG "=b.test"}, &o, &err),
        ERR_USAGE);
    assert_int_equal(option_names_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    for (unsigned i = 0; i < ENGINE_ALIASES_MAX; i++) {
        (void)snprintf(text, sizeof(text), "a%u.test=b.test", i);
        assert_int_equal(option_alias(&o, text, &err), 0);
    }
    assert_int_equal(option_alias(&o, "x.test=b.test", &err), ERR_USAGE);
    assert_string_equal(err.msg, "`x.test=b.test`: expected at most 64 aliases");
    assert_int_equal(o.engine.alias_count, ENGINE_ALIASES_MAX);
}

UNIT_TEST(test_no_aaaa)
{
    static const struct row rows[] = {
        {{"-no-aaaa="}, ""},
        {{"-no-aaaa=all"}, "all"},
        {{"-no-aaaa=a.test,all"}, "all"},
        {{"-no-aaaa=A.test,b.test.,a.test,"}, "a.test.,b.test."},
        {{"-no-aaaa=a..test"},
         "flag -no-aaaa: `a..test`: expected all, or a zone like example.com"},
        {{"-no-aaaa=a.test,."}, "flag -no-aaaa: `.`: expected all, or a zone like example.com"},
        {{"-no-aaaa=All!"}, "flag -no-aaaa: `All!`: expected all, or a zone like example.com"},
    };
    option_names_check(rows, ARRAY_LEN(rows), show_no_aaaa);
}

UNIT_TEST(test_no_aaaa_limits)
{
    struct options o;
    struct err err;
    char list[(ENGINE_NO_AAAA_MAX + 1) * 16];
    size_t len = 0;
    assert_int_equal(option_names_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    for (unsigned i = 0; i < ENGINE_NO_AAAA_MAX; i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "z%u.test,", i); /* fits */
    }
    assert_int_equal(option_no_aaaa(&o, list, &err), 0);
    assert_int_equal(o.engine.no_aaaa_count, ENGINE_NO_AAAA_MAX);
    memcpy(list + len, "z.test", sizeof("z.test"));
    assert_int_equal(option_no_aaaa(&o, list, &err), ERR_USAGE);
    assert_string_equal(err.msg, "`z.test`: expected at most 64 zones, or all");
}

UNIT_TEST(test_dns64)
{
    static const struct row rows[] = {
        {{NULL}, ""},
        {{"-dns64="}, ""},
        {{"-dns64=well-known"}, "64:ff9b::/96"},
        {{"-dns64=64:ff9b::/96"}, "64:ff9b::/96"},
        {{"-dns64=2001:DB8::/32"}, "2001:db8::/32"},
        {{"-dns64=2001:db8:100::/40"}, "2001:db8:100::/40"},
        {{"-dns64=2001:db8:122::/48"}, "2001:db8:122::/48"},
        {{"-dns64=2001:db8:122:300::/56"}, "2001:db8:122:300::/56"},
        {{"-dns64=2001:db8:122:344::/64"}, "2001:db8:122:344::/64"},
        {{"-dns64=on"}, "flag -dns64: `on`: " PREFIX_FORM},
        {{"-dns64=2001:db8::"}, "flag -dns64: `2001:db8::`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/33"}, "flag -dns64: `2001:db8::/33`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/128"}, "flag -dns64: `2001:db8::/128`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/129"}, "flag -dns64: `2001:db8::/129`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/"}, "flag -dns64: `2001:db8::/`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/96x"}, "flag -dns64: `2001:db8::/96x`: " PREFIX_FORM},
        {{"-dns64=2001:db8::/0096"}, "flag -dns64: `2001:db8::/0096`: " PREFIX_FORM},
        {{"-dns64=2001:db8::1/96"}, "flag -dns64: `2001:db8::1/96`: " PREFIX_FORM},
        {{"-dns64=2001:db8:0:0:100::/96"}, "flag -dns64: `2001:db8:0:0:100::/96`: " PREFIX_FORM},
        {{"-dns64=192.0.2.0/32"}, "flag -dns64: `192.0.2.0/32`: " PREFIX_FORM},
        {{"-dns64=1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/96"},
         "flag -dns64: `1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/96`: " PREFIX_FORM},
    };
    option_names_check(rows, ARRAY_LEN(rows), option_text_dns64);
}

UNIT_TEST(test_dns64_exclude)
{
    static const struct row rows[] = {
        {{NULL}, "::ffff:0.0.0.0/96"},
        {{"-dns64-exclude="}, ""},
        {{"-dns64-exclude=2001:db8::/32,fd00::1,"}, "2001:db8::/32,fd00::1/128"},
        {{"-dns64-exclude=fd00::/8,10.0.0.0/8"},
         "flag -dns64-exclude: `10.0.0.0/8`: expected an IPv6 network like 2001:db8::/32"},
        {{"-dns64-exclude=fd00::1/8"},
         "flag -dns64-exclude: `fd00::1/8`: expected an IPv6 network like 2001:db8::/32"},
    };
    option_names_check(rows, ARRAY_LEN(rows), show_dns64_excluded);
}

UNIT_TEST(test_dns64_exclude_limits)
{
    struct options o;
    struct err err;
    char list[(ENGINE_EXCLUDED_MAX + 1) * 16];
    size_t len = 0;
    assert_int_equal(option_names_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    for (unsigned i = 0; i < ENGINE_EXCLUDED_MAX; i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "fd%02x::/16,", i); /* fits */
    }
    assert_int_equal(option_list_read(OPTION_DNS64_EXCLUDED, &o, list, &err), 0);
    assert_int_equal(o.engine.dns64.excluded_count, ENGINE_EXCLUDED_MAX);
    memcpy(list + len, "::/0", sizeof("::/0"));
    assert_int_equal(option_list_read(OPTION_DNS64_EXCLUDED, &o, list, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, ": expected at most 16 networks"));
}

UNIT_TEST(test_nsid)
{
    struct options o;
    struct err err;
    char text[ENGINE_NSID_MAX + 2];
    memset(text, 'n', sizeof(text));
    text[ENGINE_NSID_MAX] = '\0';
    assert_int_equal(option_names_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    assert_int_equal(o.engine.nsid_len, 0);
    assert_int_equal(option_nsid(&o, text, &err), 0);
    assert_int_equal(o.engine.nsid_len, ENGINE_NSID_MAX);
    assert_memory_equal(o.engine.nsid, text, ENGINE_NSID_MAX);
    text[ENGINE_NSID_MAX] = 'n';
    text[ENGINE_NSID_MAX + 1] = '\0';
    assert_int_equal(option_nsid(&o, text, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, ": expected a text of at most 128 bytes"));
    assert_int_equal(option_nsid(&o, "", &err), 0);
    assert_int_equal(o.engine.nsid_len, 0);
}

/* The same in the document: a field replaces the flags, "" and {} are the default, and a wrong
 * value leaves everything as it is. */
UNIT_TEST(test_in_the_document)
{
    static const struct {
        const char *json;
        const char *want; /* aliases, zones, prefix and excluded networks; or the error */
    } rows[] = {
        {"{}", "f.test.=t.test. / f.test. / 64:ff9b::/96 / fd00::/8"},
        {"{\"aliases\":{\"*.A.test\":\"*.b.test\",\"c.test\":\"d.test\"},\"no_aaaa\":[\"all\"],"
         "\"dns64\":\"2001:db8::/96\",\"dns64_exclude\":[\"2001:db8:1::/48\"]}",
         "*.a.test.=*.b.test. c.test.=d.test. / all / 2001:db8::/96 / 2001:db8:1::/48"},
        {"{\"aliases\":{},\"no_aaaa\":[],\"dns64\":\"\",\"dns64_exclude\":[]}",
         " /  /  / ::ffff:0.0.0.0/96"},
        {"{\"ttl\":5,\"aliases\":{\"a.test\":7}}", "field `aliases`"},
        {"{\"ttl\":5,\"aliases\":[\"a.test=b.test\"]}", "field `aliases`"},
        {"{\"ttl\":5,\"aliases\":{\"a.test\":\"*.b.test\"}}", ALIAS_FORM},
        {"{\"ttl\":5,\"domain\":\"a.test\",\"aliases\":{\"x.a.test\":\"b.test\"}}",
         "`x.a.test.`: expected a name in none of the domains"},
        {"{\"ttl\":5,\"domain\":\"f.test\"}", "`f.test.`: expected a name in none of the domains"},
        {"{\"ttl\":5,\"no_aaaa\":[\"a..b\"]}", "`a..b`: expected all, or a zone"},
        {"{\"ttl\":5,\"dns64\":\"10.0.0.0/8\"}", "`10.0.0.0/8`: " PREFIX_FORM},
        {"{\"ttl\":5,\"dns64_exclude\":[\"10.0.0.0/8\"]}", "expected an IPv6 network"},
    };
    static const text_fn shown[] = {option_text_aliases, show_no_aaaa, option_text_dns64,
                                    show_dns64_excluded};
    static const char *const flags[ARGS_MAX] = {"-alias=f.test=t.test", "-no-aaaa=f.test",
                                                "-dns64=well-known"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o;
        struct config_doc_report report;
        struct err err = {.code = 0};
        CLEANUP_BUF struct buf text = buf_of(TEXT_MAX);
        assert_int_equal(option_names_parse(flags, &o, &err), 0);
        assert_int_equal(option_list_read(OPTION_DNS64_EXCLUDED, &o, "fd00::/8", &err), 0);
        const uint32_t ttl_s = o.engine.ttl_s;
        const int r = config_doc_apply(slice_str(rows[i].json), &o, &report, &err);
        for (size_t k = 0; k < ARRAY_LEN(shown); k++) {
            buf_append_str(&text, k ? " / " : "");
            shown[k](&o, &text);
        }
        if (r == 0) {
            assert_string_equal(buf_cstr(&text), rows[i].want);
        } else if (!strstr(err.msg, rows[i].want)) {
            fail_msg("%s: %s", rows[i].json, err.msg);
        } else {
            assert_string_equal(buf_cstr(&text), rows[0].want);
            assert_int_equal(o.engine.ttl_s, ttl_s);
        }
    }
}
