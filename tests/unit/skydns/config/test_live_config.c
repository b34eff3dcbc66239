/* The configuration in force: precedence of flags, document and resolv.conf, when it is published,
 * who is notified, and what stays in force when a source is unusable. With a real etcd for reading
 * the document at startup. */
#include <sys/stat.h>
#include <unistd.h>

#include "common/etcd/etcd.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"
#include "skydns/config/live_config.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/config_documents.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { PATH_MAX_LEN = 128, TEXT_MAX = 512 };

struct fixture {
    struct ev_loop *loop;
    struct options flags;
    struct publisher *publisher;
    char folder[PATH_MAX_LEN / 2];
    char resolv_conf[PATH_MAX_LEN]; /* in the folder */
    struct live_config *live;
    unsigned changes; /* calls of `changed`, and the arguments of the last one */
    struct options before, now;
};

static void live_config_on_changed(void *data, const struct options *before,
                                   const struct options *now)
{
    struct fixture *f = data;
    f->changes++;
    f->before = *before;
    f->now = *now;
}

static void live_config_parse_flags(struct fixture *f, bool has_nameservers)
{
    static char program[] = "skydns", domain[] = "-domain=flag.test",
                addr[] = "-addr=127.0.0.1:1053",
                live_config_nameservers[] = "-nameservers=192.0.2.1:53";
    char *argv[] = {program, domain, addr, live_config_nameservers, NULL};
    struct err err;
    assert_int_equal(skydns_options_parse(has_nameservers ? 4 : 3, argv, &f->flags, &err), 0);
}

static const char *incomplete_domain = ""; /* as the records' side says */

static bool live_config_is_incomplete(void *data, const struct dname *domain)
{
    char text[DNAME_TEXT_MAX];
    assert_non_null(data);
    return strcmp(dname_to_text(domain, text), incomplete_domain) == 0;
}

static void new_live(struct fixture *f, bool has_nameservers)
{
    live_config_parse_flags(f, has_nameservers);
    const struct live_config_config config = {.loop = f->loop,
                                              .flags = &f->flags,
                                              .publisher = f->publisher,
                                              .resolv_conf = f->resolv_conf,
                                              .is_incomplete = live_config_is_incomplete,
                                              .changed = live_config_on_changed,
                                              .data = f};
    f->live = live_config_new(&config);
}

static void config_live_config_begin(struct fixture *f)
{
    struct err err;
    assert_that(live_config_begin(f->live, &err) == 0, "%s", err.msg);
}

static void live_config_setup(struct fixture *f)
{
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/live_config.XXXXXX"); /* fits */
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->resolv_conf, sizeof(f->resolv_conf), "%s/resolv.conf", f->folder); /* fits */
    f->loop = ev_loop_new(0);
    f->publisher = publisher_new();
}

static void live_config_teardown(struct fixture *f)
{
    live_config_free(f->live);
    publisher_free(f->publisher);
    ev_loop_destroy(f->loop);
    (void)remove(f->resolv_conf); /* a file, a folder, or missing */
    assert_int_equal(rmdir(f->folder), 0);
}

UNIT_FIXTURE(struct fixture, live_config_setup, live_config_teardown)

/* Atomically, as programs that write it do. */
static void write_resolv_conf(const struct fixture *f, const char *text)
{
    replace_file_from(f->resolv_conf, text);
}

/* JSON with ' for "; NULL: the document was deleted. */
static void config_live_config_take(struct fixture *f, const char *json)
{
    char text[TEXT_MAX];
    if (!json) {
        live_config_take(f->live, slice_of(NULL, 0));
        return;
    }
    assert_in_range(snprintf(text, sizeof(text), "%s", json), 0, sizeof(text) - 1);
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    live_config_take(f->live, slice_str(text));
}

static const struct options *in_force(const struct fixture *f)
{
    return live_config_options(f->live);
}

static const struct engine_config *live_config_published(const struct fixture *f)
{
    return publisher_newest_config(f->publisher);
}

/* The nameservers in force, each followed by a space. */
static const char *live_config_nameservers(const struct options *options)
{
    static char out[TEXT_MAX];
    char text[ADDR_TEXT_MAX];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < options->nameserver_count; i++) {
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s ",
                                 addr_format(&options->nameservers[i].address, text));
    }
    return out;
}

static const char *live_config_domain_of(const struct dname *name)
{
    static char text[DNAME_TEXT_MAX];
    return dname_to_text(name, text);
}

/* ---- The document ---- */

/* Asked at each publication, of the domains in it. */
UNIT_TEST_ON(test_incomplete_domains, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    assert_false(live_config_published(f)->zones[0].is_incomplete);
    incomplete_domain = "flag.test.";
    assert_false(live_config_published(f)->zones[0].is_incomplete);
    live_config_republish(f->live);
    assert_true(live_config_published(f)->zones[0].is_incomplete);
    incomplete_domain = "b.test.";
    config_live_config_take(f, "{'domain':'a.test,b.test'}");
    for (size_t i = 0; i < 2; i++) {
        const struct engine_zone *zone = &live_config_published(f)->zones[i];
        assert_int_equal(zone->is_incomplete,
                         strcmp(live_config_domain_of(&zone->domain), incomplete_domain) == 0);
    }
    assert_int_equal(live_config_published(f)->zone_count, 2);
    incomplete_domain = "";
}

UNIT_TEST_ON(test_flags_alone, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    assert_string_equal(live_config_domain_of(&in_force(f)->domains[0]), "flag.test.");
    assert_string_equal(live_config_domain_of(&live_config_published(f)->zones[0].domain),
                        "flag.test.");
    assert_true(live_config_published(f)->has_nameservers);
    assert_int_equal(f->changes, 0); /* no change at runtime */
}

/* Each field takes effect, is logged by name, and goes with the document. */
UNIT_TEST_ON(test_fields, struct fixture *f)
{
    static const struct {
        const char *json, *word;
    } rows[] = {
        {"{'domain':'doc.test'}", "domain"},
        {"{'domain':'flag.test,doc.test'}", "domain"},
        {"{'hostmaster':'a@doc.test'}", "hostmaster"},
        {"{'local':'me.flag.test'}", "local"},
        {"{'round_robin':false}", "round_robin"},
        {"{'no_rec':true}", "no_rec"},
        {"{'ndot':4}", "ndot"},
        {"{'priority':11}", "priority"},
        {"{'ttl':31}", "ttl"},
        {"{'min_ttl':32}", "min_ttl"},
        {"{'nameservers':['192.0.2.9:53']}", "nameservers"},
        {"{'ns_rotate':false}", "ns_rotate"},
        {"{'read_timeout':3000000000}", "read_timeout"},
        {"{'rcache':5}", "rcache"},
        {"{'rcache_ttl':60}", "rcache_ttl"},
        {"{'rcache_stale':60}", "rcache_stale"},
        {"{'snapshot_interval':30}", "snapshot_interval"},
        {"{'snapshot_max':3600}", "snapshot_max"},
        {"{'stubzones':true}", "stubzones"},
        {"{'stubs':{'acme.local':['10.0.0.1']}}", "stubs"},
        {"{'dns_addr':'127.0.0.2:1053'}", "dns_addr"},
        {"{'systemd':true}", "systemd"},
    };
    struct log_capture capture;
    new_live(f, true);
    config_live_config_begin(f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        log_capture_begin(&capture);
        config_live_config_take(f, rows[i].json);
        const char *text = log_capture_end(&capture);
        char fields[64];
        (void)snprintf(fields, sizeof(fields), " settings=%s %s=", rows[i].word, rows[i].word);
        assert_that(log_occurrences(text, fields) == 1 && f->changes == 2 * i + 1,
                    "%s: %u changes, log: %s", rows[i].json, f->changes, text);
        config_live_config_take(f, NULL);
        assert_int_equal(f->changes, 2 * i + 2);
    }
}

UNIT_TEST_ON(test_what_is_published, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    config_live_config_take(
        f, "{'domain':'doc.test','ttl':31,'min_ttl':32,'priority':11,'ndot':4,'no_rec':true,"
           "'nameservers':['192.0.2.9:53']}");
    assert_int_equal(f->changes, 1);
    assert_string_equal(live_config_domain_of(&f->before.domains[0]), "flag.test.");
    assert_string_equal(live_config_domain_of(&f->now.domains[0]), "doc.test.");
    assert_string_equal(live_config_nameservers(&f->before), "192.0.2.1:53 ");
    assert_string_equal(live_config_nameservers(&f->now), "192.0.2.9:53 ");
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.9:53 ");
    assert_int_equal(live_config_published(f)->zone_count, 1);
    assert_string_equal(live_config_domain_of(&live_config_published(f)->zones[0].domain),
                        "doc.test.");
    assert_int_equal(live_config_published(f)->settings.ttl_s, 31);
    assert_int_equal(live_config_published(f)->settings.min_ttl_s, 32);
    assert_int_equal(live_config_published(f)->settings.priority, 11);
    assert_int_equal(live_config_published(f)->settings.ndots, 4);
    assert_true(live_config_published(f)->settings.no_rec);

    /* A later document replaces the earlier one: fields it leaves out revert to the flags. */
    config_live_config_take(f, "{'ttl':33}");
    assert_string_equal(live_config_domain_of(&live_config_published(f)->zones[0].domain),
                        "flag.test.");
    assert_int_equal(live_config_published(f)->settings.ttl_s, 33);
    assert_false(live_config_published(f)->settings.no_rec);
    config_live_config_take(f, NULL);
    assert_int_equal(live_config_published(f)->settings.ttl_s, 3600);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.1:53 ");
}

UNIT_TEST_ON(test_the_same_again, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    config_live_config_take(f, NULL);
    assert_int_equal(f->changes, 0);
    config_live_config_take(f, "{'ttl':31}");
    uint64_t serial = live_config_published(f)->serial;
    config_live_config_take(f, "{'ttl':31}");
    assert_int_equal(f->changes, 1);
    assert_int_equal(live_config_published(f)->serial, serial);
    config_live_config_take(f, "");   /* an empty document, unlike a missing one, is unusable */
    config_live_config_take(f, NULL); /* so that this is a change */
    assert_int_equal(f->changes, 2);
    assert_int_equal(live_config_published(f)->settings.ttl_s, 3600);
}

UNIT_TEST_ON(test_unusable_documents, struct fixture *f)
{
    static const char *const documents[] = {"", "{'ttl':", "[]", "{'ttl':32,'priority':'x'}"};
    struct log_capture capture;
    new_live(f, true);
    config_live_config_begin(f);
    config_live_config_take(f, "{'ttl':31}");
    uint64_t serial = live_config_published(f)->serial;
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        log_capture_begin(&capture);
        config_live_config_take(f, documents[i]);
        assert_int_equal(log_occurrences(log_capture_end(&capture), "/skydns/config"), 1);
        assert_int_equal(f->changes, 1);
        assert_int_equal(live_config_published(f)->serial, serial);
        assert_int_equal(in_force(f)->engine.ttl_s, 31);
    }
    config_live_config_take(f, "{'ttl':32}");
    assert_int_equal(in_force(f)->engine.ttl_s, 32);
}

/* The other fields take effect, and the log names the ignored one. */
UNIT_TEST_ON(test_ignored_fields, struct fixture *f)
{
    struct log_capture capture;
    new_live(f, true);
    config_live_config_begin(f);
    log_capture_begin(&capture);
    config_live_config_take(f, "{'ttl':31,'nosuch':1}");
    assert_int_equal(log_occurrences(log_capture_end(&capture), "nosuch"), 1);
    assert_int_equal(in_force(f)->engine.ttl_s, 31);
}

/* A document that is too long is rejected, not truncated, whatever its rest. */
UNIT_TEST_ON(test_too_long_document, struct fixture *f)
{
    enum { SIZE = CONFIG_DOCUMENT_MAX + 1 };
    CLEANUP_FREE char *json = malloc(SIZE);
    assert_non_null(json);
    memset(json, ' ', SIZE);
    memcpy(json, "{\"ttl\":31}", 10);
    new_live(f, true);
    config_live_config_begin(f);
    live_config_take(f->live, slice_of(json, SIZE));
    assert_int_equal(f->changes, 0);
    assert_int_equal(in_force(f)->engine.ttl_s, 3600);
    live_config_take(f->live, slice_of(json, 1000));
    assert_int_equal(in_force(f)->engine.ttl_s, 31);
}

/* Each reload reports the settings that need a restart again. */
UNIT_TEST_ON(test_what_waits_for_a_restart, struct fixture *f)
{
    struct log_capture capture;
    new_live(f, true);
    config_live_config_begin(f);
    config_live_config_take(f, "{'dns_addr':'127.0.0.2:1053'}");
    log_capture_begin(&capture);
    live_config_reload(f->live);
    assert_int_equal(log_occurrences(log_capture_end(&capture),
                                     " settings=dns_addr "
                                     "dns_addr=\"127.0.0.1:1053 -> 127.0.0.2:1053\"\n"),
                     1);
    config_live_config_take(f, "{'dns_addr':'http://127.0.0.1:1080,127.0.0.1:1053'}");
    log_capture_begin(&capture);
    live_config_reload(f->live);
    assert_int_equal(
        log_occurrences(log_capture_end(&capture),
                        "dns_addr=\"127.0.0.1:1053 -> 127.0.0.1:1053 http://127.0.0.1:1080\"\n"),
        1);
    config_live_config_take(f, "{'dns_addr':'127.0.0.1:1053'}");
    log_capture_begin(&capture);
    live_config_reload(f->live);
    assert_int_equal(log_occurrences(log_capture_end(&capture), "dns_addr"), 0);
}

/* Every setting, with its value before and now. */
UNIT_TEST_ON(test_values_of_a_change, struct fixture *f)
{
    struct log_capture capture;
    new_live(f, true);
    config_live_config_begin(f);
    log_capture_begin(&capture);
    config_live_config_take(
        f, "{'domain':'a.test,b.test','hostmaster':'me@a.test','local':'x.a.test','no_rec':true,"
           "'round_robin':false,'ndot':3,'priority':7,'ttl':31,'min_ttl':9,'ns_rotate':false,"
           "'nameservers':['192.0.2.9:53','[2001:db8::9]:54'],'read_timeout':1500000000}");
    static const char *const wants[] = {
        " configuration changed settings=\"domain hostmaster local nameservers ns_rotate no_rec "
        "ndot "
        "read_timeout round_robin ttl min_ttl priority\" ",
        " domain=\"flag.test. -> a.test. b.test.\" ",
        " hostmaster=\"hostmaster.skydns.local. -> me.a.test.\" ",
        " local=\" -> x.a.test.\" ",
        " round_robin=\"true -> false\" ",
        " no_rec=\"false -> true\" ",
        " ndot=\"2 -> 3\" ",
        " priority=\"10 -> 7\"\n",
        " ttl=\"3600 -> 31\" ",
        " min_ttl=\"60 -> 9\" ",
        " nameservers=\"192.0.2.1:53 -> 192.0.2.9:53 [2001:db8::9]:54\" ",
        " ns_rotate=\"true -> false\" ",
        " read_timeout=\"2s -> 1s500ms\" ",
    };
    const char *text = log_capture_end(&capture);
    for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
        assert_that(log_occurrences(text, wants[i]) == 1, "`%s` is not once in: %s", wants[i],
                    text);
    }
}

/* ---- Other domains ---- */

/* Returns the zone that this name is in. */
static const struct forward_zone *live_config_zone_of(const struct fixture *f, const char *text)
{
    struct dname name = dname_from(text);
    return zone_table_find(live_config_published(f)->zones_of_others, &name);
}

static const char *first_server(const struct forward_zone *zone)
{
    static char text[ADDR_TEXT_MAX];
    return zone->server_count ? addr_format(&zone->servers[0].address, text) : "none";
}

/* The general nameservers are the root's; only what changed gets another serial. */
UNIT_TEST_ON(test_zones_are_published, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    uint32_t root = live_config_zone_of(f, "x.acme.local")->serial;
    assert_string_equal(first_server(live_config_zone_of(f, "x.acme.local")), "192.0.2.1:53");
    assert_false(zone_is_stub(live_config_zone_of(f, "x.acme.local")));
    config_live_config_take(f, "{'stubs':{'acme.local':['10.0.0.1'],'b.test':['10.0.0.2']}}");
    uint32_t acme = live_config_zone_of(f, "x.acme.local")->serial,
             b = live_config_zone_of(f, "b.test")->serial;
    assert_string_equal(first_server(live_config_zone_of(f, "x.acme.local")), "10.0.0.1:53");
    assert_true(acme != root && b != root && b != acme);
    assert_int_equal(live_config_zone_of(f, "test")->serial, root);
    config_live_config_take(f, "{'stubs':{'acme.local':['10.0.0.3'],'b.test':['10.0.0.2']}}");
    assert_string_equal(first_server(live_config_zone_of(f, "x.acme.local")), "10.0.0.3:53");
    assert_true(live_config_zone_of(f, "x.acme.local")->serial > b);
    assert_int_equal(live_config_zone_of(f, "b.test")->serial, b);
    config_live_config_take(f, "{'nameservers':['192.0.2.9']}");
    assert_true(live_config_zone_of(f, "x.acme.local")->serial != root);
    assert_false(zone_is_stub(live_config_zone_of(f, "x.acme.local")));
}

/* Nothing that was kept counts after SIGHUP. */
UNIT_TEST_ON(test_a_reload_renews_all_zones, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    config_live_config_take(f, "{'stubs':{'acme.local':['10.0.0.1']}}");
    uint32_t root = live_config_zone_of(f, "test")->serial,
             acme = live_config_zone_of(f, "acme.local")->serial;
    live_config_republish(f->live);
    assert_int_equal(live_config_zone_of(f, "test")->serial, root);
    live_config_reload(f->live);
    assert_true(live_config_zone_of(f, "test")->serial > acme);
    assert_true(live_config_zone_of(f, "acme.local")->serial > acme);
    assert_true(live_config_zone_of(f, "acme.local")->serial !=
                live_config_zone_of(f, "test")->serial);
}

/* Zone by zone, the document before flags before keys. */
UNIT_TEST_ON(test_zones_of_keys, struct fixture *f)
{
    const struct forward_zone plain = {.origin = ZONE_FROM_KEYS};
    struct forward_zone keys[] = {plain, plain};
    assert_true(dname_from_text(slice_str("acme.local"), &keys[0].name));
    assert_true(dname_from_text(slice_str("b.test"), &keys[1].name));
    new_live(f, true);
    config_live_config_begin(f);
    live_config_take_stubs(f->live, keys, 2);
    uint32_t b = live_config_zone_of(f, "b.test")->serial;
    assert_string_equal(first_server(live_config_zone_of(f, "acme.local")), "none");
    config_live_config_take(f, "{'stubs':{'acme.local':['10.0.0.1']}}");
    assert_string_equal(first_server(live_config_zone_of(f, "acme.local")), "10.0.0.1:53");
    assert_int_equal(live_config_zone_of(f, "b.test")->serial, b);
    config_live_config_take(f, NULL);
    assert_string_equal(first_server(live_config_zone_of(f, "acme.local")), "none");
    live_config_take_stubs(f->live, keys, 1);
    assert_false(zone_is_stub(live_config_zone_of(f, "b.test")));
    live_config_take_stubs(f->live, NULL, 0);
    assert_false(zone_is_stub(live_config_zone_of(f, "acme.local")));
}

UNIT_TEST_ON(test_too_many_zones, struct fixture *f)
{
    struct log_capture capture;
    struct forward_zone *keys = calloc(ZONE_TABLE_MAX, sizeof(*keys));
    assert_non_null(keys);
    for (unsigned i = 0; i < ZONE_TABLE_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "z%u.test", i); /* fits */
        assert_true(dname_from_text(slice_str(text), &keys[i].name));
    }
    new_live(f, true);
    config_live_config_begin(f);
    log_capture_begin(&capture);
    live_config_take_stubs(f->live, keys, ZONE_TABLE_MAX);
    config_live_config_take(f, "{'stubs':{'z1.test':['10.0.0.1']}}"); /* one of them */
    assert_int_equal(log_occurrences(log_capture_end(&capture), "more stub zones"), 0);
    log_capture_begin(&capture);
    config_live_config_take(f, "{'stubs':{'acme.local':['10.0.0.1']}}");
    live_config_republish(f->live);
    assert_int_equal(log_occurrences(log_capture_end(&capture), "more stub zones"), 1);
    assert_string_equal(first_server(live_config_zone_of(f, "acme.local")), "10.0.0.1:53");
    assert_false(zone_is_stub(live_config_zone_of(f, "z1023.test")));
    free(keys);
}

UNIT_TEST_ON(test_the_cache_is_published, struct fixture *f)
{
    new_live(f, true);
    config_live_config_begin(f);
    struct cache *first = live_config_published(f)->cache;
    assert_int_equal(cache_figures(first).entries_max, 10000);
    assert_int_equal(live_config_published(f)->cache_limits.ttl_max_s, 3600);
    assert_int_equal(live_config_published(f)->cache_limits.stale_ms, 24 * 3600 * 1000);
    config_live_config_take(f, "{'rcache_ttl':60,'rcache_stale':30,'ttl':7}");
    assert_ptr_equal(live_config_published(f)->cache, first);
    assert_int_equal(live_config_published(f)->cache_limits.ttl_max_s, 60);
    assert_int_equal(live_config_published(f)->cache_limits.stale_ms, 30000);
    config_live_config_take(f, "{'rcache':20}");
    assert_int_equal(cache_figures(live_config_published(f)->cache).entries_max, 20);
    config_live_config_take(f, "{'rcache':0}");
    assert_null(live_config_published(f)->cache);
    config_live_config_take(f, NULL);
    assert_int_equal(cache_figures(live_config_published(f)->cache).entries_max, 10000);
}

UNIT_TEST_ON(test_who_may_ask_is_published, struct fixture *f)
{
    static const struct {
        const char *list;
        bool allows_all;
        size_t count;
    } rows[] = {{"all", true, 2}, {"none", false, 0}, {"10.0.0.0/8,0.0.0.0/0", false, 2}};
    new_live(f, true);
    config_live_config_begin(f);
    assert_false(live_config_published(f)->allows_all);
    assert_true(live_config_published(f)->allowed_count >= 9); /* the private ranges */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;
        assert_int_equal(recursion_init(&f->flags.recursion, rows[i].list, &err), 0);
        live_config_reload(f->live);
        assert_int_equal(live_config_published(f)->allows_all, rows[i].allows_all);
        assert_int_equal(live_config_published(f)->allowed_count, rows[i].count);
    }
}

/* ---- Clients ---- */

static void live_config_retire(void *data, void *block, void (*fn)(void *block))
{
    fn(block);
}

/* Nothing unless it is wanted; then, what is not known yet identifies nobody and hides everything.
 */
UNIT_TEST_ON(test_clients_are_published, struct fixture *f)
{
    struct client_index *index =
        client_index_new(&(struct client_index_config){.retire = live_config_retire});
    new_live(f, true);
    config_live_config_begin(f);
    assert_null(live_config_published(f)->clients);
    assert_null(live_config_published(f)->visibility);
    assert_false(live_config_published(f)->settings.autopath ||
                 live_config_published(f)->settings.is_restricted ||
                 live_config_published(f)->settings.rate);
    config_live_config_take(
        f, "{'autopath':true,'search':'a.test','allow':'10.0.0.0/8','rate':'7/9'}");
    const struct client_index *nobody = live_config_published(f)->clients;
    assert_non_null(nobody);
    assert_null(live_config_published(f)->visibility);
    assert_true(live_config_published(f)->settings.autopath &&
                live_config_published(f)->settings.is_restricted);
    assert_int_equal(live_config_published(f)->settings.search_count, 1);
    assert_int_equal(live_config_published(f)->settings.rate_burst, 9);
    live_config_set_clients(f->live, index);
    live_config_republish(f->live);
    assert_ptr_equal(live_config_published(f)->clients, index);
    config_live_config_take(f, "{'visibility':'own'}");
    assert_ptr_equal(live_config_published(f)->clients, index);
    assert_non_null(live_config_published(f)->visibility);
    assert_false(live_config_published(f)->settings.autopath);
    config_live_config_take(f, NULL);
    assert_null(live_config_published(f)->clients);
    assert_null(live_config_published(f)->visibility);
    live_config_free(f->live);
    f->live = NULL;
    client_index_free(index);
}

static bool live_config_shows(const struct fixture *f, const char *ns,
                              const struct client_space *client)
{
    return visibility_shows(live_config_published(f)->visibility, slice_str(ns), client);
}

/* The first publication hides what no list has been read of; each list and setting counts from when
 * it is known, and no other makes a new one. */
UNIT_TEST_ON(test_lists_of_visibility, struct fixture *f)
{
    static const struct client_space a = {.label_len = 1, .label = "a"};
    static const char text[] = "a, c";
    struct visible_namespace listed[] = {{slice_str("b"), slice_of(text, sizeof(text) - 1)}};
    new_live(f, true);
    f->flags.clients.is_own = true;
    config_live_config_begin(f);
    assert_true(live_config_shows(f, "a", &a) && live_config_shows(f, "kube-system", &a) &&
                live_config_shows(f, "default", NULL));
    assert_false(live_config_shows(f, "b", &a) || live_config_shows(f, "a", NULL));
    live_config_take_visible(f->live, listed, 1);
    listed[0] = (struct visible_namespace){slice_str("x"), slice_str("x")}; /* it has a copy */
    assert_true(live_config_shows(f, "b", &a));
    assert_false(live_config_shows(f, "c", &a));

    const struct visibility *before = live_config_published(f)->visibility;
    config_live_config_take(f, "{'ttl':31}");
    assert_ptr_equal(live_config_published(f)->visibility, before);
    config_live_config_take(f, "{'public_namespaces':'c','visibility_unknown':'all'}");
    assert_true(live_config_shows(f, "b", &a) && live_config_shows(f, "c", &a) &&
                live_config_shows(f, "a", NULL));
    assert_false(live_config_shows(f, "default", &a));
    config_live_config_take(f, "{'visibility':'all'}");
    uint64_t serial = live_config_published(f)->serial;
    live_config_take_visible(f->live, NULL, 0);
    assert_int_equal(live_config_published(f)->serial, serial); /* it makes no difference */
    config_live_config_take(f, NULL);
    assert_false(live_config_shows(f, "b", &a));
    assert_true(live_config_shows(f, "default", &a));
}

static void write_secrets(const struct fixture *f, const char *text)
{
    write_resolv_conf(f, text); /* in its place: any file does */
}

static bool live_config_begins_with(const struct fixture *f, unsigned byte)
{
    return live_config_published(f)->cookies.items[0][0] == byte;
}

static bool has_second_secret(const void *data)
{
    return live_config_begins_with(data, 0x22);
}

static bool live_config_is_refused(const void *data)
{
    return live_config_refusals(((const struct fixture *)data)->live).cookies;
}

/* One that cannot be used changes nothing. */
UNIT_TEST_ON(test_cookie_secrets, struct fixture *f)
{
    static const char first[] = "11111111111111111111111111111111\n";
    static const char second[] = "22222222222222222222222222222222\n"
                                 "11111111111111111111111111111111\n";
    struct err err;
    new_live(f, true);
    config_live_config_begin(f);
    assert_int_equal(live_config_published(f)->cookies.count, 1); /* of this process alone */
    const struct cookie_secrets drawn = live_config_published(f)->cookies;
    live_config_republish(f->live);
    assert_memory_equal(&live_config_published(f)->cookies, &drawn, sizeof(drawn));
    live_config_free(f->live);

    new_live(f, true);
    f->flags.cookie_secret = f->resolv_conf;
    write_secrets(f, "1234\n");
    assert_true(live_config_open_files(f->live, &err) < 0);
    assert_non_null(strstr(err.msg, "flag -cookie-secret: `"));
    live_config_free(f->live);

    new_live(f, true);
    f->flags.cookie_secret = f->resolv_conf;
    write_secrets(f, first);
    assert_int_equal(live_config_open_files(f->live, &err), 0);
    config_live_config_begin(f);
    assert_true(live_config_begins_with(f, 0x11));
    write_secrets(f, second);
    loop_until(f->loop, has_second_secret, f);
    assert_int_equal(live_config_published(f)->cookies.count, 2);
    write_secrets(f, "x\n");
    loop_until(f->loop, live_config_is_refused, f);
    assert_true(live_config_begins_with(f, 0x22));
    write_secrets(f, first);
    live_config_reload(f->live); /* at once */
    assert_true(live_config_begins_with(f, 0x11));
    assert_false(live_config_is_refused(f));
}

/* ---- resolv.conf ---- */

static bool live_config_has_changed(const void *data)
{
    const struct fixture *f = data;
    return f->changes > 0;
}

/* Runs until the change is noticed. */
static void change_resolv_conf(struct fixture *f, const char *text)
{
    f->changes = 0;
    write_resolv_conf(f, text);
    loop_until(f->loop, live_config_has_changed, f);
}

UNIT_TEST_ON(test_resolv_conf, struct fixture *f)
{
    write_resolv_conf(f, "search x.test\nnameserver 192.0.2.2\n");
    new_live(f, false);
    config_live_config_begin(f);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.2:53 ");
    assert_true(live_config_published(f)->has_nameservers);
    change_resolv_conf(f, "nameserver 192.0.2.3\nnameserver 2001:db8::3\n");
    assert_string_equal(live_config_nameservers(&f->before), "192.0.2.2:53 ");
    assert_string_equal(live_config_nameservers(&f->now), "192.0.2.3:53 [2001:db8::3]:53 ");
    change_resolv_conf(f, "# being written\n");
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.3:53 [2001:db8::3]:53 ");
    /* A document takes precedence over it. */
    config_live_config_take(f, "{'nameservers':['192.0.2.9:53']}");
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.9:53 ");
    change_resolv_conf(f, "nameserver 192.0.2.4\n");
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.9:53 ");
    config_live_config_take(f, NULL);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.4:53 ");
    /* A missing file names no nameservers. */
    assert_int_equal(unlink(f->resolv_conf), 0);
    live_config_reload(f->live);
    assert_string_equal(live_config_nameservers(in_force(f)), "");
    assert_false(live_config_published(f)->has_nameservers);
    write_resolv_conf(f, "nameserver 192.0.2.5\n");
    live_config_reload(f->live);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.5:53 ");
}

/* A folder can be opened, but not read. */
UNIT_TEST_ON(test_unreadable_resolv_conf, struct fixture *f)
{
    struct err err;
    assert_int_equal(mkdir(f->resolv_conf, 0700), 0);
    new_live(f, false);
    assert_true(live_config_begin(f->live, &err) < 0);
    assert_non_null(strstr(err.msg, f->resolv_conf));
}

/* The previous nameservers stay, and the rest takes effect. */
UNIT_TEST_ON(test_resolv_conf_becomes_unreadable, struct fixture *f)
{
    write_resolv_conf(f, "nameserver 192.0.2.2\n");
    new_live(f, false);
    config_live_config_begin(f);
    assert_int_equal(unlink(f->resolv_conf), 0);
    assert_int_equal(mkdir(f->resolv_conf, 0700), 0);
    config_live_config_take(f, "{'ttl':31}");
    assert_int_equal(f->changes, 1);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.2:53 ");
    assert_int_equal(live_config_published(f)->settings.ttl_s, 31);
}

UNIT_TEST_ON(test_resolv_conf_is_not_needed, struct fixture *f)
{
    assert_int_equal(mkdir(f->resolv_conf, 0700), 0);
    new_live(f, true);
    config_live_config_begin(f);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.1:53 ");
}

/* ---- The start ---- */

static struct etcd *live_config_client_of(const struct fixture *f, const char *url)
{
    struct etcd *etcd;
    const struct etcd_config config = {.loop = f->loop, .endpoints = url, .call_timeout_ms = 60000};
    assert_int_equal(etcd_new(&config, &etcd, NULL), 0);
    return etcd;
}

UNIT_TEST_ON(test_document_is_read, struct fixture *f)
{
    static const struct {
        const char *document; /* NULL: none */
        uint32_t ttl_s;
    } rows[] = {{NULL, 3600}, {"{\"ttl\":31}", 31}, {"no JSON", 3600}};
    struct log_capture capture;
    etcd_proc_need();
    struct etcd_proc *proc = etcd_proc_start();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct etcd *etcd = live_config_client_of(f, etcd_proc_url(proc));
        if (rows[i].document) {
            (void)sync_put(f->loop, etcd, "/skydns/config", slice_str(rows[i].document));
        }
        new_live(f, true);
        live_config_read(f->live, etcd);
        config_live_config_begin(f);
        assert_int_equal(in_force(f)->engine.ttl_s, rows[i].ttl_s);
        assert_int_equal(live_config_published(f)->settings.ttl_s, rows[i].ttl_s);
        log_capture_begin(&capture);
        live_config_opened(f->live);
        assert_string_equal(log_capture_end(&capture), ""); /* it was read */
        /* The mirror delivers it again: no change. */
        live_config_take(f->live,
                         rows[i].document ? slice_str(rows[i].document) : slice_of(NULL, 0));
        assert_int_equal(f->changes, 0);
        live_config_free(f->live);
        f->live = NULL;
        etcd_free(etcd);
    }
    etcd_proc_free(proc);
}

/* A snapshot's document counts from the start, also where it needs a restart later. */
UNIT_TEST_ON(test_seeded, struct fixture *f)
{
    struct log_capture capture;
    static const char document[] =
        "{\"ttl\":31,\"domain\":\"doc.test\",\"dns_addr\":\"127.0.0.2:1053\",\"odd\":1}";
    static const char other[] =
        "{\"ttl\":32,\"domain\":\"doc.test\",\"dns_addr\":\"127.0.0.3:1053\"}";
    char text[ADDR_TEXT_MAX];
    new_live(f, true);
    log_capture_begin(&capture);
    struct options look = live_config_preview(f->live, slice_str(document));
    assert_string_equal(log_capture_end(&capture), ""); /* it may be of no use */
    assert_string_equal(live_config_domain_of(&look.domains[0]), "doc.test.");
    look = live_config_preview(f->live, slice_of(NULL, 0));
    assert_string_equal(live_config_domain_of(&look.domains[0]), "flag.test.");
    look = live_config_preview(f->live, slice_str("no JSON"));
    assert_string_equal(live_config_domain_of(&look.domains[0]), "flag.test.");
    log_capture_begin(&capture);
    live_config_seed(f->live, slice_str(document));
    assert_int_equal(log_occurrences(log_capture_end(&capture), "field=odd"), 1);
    assert_string_equal(live_config_domain_of(&in_force(f)->domains[0]),
                        "doc.test."); /* whose writers follow */
    config_live_config_begin(f);
    assert_int_equal(f->changes, 0);
    assert_int_equal(live_config_published(f)->settings.ttl_s, 31);
    assert_string_equal(addr_format(&in_force(f)->addresses[0], text), "127.0.0.2:1053");
    log_capture_begin(&capture);
    live_config_opened(f->live);
    live_config_take(f->live, slice_str(document)); /* etcd says the same */
    assert_string_equal(log_capture_end(&capture), "");
    assert_int_equal(f->changes, 0);
    log_capture_begin(&capture);
    live_config_take(f->live, slice_str(other));
    const char *lines = log_capture_end(&capture);
    assert_int_equal(log_occurrences(lines, "changed settings need a restart"), 1);
    assert_int_equal(log_occurrences(lines, "dns_addr=\"127.0.0.2:1053 -> 127.0.0.3:1053\""), 1);
    assert_int_equal(live_config_published(f)->settings.ttl_s, 32);
    live_config_take(f->live, slice_of(NULL, 0)); /* or it is gone */
    assert_int_equal(live_config_published(f)->settings.ttl_s, 3600);
    assert_string_equal(live_config_domain_of(&in_force(f)->domains[0]), "flag.test.");
}

/* The same of kube2sky's document, in time for the first publication: without a resolv.conf. */
UNIT_TEST_ON(test_seeded_with_writers, struct fixture *f)
{
    struct log_capture capture;
    new_live(f, false);
    live_config_seed(f->live, slice_of(NULL, 0));
    log_capture_begin(&capture);
    live_config_take_writers(f->live, &in_force(f)->domains[0],
                             slice_str("{\"nameservers\":[\"192.0.2.7:53\"]}"));
    assert_string_equal(log_capture_end(&capture), "");
    assert_int_equal(f->changes, 0);
    config_live_config_begin(f);
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.7:53 ");
    config_live_config_take(f, "{'nameservers':['192.0.2.9:53']}");
    assert_string_equal(live_config_nameservers(in_force(f)), "192.0.2.9:53 ");
    assert_int_equal(f->changes, 1);
}

/* One that cannot be used is etcd's affair: the flags count, and a line says why. */
UNIT_TEST_ON(test_seeded_with_nonsense, struct fixture *f)
{
    struct log_capture capture;
    struct err err;
    new_live(f, true);
    assert_int_equal(live_config_open_files(f->live, &err), 0);
    log_capture_begin(&capture);
    live_config_seed(f->live, slice_str("no JSON"));
    assert_int_equal(log_occurrences(log_capture_end(&capture), "cannot use the configuration"), 1);
    config_live_config_begin(f);
    assert_int_equal(live_config_published(f)->settings.ttl_s, 3600);
    assert_true(live_config_refusals(f->live).etcd);
}

/* etcd accepts connections but stays silent: after a second the flags count, until there is a
 * document. */
UNIT_TEST_ON(test_etcd_is_silent, struct fixture *f)
{
    struct addr address;
    struct log_capture capture;
    char url[ADDR_TEXT_MAX + sizeof("http://")], text[ADDR_TEXT_MAX];
    int listener = loopback_listen(&address);
    (void)snprintf(url, sizeof(url), "http://%s", addr_format(&address, text)); /* fits */
    struct etcd *etcd = live_config_client_of(f, url);
    new_live(f, true);
    live_config_read(f->live, etcd);
    config_live_config_begin(f);
    assert_int_equal(in_force(f)->engine.ttl_s, 3600);
    log_capture_begin(&capture);
    live_config_opened(f->live);
    assert_int_equal(log_occurrences(log_capture_end(&capture), "/skydns/config"), 1);
    config_live_config_take(f, "{'ttl':31}");
    assert_int_equal(live_config_published(f)->settings.ttl_s, 31);
    etcd_free(etcd);
    close(listener);
}
