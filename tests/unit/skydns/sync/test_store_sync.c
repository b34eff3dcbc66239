/* store_sync with a played mirror: this file defines etcd_mirror_start and _stop, to play any
 * sequence of publications. With a real etcd: test_store_sync_etcd.c. */
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/outage.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/played_mirror.h"

/* ---- The mirror ---- */

static struct etcd_mirror_config about_clients[3]; /* of the first domain */
static size_t about_clients_count;
static char clients_mirror;
static char mirror_prefix[64];
static int mirrors;

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    assert_null(etcd);
    mirrors++;
    if (!slice_has_prefix(config->prefix, slice_str("/kube2sky/"))) {
        mirror = *config;
    } else if (slice_has_suffix(config->prefix, slice_str("/"))) {
        assert_true(about_clients_count < ARRAY_LEN(about_clients));
        about_clients[about_clients_count++] = *config;
        return (struct etcd_mirror *)&clients_mirror;
    } else {
        assert_true(slice_equal(config->store_key, slice_str("/kube2sky/other/store")));
        assert_true(slice_equal(config->prefix, config->store_key));
        assert_false(config->keeps_old);
        other_key = *config;
        return (struct etcd_mirror *)&key_mirror;
    }
    assert_true(slice_equal(config->store_key, slice_str("/kube2sky/test/store")));
    assert_int_equal(config->stale_max_ms, 5000);
    assert_true(config->keeps_old);
    (void)snprintf(mirror_prefix, sizeof(mirror_prefix), "%.*s", (int)config->prefix.len,
                   config->prefix.ptr); /* short */
    return (struct etcd_mirror *)&main_mirror;
}

void etcd_mirror_stop(struct etcd_mirror *stopped)
{
    mirrors -= stopped != NULL;
}

static void store_sync_full_begin(void)
{
    mirror.full_begin(mirror.data, &(struct etcd_mirror_read){.reason = ""});
}

/* A full read of another store that is not complete yet. */
static void full_begin_keeping(void)
{
    const struct etcd_mirror_read read = {
        .cause = ETCD_MIRROR_OTHER_STORE, .keeps_old = true, .reason = "the store key is gone"};
    mirror.full_begin(mirror.data, &read);
}

/* ---- What readers see ---- */

struct fixture {
    struct ev_loop *loop;
    struct publisher *publisher;
    struct publisher_reader *reader;
    struct outage outage;
    struct outage_source followed;
    struct store_sync *sync;
    int ready_calls;
};

static void store_sync_on_ready(void *data)
{
    ++*(int *)data;
}

static void (*wanted_on_config)(void *data, struct slice value);
static bool skips_wildcards;
static bool requires_store_key;
static size_t domain_count = 1;
static void (*wanted_on_completeness)(void *data);
static void (*wanted_on_stubs)(void *data, const struct forward_zone *zones, size_t count);

static struct dname domains[2];

static struct fixture *store_sync_setup(const char *path_prefix)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->loop = ev_loop_new(0);
    f->publisher = publisher_new();
    f->reader = publisher_reader_new(f->publisher);
    outage_init(&f->outage, f->loop, "etcd", 60000, "etcd is overdue");
    f->followed.away_line = "etcd away";
    f->followed.back_line = "etcd back";
    outage_join(&f->outage, &f->followed, true);
    domains[0] = dname_from("test.");
    domains[1] = dname_from("other.");
    struct store_sync_config config = {.loop = f->loop,
                                       .skips_wildcards = skips_wildcards,
                                       .followed = &f->followed,
                                       .publisher = f->publisher,
                                       .path_prefix = path_prefix,
                                       .domains = domains,
                                       .domain_count = domain_count,
                                       .requires_store_key = requires_store_key,
                                       .on_completeness = wanted_on_completeness,
                                       .stale_max_ms = 5000,
                                       .on_config = wanted_on_config,
                                       .on_stubs = wanted_on_stubs,
                                       .on_ready = store_sync_on_ready,
                                       .data = &f->ready_calls};
    f->sync = store_sync_start(&config);
    assert_int_equal(mirrors, domain_count);
    return f;
}

static void store_sync_teardown(struct fixture *f)
{
    store_sync_stop(f->sync);
    outage_fini(&f->outage);
    assert_int_equal(mirrors, 0);
    publisher_free(f->publisher);
    ev_loop_destroy(f->loop);
    free(f);
}

UNIT_FIXTURE_MADE(store_sync_setup("skydns"), store_sync_teardown)

/* The mod_revision of the record a reader finds; 0 = no such record, -1 = no store yet. */
static int64_t store_sync_seen(const struct fixture *f, const char *text)
{
    int64_t revision = -1;
    struct dname name = dname_from(text);
    const struct store *store = publisher_enter(f->reader);
    if (store) {
        const struct store_node *node = store_find(store, &name);
        const struct store_record *record = node ? store_node_record(node) : NULL;
        revision = record ? record->mod_revision : 0;
    }
    publisher_leave(f->reader);
    return revision;
}

static const char good[] = "{\"host\":\"10.0.0.1\"}";

/* The first: the line limit is still unused. */
UNIT_TEST_ON(test_lines_about_etcd, struct fixture *f)
{
    struct log_capture c;
    struct err refused, timeout;
    err_set(&refused, ERR_UNAVAILABLE, "connect 127.0.0.1:2379: refused");
    err_set(&timeout, ERR_TIMEOUT, "no answer");
    log_capture_begin(&c);
    mirror.state(mirror.data, &refused);
    mirror.state(mirror.data, NULL);
    store_sync_full_begin();
    played_put("/skydns/local/a", "{", 2);
    played_commit(7, true);
    mirror.state(mirror.data, NULL);
    assert_false(outage_is_away(&f->outage));
    mirror.state(mirror.data, &timeout);
    assert_true(outage_is_away(&f->outage));
    mirror.state(mirror.data, NULL);
    assert_int_equal(f->followed.returns[OUTAGE_TIMEOUT], 1);
    full_begin_keeping();
    played_commit(9, true);
    log_capture_end(&c);
    print_message("%s", c.text);
    assert_int_equal(log_occurrences(c.text, "\n"), 8);
    assert_int_equal(
        log_occurrences(c.text, "etcd away reason=\"connect 127.0.0.1:2379: refused\"\n"), 1);
    assert_int_equal(log_occurrences(c.text, "etcd away reason=\"no answer\"\n"), 1);
    assert_int_equal(log_occurrences(c.text, "etcd back after_ms="), 2);
    assert_int_equal(log_occurrences(c.text, "key skipped key=/skydns/local/a reason="), 1);
    assert_int_equal(
        log_occurrences(c.text, "records read keys=0 skipped=1 revision=7 cause=first\n"), 1);
    assert_int_equal(
        log_occurrences(c.text, "records reread keys=0 skipped=0 revision=9 cause=another\n"), 1);
    assert_int_equal(log_occurrences(c.text,
                                     "etcd holds another data set reason=\"the store key is gone\" "
                                     "old_records=\"kept until the new data set is complete\"\n"),
                     1);
    assert_int_equal(store_sync_counts(f->sync).reads, 2);
}

UNIT_TEST_ON(test_ready_with_the_first_full_content, struct fixture *f)
{
    store_sync_full_begin();
    played_put("/skydns/local/a", good, 2);
    assert_false(store_sync_is_ready(f->sync));
    assert_int_equal(store_sync_seen(f, "a.local"), -1);
    played_commit(3, true);
    assert_true(store_sync_is_ready(f->sync));
    assert_int_equal(store_sync_seen(f, "a.local"), 2);
    assert_int_equal(store_sync_counts(f->sync).revision, 3);

    played_put("/skydns/local/b", good, 4);
    assert_int_equal(store_sync_seen(f, "b.local"), 0);
    played_commit(4, false);
    assert_int_equal(store_sync_seen(f, "b.local"), 4);
    played_del("/skydns/local/a", 5);
    played_commit(5, false);
    assert_int_equal(store_sync_seen(f, "a.local"), 0);
    store_sync_full_begin();
    played_commit(6, true);
    assert_int_equal(f->ready_calls, 1);
    assert_int_equal(store_sync_counts(f->sync).keys, 0);
    assert_int_equal(store_sync_counts(f->sync).revision, 6);
}

UNIT_TEST_ON(test_empty_etcd_is_ready, struct fixture *f)
{
    store_sync_full_begin();
    played_commit(1, true);
    assert_int_equal(f->ready_calls, 1);
    assert_int_equal(store_sync_seen(f, "a.local"), 0);
}

/* Also when etcd denies the keys about clients after all records are read, whichever is last. */
UNIT_TEST(test_ready_with_the_last_denial_about_clients)
{
    const struct err denied = {.code = ERR_REFUSED, .msg = "permission denied"};
    for (size_t first = 0; first < ARRAY_LEN(about_clients); first++) {
        struct fixture *f = store_sync_setup("skydns");
        about_clients_count = 0;
        store_sync_set_clients(f->sync, CLIENTS_FOR_ANSWERS, false);
        store_sync_full_begin();
        played_commit(1, true);
        assert_int_equal(about_clients_count, ARRAY_LEN(about_clients));
        for (size_t i = 0; i < ARRAY_LEN(about_clients); i++) {
            const struct etcd_mirror_config *keys =
                &about_clients[(first + i) % ARRAY_LEN(about_clients)];
            assert_int_equal(f->ready_calls, 0);
            keys->state(keys->data, &denied);
        }
        assert_int_equal(f->ready_calls, 1);
        store_sync_teardown(f);
    }
}

UNIT_TEST(test_prefixes)
{
    static const struct {
        const char *path, *prefix, *key;
    } cases[] = {
        {"skydns", "/skydns/", "/skydns/local/a"},
        {"/skydns/", "/skydns/", "/skydns/local/a"},
        {"//dns/blue//", "/dns/blue/", "/dns/blue/local/a"},
        {"", "/", "/local/a"},
        {"/", "/", "/local/a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture *f = store_sync_setup(cases[i].path);
        assert_string_equal(mirror_prefix, cases[i].prefix);
        store_sync_full_begin();
        played_put(cases[i].key, good, 2);
        played_commit(2, true);
        assert_int_equal(store_sync_seen(f, "a.local"), 2);
        store_sync_teardown(f);
    }
}

UNIT_TEST_ON(test_broken_value_is_skipped_alone, struct fixture *f)
{
    static const char *const broken[] = {"", "{", "[]", "{\"host\":\"x\",\"port\":\"80\"}",
                                         "{\"port\":70000}"};
    store_sync_full_begin();
    played_put("/skydns/local/a", good, 2);
    played_put("/skydns/local/b", broken[1], 3);
    played_put("/skydns/local/c", good, 4);
    played_commit(4, true);
    assert_int_equal(store_sync_seen(f, "a.local"), 2);
    assert_int_equal(store_sync_seen(f, "b.local"), 0);
    assert_int_equal(store_sync_seen(f, "c.local"), 4);
    assert_int_equal(store_sync_counts(f->sync).skipped, 1);
    assert_int_equal(store_sync_counts(f->sync).keys, 2);

    int64_t revision = 5;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        print_message("value `%s`\n", broken[i]);
        played_put("/skydns/local/a", broken[i], revision);
        played_commit(revision++, false);
        assert_int_equal(store_sync_seen(f, "a.local"), 0);
        assert_int_equal(store_sync_counts(f->sync).skipped, i + 2);
        played_put("/skydns/local/a", good, revision);
        played_commit(revision, false);
        assert_int_equal(store_sync_seen(f, "a.local"), revision++);
    }
}

UNIT_TEST_ON(test_keys_that_are_no_records, struct fixture *f)
{
    static const struct {
        const char *key;
        bool is_skipped;
    } cases[] = {
        {"/skydns/local//a", true},
        {"/skydns/local/a/", true},
        {"/skydns/", true},
        {"/skydns/local/label-of-more-than-63-bytes-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", true},
        {"/skydns/config", false},
    };
    uint64_t skipped = 0;
    store_sync_full_begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("key %s\n", cases[i].key);
        played_put(cases[i].key, good, 2);
        skipped += cases[i].is_skipped;
        assert_int_equal(store_sync_counts(f->sync).skipped, skipped);
    }
    played_commit(2, true);
    assert_int_equal(store_sync_counts(f->sync).keys, 0);
    assert_int_equal(store_sync_seen(f, "config"), 0);

    played_put("/skydns/local/config", good, 3); /* a record like any other */
    played_commit(3, false);
    assert_int_equal(store_sync_seen(f, "config.local"), 3);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        played_del(cases[i].key, 4);
    }
    played_commit(4, false);
    assert_int_equal(store_sync_counts(f->sync).keys, 1);
    assert_int_equal(store_sync_counts(f->sync).skipped, skipped);
}

static struct slice told_value;
static unsigned told;

/* -schema=kubernetes: a key with a label `*` is skipped, counted, and remembered; but not one with
 * an external name, which may be an override. */
UNIT_TEST(test_keys_with_a_wildcard)
{
    static const char *const keys[] = {"/skydns/test/*", "/skydns/test/svc/*/web",
                                       "/skydns/arpa/in-addr/*/1"};
    static const char *const others[] = {"/skydns/test/any", "/skydns/test/a*", "/skydns/com/*"};
    for (int schema = 0; schema < 2; schema++) {
        skips_wildcards = schema != 0;
        struct fixture *f = store_sync_setup("skydns");
        skips_wildcards = false;
        store_sync_full_begin();
        for (size_t i = 0; i < 3; i++) {
            played_put(keys[i], "{\"host\":\"10.0.0.1\"}", 1);
            played_put(others[i], "{\"host\":\"10.0.0.1\"}", 1);
        }
        played_commit(1, true);
        struct store_sync_counts counts = store_sync_counts(f->sync);
        assert_int_equal(counts.keys, schema ? 3 : 6);
        assert_int_equal(counts.skipped, schema ? 3 : 0);
        assert_int_equal(counts.broken, counts.skipped);
        played_del(keys[0], 2);
        played_commit(2, false);
        assert_int_equal(store_sync_counts(f->sync).broken, schema ? 2 : 0);
        store_sync_teardown(f);
    }
}

static void store_sync_on_config(void *data, struct slice value)
{
    told++;
    told_value = value;
}

static void store_sync_assert_told(unsigned count, const char *value)
{
    assert_int_equal(told, count);
    assert_int_equal(told_value.ptr != NULL, value != NULL);
    if (value) {
        assert_true(slice_equal(told_value, slice_str(value)));
    }
}

/* Together with its publication, and also when a full read lacks it. */
UNIT_TEST(test_the_document_is_handed_on)
{
    static const char key[] = "/skydns/config";
    told = 0;
    wanted_on_config = store_sync_on_config;
    struct fixture *f = store_sync_setup("skydns");
    wanted_on_config = NULL;
    store_sync_full_begin();
    played_put(key, "void", 2);
    store_sync_full_begin(); /* started over */
    played_put(key, "{}", 2);
    assert_int_equal(told, 0);
    played_commit(2, true);
    store_sync_assert_told(1, "{}");
    played_put("/skydns/local/a", good, 3);
    played_commit(3, false);
    assert_int_equal(told, 1);
    played_put(key, "", 4);
    played_commit(4, false);
    store_sync_assert_told(2, "");
    played_del(key, 5);
    played_commit(5, false);
    store_sync_assert_told(3, NULL);
    played_put(key, "{\"ttl\":5}", 6);
    played_commit(6, false);
    store_sync_assert_told(4, "{\"ttl\":5}");
    store_sync_full_begin();
    played_commit(7, true);
    store_sync_assert_told(5, NULL);
    store_sync_teardown(f);
}

struct broken_seen {
    size_t count;
    char key[64], reason[160];
};

static bool store_sync_see_broken(void *data, const struct broken_key *key)
{
    struct broken_seen *seen_keys = data;
    seen_keys->count++;
    (void)snprintf(seen_keys->key, sizeof(seen_keys->key), "%.*s", (int)key->key.len, key->key.ptr);
    (void)snprintf(seen_keys->reason, sizeof(seen_keys->reason), "%s", key->reason);
    return true;
}

/* Until a valid value, a deletion, or a full read without them. */
UNIT_TEST_ON(test_broken_keys_are_remembered, struct fixture *f)
{
    const struct broken_table *table = store_sync_broken(f->sync);
    struct broken_seen all = {0};
    store_sync_full_begin();
    played_put("/skydns/local/a", "{", 2);
    played_put("/skydns/local/b", "{", 3);
    played_put("/skydns/local/c", "{\"host\":\"a..b\"}", 4);
    played_put("/skydns/local//d", good, 5);
    played_commit(5, true);
    assert_int_equal(store_sync_counts(f->sync).broken, 4);
    assert_int_equal(store_sync_counts(f->sync).keys, 1); /* c: it may have a text */
    broken_each(table, store_sync_see_broken, &all);
    assert_int_equal(all.count, 4);
    assert_string_equal(all.key, "/skydns/local//d"); /* the newest comes last */
    played_put("/skydns/local/a", good, 6);
    played_del("/skydns/local/b", 6);
    played_put("/skydns/local/c", "{\"host\":\"a.b\"}", 6);
    played_commit(6, false);
    all = (struct broken_seen){0};
    broken_each(table, store_sync_see_broken, &all);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.key, "/skydns/local//d");
    assert_non_null(strstr(all.reason, "empty label"));
    played_put("/skydns/local/e", "{\"port\":-1}", 7);
    played_commit(7, false);
    store_sync_full_begin();
    played_put("/skydns/local/e", "{\"port\":-1}", 7);
    played_commit(8, true);
    all = (struct broken_seen){0};
    broken_each(table, store_sync_see_broken, &all);
    assert_int_equal(all.count, 1);
    assert_string_equal(all.key, "/skydns/local/e");
    assert_non_null(strstr(all.reason, "`port`: `-1`"));
}

static unsigned stub_calls;
static size_t stub_zones;

static void store_sync_on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    assert_non_null(data);
    assert_true(count == 0 || zones[0].server_count == 1);
    stub_calls++;
    stub_zones = count;
}

static void assert_stubs(unsigned calls, size_t zones)
{
    assert_int_equal(stub_calls, calls);
    assert_int_equal(stub_zones, zones);
}

/* With the version that has them, for the domains in force, and on request. */
UNIT_TEST(test_stub_zones)
{
    stub_calls = 0;
    wanted_on_stubs = store_sync_on_stubs;
    struct fixture *f = store_sync_setup("skydns");
    wanted_on_stubs = NULL;
    store_sync_full_begin();
    played_put("/skydns/test/dns/stub/local/acme/1", good, 2);
    played_put("/skydns/test/dns/stub/local/acme/2", "{\"text\":\"x\"}", 2);
    played_put("/skydns/other/dns/stub/local/corp/1", good, 2);
    played_commit(2, true);
    assert_stubs(0, 0);
    store_sync_set_stubs(f->sync, true);
    assert_stubs(1, 1);
    assert_int_equal(store_sync_counts(f->sync).broken, 1);
    played_put("/skydns/test/dns/stub/local/more/1", good, 3);
    assert_stubs(1, 1);
    played_commit(3, false);
    assert_stubs(2, 2);
    played_put("/skydns/test/web", good, 4);
    played_commit(4, false);
    store_sync_full_begin(); /* the same again: what is broken is still known */
    played_put("/skydns/test/dns/stub/local/acme/1", good, 2);
    played_put("/skydns/test/dns/stub/local/acme/2", "{\"text\":\"x\"}", 2);
    played_put("/skydns/test/dns/stub/local/more/1", good, 3);
    played_put("/skydns/other/dns/stub/local/corp/1", good, 2);
    played_put("/skydns/test/web", good, 4);
    played_commit(5, true);
    assert_stubs(2, 2);
    assert_int_equal(store_sync_counts(f->sync).broken, 1);
    store_sync_set_domains(f->sync, &domains[1], 1, false);
    assert_stubs(3, 1);
    store_sync_set_stubs(f->sync, false);
    assert_stubs(4, 0);
    assert_int_equal(store_sync_counts(f->sync).broken, 0);
    store_sync_teardown(f);
}

/* Compaction while away: the old content is served until the new one is complete. */
UNIT_TEST_ON(test_reading_again, struct fixture *f)
{
    store_sync_full_begin();
    played_put("/skydns/local/stays", good, 2);
    played_put("/skydns/local/goes", good, 3);
    played_commit(3, true);

    store_sync_full_begin();
    played_put("/skydns/local/stays", good, 2);
    played_put("/skydns/local/void", good, 8);
    store_sync_full_begin(); /* the connection was lost in between */
    assert_int_equal(store_sync_seen(f, "goes.local"), 3);
    played_put("/skydns/local/comes", good, 9);
    played_put("/skydns/local/stays", good, 2);
    assert_int_equal(store_sync_seen(f, "stays.local"), 2);
    assert_int_equal(store_sync_seen(f, "comes.local"), 0);
    played_commit(9, true);
    assert_int_equal(store_sync_seen(f, "stays.local"), 2);
    assert_int_equal(store_sync_seen(f, "comes.local"), 9);
    assert_int_equal(store_sync_seen(f, "goes.local"), 0);
    assert_int_equal(store_sync_seen(f, "void.local"), 0);
    assert_int_equal(store_sync_counts(f->sync).published, 2);

    store_sync_full_begin(); /* nothing changed: nothing to publish */
    played_put("/skydns/local/stays", good, 2);
    played_put("/skydns/local/comes", good, 9);
    played_commit(12, true);
    assert_int_equal(store_sync_counts(f->sync).published, 2);
    assert_int_equal(store_sync_counts(f->sync).revision, 12);
}

/* An etcd that came back empty: what it has is applied, what it lacks stays until the store is
 * complete, then goes in one publication. */
UNIT_TEST_ON(test_another_store, struct fixture *f)
{
    store_sync_full_begin();
    played_put("/skydns/local/same", good, 2);
    played_put("/skydns/local/late", good, 3);
    played_put("/skydns/local/orphan", good, 4);
    played_commit(4, true);

    full_begin_keeping();
    played_put("/skydns/local/same", good, 1);
    played_put("/skydns/local/new", good, 2);
    played_commit(2, true);
    assert_int_equal(store_sync_seen(f, "same.local"), 1);
    assert_int_equal(store_sync_seen(f, "new.local"), 2);
    assert_int_equal(store_sync_seen(f, "late.local"), 3);
    assert_int_equal(store_sync_seen(f, "orphan.local"), 4);
    assert_int_equal(store_sync_counts(f->sync).revision, 2);
    played_put("/skydns/local/late", good, 3);
    played_del("/skydns/local/new", 3);
    played_commit(3, false);
    assert_int_equal(store_sync_seen(f, "new.local"), 0);
    assert_int_equal(store_sync_seen(f, "orphan.local"), 4);

    uint64_t published = store_sync_counts(f->sync).published;
    store_sync_full_begin();
    played_put("/skydns/local/same", good, 1);
    played_put("/skydns/local/late", good, 3);
    played_commit(9, true);
    assert_int_equal(store_sync_counts(f->sync).published, published + 1);
    assert_int_equal(store_sync_seen(f, "same.local"), 1);
    assert_int_equal(store_sync_seen(f, "late.local"), 3);
    assert_int_equal(store_sync_seen(f, "orphan.local"), 0);
}

/* The loop has only the timer: ev_run returns once it has stopped itself. */
/* ---- Completeness ---- */

static const struct fixture *watched; /* NULL: none is under test */
static unsigned tellings;
static int64_t seen_when_told;

/* Notes what readers have when they learn of it. */
static void store_sync_on_completeness(void *data)
{
    tellings++;
    seen_when_told = watched ? store_sync_seen(watched, "web.test") : 0;
}

static bool sync_store_sync_is_incomplete(const struct fixture *f, const char *domain)
{
    struct dname name = dname_from(domain);
    return store_sync_is_incomplete(f->sync, &name);
}

static void whole_read(const char *id, const char *key, int64_t revision)
{
    store_sync_full_begin();
    if (key) {
        played_put(key, good, revision);
    }
    played_store_key(id, true);
    played_commit(revision, true);
}

static struct fixture *setup_keys(bool is_required, size_t count)
{
    requires_store_key = is_required;
    domain_count = count;
    wanted_on_completeness = store_sync_on_completeness;
    rereads = tellings = 0;
    struct fixture *f = store_sync_setup("skydns");
    watched = f;
    return f;
}

static void teardown_keys(struct fixture *f)
{
    watched = NULL;
    requires_store_key = false;
    domain_count = 1;
    wanted_on_completeness = NULL;
    mirror_counts = (struct etcd_mirror_counts){0};
    store_sync_teardown(f);
}

/* An etcd that lost its data: complete as long as the old records are held; then incomplete, before
 * readers get the version without them; complete again only after they have the new one. */
UNIT_TEST(test_a_lost_store_key)
{
    struct fixture *f = setup_keys(false, 1);
    whole_read("one", "/skydns/test/web", 3);
    assert_int_equal(f->ready_calls, 1);
    assert_false(sync_store_sync_is_incomplete(f, "test."));
    full_begin_keeping();
    played_store_key("", true);
    mirror_counts.is_holding_old = true;
    played_commit(1, true);
    assert_false(sync_store_sync_is_incomplete(f, "test."));
    assert_int_equal(tellings, 0);

    mirror_counts.is_holding_old = false; /* stale-max */
    whole_read("", NULL, 1);
    assert_true(sync_store_sync_is_incomplete(f, "test."));
    assert_int_equal(tellings, 1);
    assert_int_equal(seen_when_told, 3);
    assert_int_equal(store_sync_seen(f, "web.test"), 0);

    played_store_key("two", false); /* the records before it may still be on their way */
    assert_int_equal(rereads, 1);
    assert_true(sync_store_sync_is_incomplete(f, "test."));
    whole_read("two", "/skydns/test/web", 5);
    assert_false(sync_store_sync_is_incomplete(f, "test."));
    assert_int_equal(tellings, 2);
    assert_int_equal(seen_when_told, 5);
    assert_int_equal(f->ready_calls, 1);

    played_store_key("", false); /* deleted from the same store */
    assert_true(sync_store_sync_is_incomplete(f, "test."));
    teardown_keys(f);
}

/* A store filled by hand never had a key: nothing changes. */
UNIT_TEST(test_never_a_store_key)
{
    struct fixture *f = setup_keys(false, 1);
    whole_read("", "/skydns/test/web", 3);
    full_begin_keeping();
    played_store_key("", true);
    played_commit(1, true);
    whole_read("", NULL, 1);
    assert_false(sync_store_sync_is_incomplete(f, "test."));
    assert_int_equal(tellings, 0);
    assert_int_equal(f->ready_calls, 1);
    played_store_key("one", false); /* kube2sky comes: no need to read again */
    assert_int_equal(rereads, 0);
    teardown_keys(f);
}

UNIT_TEST(test_a_required_store_key)
{
    struct fixture *f = setup_keys(true, 1);
    struct dname other = dname_from("new.test.");
    whole_read("", "/skydns/test/web", 3);
    assert_int_equal(f->ready_calls, 0);
    assert_true(sync_store_sync_is_incomplete(f, "test."));
    assert_int_equal(seen_when_told, -1); /* before the first version */
    assert_int_equal(store_sync_seen(f, "web.test"), 3);
    whole_read("", NULL, 4);
    assert_int_equal(f->ready_calls, 0);
    played_store_key("one", false);
    assert_int_equal(f->ready_calls, 0);
    whole_read("one", "/skydns/test/web", 5);
    assert_int_equal(f->ready_calls, 1);
    assert_false(sync_store_sync_is_incomplete(f, "test."));
    store_sync_set_domains(f->sync, domains, 1, false);
    assert_false(store_sync_is_incomplete(f->sync, &other));
    store_sync_set_domains(f->sync, domains, 1, true);
    assert_true(store_sync_is_incomplete(f->sync, &other)); /* until it is in force */
    assert_int_equal(f->ready_calls, 1);
    teardown_keys(f);
}

UNIT_TEST(test_two_domains)
{
    struct fixture *f = setup_keys(true, 2);
    whole_read("one", "/skydns/test/web", 3);
    assert_int_equal(f->ready_calls, 0);
    assert_true(!sync_store_sync_is_incomplete(f, "test.") &&
                sync_store_sync_is_incomplete(f, "other."));
    played_other_store_key("one");
    assert_int_equal(rereads, 1);
    assert_true(sync_store_sync_is_incomplete(f, "other."));
    whole_read("one", "/skydns/test/web", 4);
    assert_int_equal(f->ready_calls, 1);
    assert_false(sync_store_sync_is_incomplete(f, "other."));

    store_sync_set_domains(f->sync, domains, 2, false);
    full_begin_keeping(); /* another store: the other domain's key is read again */
    assert_int_equal(mirrors, 2);
    played_store_key("two", true);
    played_commit(1, true);
    assert_true(!sync_store_sync_is_incomplete(f, "test.") &&
                sync_store_sync_is_incomplete(f, "other."));
    played_other_store_key("");
    assert_true(sync_store_sync_is_incomplete(f, "other."));
    played_other_store_key("two");
    whole_read("two", "/skydns/test/web", 6);
    assert_false(sync_store_sync_is_incomplete(f, "other."));

    store_sync_set_domains(f->sync, domains, 1, false);
    assert_int_equal(mirrors, 1);
    store_sync_set_domains(f->sync, domains, 2, false); /* nothing is known of it any more */
    assert_int_equal(mirrors, 2);
    assert_false(sync_store_sync_is_incomplete(f, "other."));
    teardown_keys(f);
}

/* One line for each, until it has had keys. */
UNIT_TEST(test_keys_of_another_domain)
{
    static struct log_capture c;
    struct fixture *f = setup_keys(false, 2);
    log_capture_begin(&c);
    whole_read("", "/skydns/arpa/in-addr/10/0/0/1", 1);
    whole_read("", "/skydns/local/cluster/svc/n/web/x", 2);
    whole_read("", "/skydns/local/cluster/svc/n/web/x", 3);
    whole_read("", "/skydns/other/x", 4);
    whole_read("", "/skydns/test/x", 5);
    whole_read("", "/skydns/test/x", 6);
    log_capture_end(&c);
    print_message("%s", c.text);
    assert_int_equal(log_occurrences(c.text, "etcd has no key of a domain, but keys of another"),
                     3);
    assert_int_equal(log_occurrences(c.text, " domain=test. other=cluster.local.\n"), 1);
    assert_int_equal(log_occurrences(c.text, " domain=other. other=cluster.local.\n"), 1);
    assert_int_equal(log_occurrences(c.text, " domain=other. other=test.\n"), 1);
    teardown_keys(f);
}

UNIT_TEST_ON(test_garbage_is_fetched_later, struct fixture *f)
{
    mirror.state(mirror.data, NULL); /* no outage, so no timer of one */
    store_sync_full_begin();
    played_commit(1, true);
    ev_run(f->loop, 0); /* no garbage, so no timer: returns at once */

    (void)publisher_enter(f->reader);
    played_put("/skydns/local/a", good, 2);
    played_commit(2, false);
    ev_run(f->loop, EVRUN_ONCE);
    assert_true(publisher_reclaim(f->publisher));
    publisher_leave(f->reader);
    ev_run(f->loop, 0);
    assert_false(publisher_reclaim(f->publisher));
}

/* ---- Log lines ---- */

UNIT_TEST_ON(test_lines_about_broken_values_are_few, struct fixture *f)
{
    struct log_capture c;
    log_capture_begin(&c);
    store_sync_full_begin();
    for (int i = 0; i < 1000; i++) {
        played_put("/skydns/local/a", "{", 2);
    }
    log_capture_end(&c);
    assert_true(log_occurrences(c.text, "\n") <= 20); /* ten a minute, and the test may span two */
    assert_int_equal(store_sync_counts(f->sync).skipped, 1000);
}
