/* Sources of settings, one over the other; and one that becomes unusable. */
#include "skydns/settings/config_layers.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/stub_zones.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { TEXT_MAX = 1024 };

struct fixture {
    struct options flags;
    struct config_layers *layers;
};

static void config_layers_setup(struct fixture *f)
{
    static char args[][40] = {"skydns", "-domain=a.test,b.test", "-nameservers=192.0.2.1",
                              "-stub=z.test=10.0.0.1"};
    char *argv[ARRAY_LEN(args) + 1] = {NULL};
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        argv[i] = args[i];
    }
    assert_int_equal(skydns_options_parse(ARRAY_LEN(args), argv, &f->flags, &err), 0);
    f->flags.config_file = "/etc/settings";
    f->layers = config_layers_new(&f->flags);
}

static void config_layers_teardown(struct fixture *f)
{
    config_layers_free(f->layers);
    stub_zones_unref(f->flags.stubs);
}

UNIT_FIXTURE(struct fixture, config_layers_setup, config_layers_teardown)

/* "a.test. b.test. 3600 192.0.2.1:53 z.test.=10.0.0.1:53" */
static const char *settings_config_layers_settings(const struct fixture *f)
{
    static char out[TEXT_MAX];
    struct options options = config_layers_settings(f->layers);
    CLEANUP_BUF struct buf text = buf_of(OPTION_TEXT_MAX);
    option_list_show(OPTION_DOMAINS, &options, &text);
    buf_printf(&text, " %u ", options.engine.ttl_s);
    option_list_show(OPTION_NAMESERVERS, &options, &text);
    buf_append_str(&text, " ");
    option_text_stubs(&options, &text);
    (void)snprintf(out, sizeof(out), "%s", buf_cstr(&text)); /* fits */
    stub_zones_unref(options.stubs);
    return out;
}

/* ' for "; NULL: there is none. */
static bool settings_config_layers_take(const struct fixture *f, enum config_layer layer,
                                        const char *domain, const char *json)
{
    char text[TEXT_MAX];
    struct dname name = {0};
    if (domain) {
        assert_true(dname_from_text(slice_str(domain), &name));
    }
    (void)snprintf(text, sizeof(text), "%s", json ? json : ""); /* fits */
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return config_layers_take(f->layers, layer, domain ? &name : NULL,
                              json ? slice_str(text) : slice_of(NULL, 0));
}

UNIT_TEST_ON(test_precedence, struct fixture *f)
{
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 3600 192.0.2.1:53 z.test.=10.0.0.1:53");
    assert_true(settings_config_layers_take(
        f, CONFIG_FILE, NULL,
        "{'ttl':2,'nameservers':['192.0.2.2'],'stubs':{'y.test':['10.0.0.2']}}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 2 192.0.2.2:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(settings_config_layers_take(f, CONFIG_WRITERS, "b.test",
                                            "{'nameservers':['192.0.2.4'],'ttl':9}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 2 192.0.2.4:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(
        settings_config_layers_take(f, CONFIG_WRITERS, "a.test", "{'nameservers':['192.0.2.3']}"));
    assert_true(
        settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'stubs':{'z.test':['10.0.0.3']}}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 2 192.0.2.3:53 z.test.=10.0.0.3:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL,
                                            "{'ttl':5,'nameservers':['192.0.2.5']}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 5 192.0.2.5:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'b.test'}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "b.test. 2 192.0.2.4:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(settings_config_layers_take(f, CONFIG_WRITERS, "b.test", "{'keys':['/skydns/x']}"));
    assert_true(settings_config_layers_take(f, CONFIG_FILE, NULL, NULL));
    assert_string_equal(settings_config_layers_settings(f),
                        "b.test. 3600 192.0.2.1:53 z.test.=10.0.0.1:53");
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, NULL));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 3600 192.0.2.3:53 z.test.=10.0.0.1:53");
}

/* Each is told once, and keeps nothing else from changing. */
UNIT_TEST_ON(test_unusable_sources, struct fixture *f)
{
    static const struct {
        enum config_layer layer;
        const char *domain, *good, *bad, *name;
    } rows[] = {
        {CONFIG_FILE, NULL, "{'ttl':2}", "{'ttl':'x'}", "file=/etc/settings "},
        {CONFIG_DOCUMENT, NULL, "{'min_ttl':2}", "{", "key=/skydns/config "},
        {CONFIG_WRITERS, "a.test", "{'nameservers':['192.0.2.9']}", "{'nameservers':['x']}",
         "key=/kube2sky/a.test/config "},
    };
    struct log_capture capture;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(settings_config_layers_take(f, rows[i].layer, rows[i].domain, rows[i].good));
        assert_false(settings_config_layers_take(f, rows[i].layer, rows[i].domain, rows[i].good));
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        log_capture_begin(&capture);
        assert_false(settings_config_layers_take(f, rows[i].layer, rows[i].domain, rows[i].bad));
        assert_false(settings_config_layers_take(f, rows[i].layer, rows[i].domain, rows[i].bad));
        const char *log = log_capture_end(&capture);
        assert_int_equal(log_occurrences(log, "cannot use the configuration"), 1);
        assert_int_equal(log_occurrences(log, rows[i].name), 1);
        assert_string_equal(settings_config_layers_settings(f),
                            "a.test. b.test. 2 192.0.2.9:53 z.test.=10.0.0.1:53");
    }
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'ttl':7}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 7 192.0.2.9:53 z.test.=10.0.0.1:53");
    assert_true(
        settings_config_layers_take(f, CONFIG_FILE, NULL, "{'stubs':{'y.test':['10.0.0.2']}}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 7 192.0.2.9:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
}

/* A source must be usable over those below it, so that it may go at any time. */
UNIT_TEST_ON(test_sources_that_do_not_agree, struct fixture *f)
{
    assert_true(
        settings_config_layers_take(f, CONFIG_FILE, NULL, "{'stubs':{'y.test':['10.0.0.2']}}"));
    assert_false(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'y.test'}"));
    assert_false(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'z.test'}"));
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'c.test'}"));
    assert_false(
        settings_config_layers_take(f, CONFIG_FILE, NULL, "{'stubs':{'c.test':['10.0.0.2']}}"));
    assert_false(
        settings_config_layers_take(f, CONFIG_FILE, NULL, "{'stubs':{'a.test':['10.0.0.2']}}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "c.test. 3600 192.0.2.1:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, NULL));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 3600 192.0.2.1:53 z.test.=10.0.0.1:53 "
                        "y.test.=10.0.0.2:53");
}

/* Another source hides it, but one day it may count. */
/* A setting refused because of another source counts when that source changes. */
UNIT_TEST_ON(test_sources_that_agree_again, struct fixture *f)
{
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'c.test'}"));
    assert_false(settings_config_layers_take(f, CONFIG_FILE, NULL,
                                             "{'stubs':{'c.test':['10.0.0.2']},'ttl':4}"));
    assert_true(config_layers_is_refused(f->layers, CONFIG_FILE));
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, NULL));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 4 192.0.2.1:53 z.test.=10.0.0.1:53 "
                        "c.test.=10.0.0.2:53");
    assert_false(config_layers_is_refused(f->layers, CONFIG_FILE));
    assert_false(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'c.test'}"));
    assert_true(settings_config_layers_take(f, CONFIG_FILE, NULL, "{'ttl':5}"));
    assert_string_equal(settings_config_layers_settings(f),
                        "c.test. 5 192.0.2.1:53 z.test.=10.0.0.1:53");
}

/* A refused document of a domain that is answered no more is no error. */
UNIT_TEST_ON(test_a_refused_document_of_a_former_domain, struct fixture *f)
{
    assert_false(settings_config_layers_take(f, CONFIG_WRITERS, "a.test", "{"));
    assert_true(config_layers_is_refused(f->layers, CONFIG_WRITERS));
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'domain':'b.test'}"));
    assert_false(config_layers_is_refused(f->layers, CONFIG_WRITERS));
}

UNIT_TEST_ON(test_a_hidden_document_must_be_usable, struct fixture *f)
{
    assert_true(
        settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, "{'nameservers':['192.0.2.5']}"));
    assert_false(settings_config_layers_take(f, CONFIG_WRITERS, "a.test", "[]"));
    assert_true(
        settings_config_layers_take(f, CONFIG_WRITERS, "b.test", "{'nameservers':['192.0.2.6']}"));
    assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, NULL));
    assert_string_equal(settings_config_layers_settings(f),
                        "a.test. b.test. 3600 192.0.2.6:53 z.test.=10.0.0.1:53");
}

/* The largest table of stub zones that there is room for. */
UNIT_TEST_ON(test_all_zones_with_all_servers, struct fixture *f)
{
    size_t count;
    CLEANUP_BUF struct buf json = buf_of(1024 * 1024);
    buf_append_str(&json, "{\"stubs\":{\"z.test\":[\"10.0.0.1\"]");
    for (unsigned i = 1; i < ZONE_TABLE_MAX; i++) {
        buf_printf(&json, ",\"zone-%u.of.some.company.example\":[", i);
        for (unsigned k = 0; k < ZONE_SERVERS_MAX; k++) {
            buf_printf(&json, "%s\"[fd00:1234:5678:9abc::%x]:5353\"", k ? "," : "", k);
        }
        buf_append_str(&json, "]");
    }
    buf_append_str(&json, "}}");
    assert_true(config_layers_take(f->layers, CONFIG_DOCUMENT, NULL, buf_slice(&json)));
    struct options options = config_layers_settings(f->layers);
    const struct forward_zone *zones = stub_zones_items(options.stubs, &count);
    assert_int_equal(count, ZONE_TABLE_MAX);
    assert_int_equal(zones[count - 1].server_count, ZONE_SERVERS_MAX);
    stub_zones_unref(options.stubs);
}

/* The largest number of domains is set one after the other. */
UNIT_TEST_ON(test_domains_that_come_and_go, struct fixture *f)
{
    for (unsigned round = 0; round < 3; round++) {
        char json[TEXT_MAX], domain[32], want[32];
        size_t n = (size_t)snprintf(json, sizeof(json), "{'domain':'");
        for (unsigned i = 0; i < ENGINE_ZONES_MAX; i++) {
            n += (size_t)snprintf(json + n, sizeof(json) - n, "d%u-%u.test,", round, i);
        }
        (void)snprintf(json + n, sizeof(json) - n, "'}"); /* fits */
        assert_true(settings_config_layers_take(f, CONFIG_DOCUMENT, NULL, json));
        for (unsigned i = ENGINE_ZONES_MAX; i-- > 0;) {
            (void)snprintf(domain, sizeof(domain), "d%u-%u.test", round, i);
            (void)snprintf(json, sizeof(json), "{'nameservers':['192.0.%u.%u']}", round, i);
            (void)snprintf(want, sizeof(want), " 192.0.%u.%u:53 ", round, i);
            assert_true(settings_config_layers_take(f, CONFIG_WRITERS, domain, json));
            assert_non_null(
                strstr(settings_config_layers_settings(f), want)); /* the first domain's so far */
        }
        assert_false(
            settings_config_layers_take(f, CONFIG_WRITERS, "other.test", "{}")); /* not in force */
    }
}
