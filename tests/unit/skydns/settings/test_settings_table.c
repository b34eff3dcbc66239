/* The settings table: its rows agree with each other, with the defaults of the command line, and
 * with what the document in etcd makes of empty values. */
#include <strings.h>

#include "common/base/flags.h"
#include "skydns/settings/config_doc_internal.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/setting_values_internal.h"
#include "skydns/settings/settings_table.h"
#include "skydns/settings/stub_zones.h"
#include "tests/support/unit_test.h"

static struct options options_of(const char *const *args, int count)
{
    enum { ARGS_MAX = 64 };
    static char strings[ARGS_MAX][64];
    char *argv[ARGS_MAX + 1] = {NULL};
    struct options o;
    struct err err;
    assert_true(count <= ARGS_MAX);
    for (int i = 0; i < count; i++) {
        assert_true(strlen(args[i]) < sizeof(strings[0]));
        memcpy(strings[i], args[i], strlen(args[i]) + 1);
        argv[i] = strings[i];
    }
    assert_that(skydns_options_parse(count, argv, &o, &err) == 0, "%s", err.msg);
    return o;
}

static struct options flags_by_default(void)
{
    static const char *const args[] = {"skydns"};
    return options_of(args, 1);
}

/* Every setting of the document that has a flag is other than by default. */
static struct options flags_all_changed(void)
{
    static const char *const args[] = {
        "skydns",
        "-addr=127.0.0.9:1053",
        "-domain=flag.test",
        "-hostmaster=flag@test",
        "-local=l.flag.test",
        "-nameservers=192.0.2.1",
        "-ndots=5",
        "-no-aaaa=flag.test",
        "-dns64=well-known",
        "-dns64-exclude=2001:db8::/32",
        "-rtimeout=7s",
        "-dnssec=/k/Kflag.test.+013+00001",
        "-scache=7",
        "-rcache=7",
        "-rcache-ttl=7s",
        "-rcache-stale=7s",
        "-snapshot-interval=7s",
        "-snapshot-max=7s",
        "-external-zones=lb.test",
        "-search=corp.test",
        "-visibility=own",
        "-public-namespaces=flag",
        "-visibility-unknown=all",
        "-allow=10.0.0.0/8",
        "-rate=7/9",
        "-rate-namespace=7/9",
        "-http-allow=10.0.0.0/8",
        "-transfer-to=10.0.0.7",
        "-alias=*.a.test=*.b.test",
        "-stub-fallback=a.test=nodata",
        "-schema=kubernetes",
        "-min-ttl=7",
        "-query-log=all",
    };
    struct options o = options_of(args, ARRAY_LEN(args));
    o.engine.ttl_s = o.engine.priority = 7;
    return o;
}

static void assert_row_is_whole(const struct setting *setting)
{
    const char *name = setting->flag ? setting->flag : setting->field;
    bool is_number = setting->kind <= SETTING_CHOICE;
    assert_non_null(name);
    assert_that(!setting->flag == !setting->help,
                "%s: expected help if and only if there is a flag", name);
    assert_that((!setting->parse && !setting->list) == (setting->kind != SETTING_PARSED),
                "%s: expected a parser if and only if it is a parsed text", name);
    assert_that(!setting->field || is_number || setting->show || setting->list,
                "%s: expected how to show it, for the log of changes", name);
    assert_that(!setting->field ||
                    (setting->kind != SETTING_NUMBER && setting->kind != SETTING_DURATION) ||
                    setting->max != 0 || setting->field_max != 0,
                "%s: expected the largest number of the field", name);
    assert_that(!setting->field || is_number || setting->kind == SETTING_PARSED,
                "%s: expected a kind that a document can set", name);
    assert_that(!setting->choices == (setting->kind != SETTING_CHOICE),
                "%s: expected choices if and only if it is one", name);
    assert_that(setting->kind != SETTING_DURATION || setting->unit_ms == 1 ||
                    setting->unit_ms == 1000,
                "%s: expected a unit", name);
    if (is_number) {
        const struct options o = flags_by_default();
        int64_t number = setting_default_number(setting, &o);
        bool has_range = setting->min != 0 || setting->max != 0;
        assert_true(!has_range || setting->kind == SETTING_CHOICE ||
                    setting->kind == SETTING_BOOL ||
                    (number >= setting->min && number <= setting->max));
    }
}

UNIT_TEST(test_rows)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        assert_row_is_whole(&settings[i]);
        for (size_t k = 0; k < i; k++) {
            const struct setting *a = &settings[i], *b = &settings[k];
            assert_false(a->flag && b->flag && strcmp(a->flag, b->flag) == 0);
            assert_false(a->field && b->field && strcasecmp(a->field, b->field) == 0);
            assert_false(a->member_bytes && a->member_at == b->member_at && b->member_bytes);
        }
    }
}

UNIT_TEST(test_defaults_are_those_of_the_table)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    struct options o = flags_by_default();
    for (size_t i = 0; i < count; i++) {
        if (settings[i].kind <= SETTING_CHOICE) {
            assert_int_equal(setting_number(&settings[i], &o),
                             setting_default_number(&settings[i], &o));
        }
    }
}

/* The field with the empty value of its form. */
static void write_empty(const struct setting *setting, struct buf *json)
{
    bool is_number = setting->kind == SETTING_NUMBER || setting->kind == SETTING_DURATION;
    bool is_list = setting->form == SETTING_FORM_NAMESERVERS;
    buf_clear(json);
    buf_printf(json, "{\"%s\":%s}", setting->field, is_number ? "0" : is_list ? "[]" : "\"\"");
}

/* 0 and "" in the document mean the default, whatever the flag said: SkyDNS's rule. */
UNIT_TEST(test_empty_fields)
{
    size_t count, seen = 0;
    const struct setting *settings = settings_table(&count);
    /* whose default of another setting the flags of flags_all_changed() have */
    const char *const kubernetes[] = {"skydns", "-schema=kubernetes"};
    struct options want = options_of(kubernetes, 2);
    CLEANUP_BUF struct buf json = buf_of(256);
    CLEANUP_BUF struct buf was = buf_of(OPTION_TEXT_MAX);
    CLEANUP_BUF struct buf now = buf_of(OPTION_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct setting *setting = &settings[i];
        const bool is_alone = setting->field && strcmp(setting->field, "topology") == 0;
        static const char *const alone[] = {"skydns", "-topology=marked"}; /* not with -dnssec */
        struct options o = is_alone ? options_of(alone, 2) : flags_all_changed();
        struct config_doc_report report;
        struct err err;
        if (!setting->field || setting->keeps_zero || setting->kind == SETTING_BOOL ||
            setting->form == SETTING_FORM_ZONES || setting->form == SETTING_FORM_ALIASES) {
            stub_zones_unref(o.stubs);
            continue;
        }
        buf_clear(&was);
        buf_clear(&now);
        setting_show(setting, &o, &was);
        setting_show(setting, &want, &now);
        assert_string_not_equal(buf_cstr(&was), buf_cstr(&now)); /* flags_all_changed() has it */
        write_empty(setting, &json);
        assert_that(config_doc_apply(buf_slice(&json), &o, &report, &err) >= 0, "%s: %s",
                    buf_cstr(&json), err.msg);
        buf_clear(&was);
        setting_show(setting, &o, &was);
        assert_string_equal(buf_cstr(&was), buf_cstr(&now));
        stub_zones_unref(o.stubs);
        seen++;
    }
    assert_in_range(seen, 20, count);
}

/* Each setting of the document that differs is in the log's lines, and in one of them. */
UNIT_TEST(test_changes)
{
    size_t count, fields = 0;
    const struct setting *settings = settings_table(&count);
    struct options before = flags_by_default(), now = flags_all_changed();
    struct option_changes live, restart;
    now.clients.wants_near = true; /* no flag says so beside -dnssec */
    for (size_t i = 0; i < count; i++) {
        fields += settings[i].field && settings[i].kind != SETTING_BOOL &&
                  settings[i].form != SETTING_FORM_ZONES;
    }
    option_changes_init(&live, false, &before, &now);
    option_changes_init(&restart, true, &before, &now);
    assert_int_equal(live.count + restart.count, fields);
    assert_int_equal(restart.count, 1);
    assert_string_equal(restart.items[0].name, "dns_addr");
    assert_string_equal(buf_cstr(&restart.items[0].text), "127.0.0.1:53 -> 127.0.0.9:1053");
    assert_non_null(strstr(buf_cstr(&live.names), "visibility public_namespaces"));
    option_changes_fini(&live);
    option_changes_fini(&restart);
    assert_false(option_same_upstream(&before, &now));
    assert_true(option_same_upstream(&now, &now));
}
