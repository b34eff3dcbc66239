/* store_sync from a snapshot and into one, with a fake mirror: this file defines etcd_mirror_start
 * and _stop. With a real etcd: test_store_sync_etcd.c. */
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/outage.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/settings/config_documents.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/skydns/snapshot_copy.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/played_mirror.h"

/* ---- The mirror ---- */

static unsigned other_starts;
static char resumed_from[64]; /* what `saved` said */

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    assert_null(etcd);
    if (slice_has_prefix(config->prefix, slice_str("/kube2sky/"))) {
        other_key = *config;
        other_starts++;
        return (struct etcd_mirror *)&key_mirror;
    }
    mirror = *config;
    (void)snprintf(resumed_from, sizeof(resumed_from), "%.*s", (int)config->saved.len,
                   config->saved.len ? config->saved.ptr : ""); /* short */
    return (struct etcd_mirror *)&main_mirror;
}

void etcd_mirror_stop(struct etcd_mirror *stopped)
{
}

static void store_sync_saved_full_begin(enum etcd_mirror_cause cause, bool keeps_old)
{
    const struct etcd_mirror_read read = {.cause = cause, .keeps_old = keeps_old, .reason = ""};
    mirror.full_begin(mirror.data, &read);
}

static void store_sync_saved_catch_up(void)
{
    mirror.state(mirror.data, NULL);
    mirror.caught_up(mirror.data);
}

static void store_sync_saved_lose(void)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "gone");
    mirror.state(mirror.data, &err);
}

/* ---- One life after the other ---- */

static struct ev_loop *loop;
static struct outage outage;
static struct outage_source followed;
static struct publisher *publisher;
static struct publisher_reader *reader;
static struct store_sync *synced;

static size_t domain_count;
static bool requires_store_key;

/* Calls of this process, in order: "d" document, "s" stub zones, "c" completeness, "r" ready. */
static char calls[64];
static char document[64];
static size_t stub_zones;

static void store_sync_saved_called(char what)
{
    size_t len = strlen(calls);
    assert_true(len + 1 < sizeof(calls));
    calls[len] = what;
}

static void store_sync_saved_on_config(void *data, struct slice value)
{
    store_sync_saved_called('d');
    (void)snprintf(document, sizeof(document), "%.*s", value.ptr ? (int)value.len : 4,
                   value.ptr ? value.ptr : "none"); /* short */
}

static void store_sync_saved_on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    store_sync_saved_called('s');
    stub_zones = count;
}

static void store_sync_saved_on_completeness(void *data)
{
    store_sync_saved_called('c');
}

static void store_sync_saved_on_ready(void *data)
{
    store_sync_saved_called('r');
}

static void store_sync_saved_begin(struct snapshot_content *start)
{
    const struct dname domains[] = {dname_from("test."), dname_from("other.")};
    memset(calls, 0, sizeof(calls));
    rereads = other_starts = 0;
    loop = ev_loop_new(0);
    publisher = publisher_new();
    reader = publisher_reader_new(publisher);
    outage_init(&outage, loop, "etcd", 60000, "etcd is overdue");
    followed = (struct outage_source){.away_line = "etcd away", .back_line = "etcd back"};
    outage_join(&outage, &followed, true);
    synced = store_sync_start(&(struct store_sync_config){
        .loop = loop,
        .publisher = publisher,
        .path_prefix = "skydns",
        .domains = domains,
        .domain_count = domain_count,
        .requires_store_key = requires_store_key,
        .default_ttl_s = 30,
        .start = start,
        .followed = &followed,
        .wants_stubs = true,
        .wants_marks = true,
        .on_config = store_sync_saved_on_config,
        .on_stubs = store_sync_saved_on_stubs,
        .on_completeness = store_sync_saved_on_completeness,
        .on_ready = store_sync_saved_on_ready,
    });
}

static void store_sync_saved_end(void)
{
    store_sync_stop(synced);
    outage_fini(&outage);
    publisher_free(publisher);
    ev_loop_destroy(loop);
    synced = NULL;
}

/* Makes what the next process starts with; the caller frees it. */
static void store_sync_saved_save(struct snapshot_content *ret_content)
{
    struct snapshot_image image;
    snapshot_image_init(&image);
    assert_true(store_sync_save(synced, &image));
    image.store = store_sync_store(synced); /* stays: nothing else happens meanwhile */
    snapshot_copy(&image, ret_content);
}

static bool can_save(void)
{
    struct snapshot_image image;
    snapshot_image_init(&image);
    bool can = store_sync_save(synced, &image);
    snapshot_image_fini(&image);
    return can;
}

/* The next life starts with what this one saves. */
static void store_sync_saved_restart(void)
{
    CLEANUP(snapshot_content_fini) struct snapshot_content content;
    store_sync_saved_save(&content);
    store_sync_saved_end();
    store_sync_saved_begin(&content);
}

static int store_sync_saved_setup(void **state)
{
    domain_count = 1;
    requires_store_key = false;
    can_save_mirror = true;
    mirror_counts = (struct etcd_mirror_counts){0};
    store_sync_saved_begin(NULL);
    return 0;
}

static int store_sync_saved_teardown(void **state)
{
    if (synced) {
        store_sync_saved_end();
    }
    return 0;
}

UNIT_TESTS_EACH(store_sync_saved_setup, store_sync_saved_teardown)

/* The mod_revision of the record a reader finds; 0 = no such record, -1 = no store yet. */
static int64_t store_sync_saved_seen(const char *text)
{
    struct dname name = dname_from(text);
    int64_t revision = -1;
    const struct store *store = publisher_enter(reader);
    if (store) {
        const struct store_node *node = store_find(store, &name);
        const struct store_record *record = node ? store_node_record(node) : NULL;
        revision = record ? record->mod_revision : 0;
    }
    publisher_leave(reader);
    return revision;
}

static bool store_sync_saved_is_incomplete(const char *domain)
{
    struct dname name = dname_from(domain);
    return store_sync_is_incomplete(synced, &name);
}

static bool store_sync_saved_is_from_snapshot(void)
{
    int64_t heard_ms;
    return store_sync_is_from_snapshot(synced, &heard_ms);
}

static const char good[] = "{\"host\":\"10.0.0.1\"}";

static void store_sync_saved_put_all(void)
{
    played_put("/skydns/test/web", good, 2);
    played_put("/skydns/test/goes", good, 3);
    played_put("/skydns/test/bad", "{", 4);
    played_put("/skydns/test//name", good, 5);
    played_put("/skydns/config", "{\"ttl\":5}", 6);
    played_put("/skydns/test/dns/stub/local/acme/1", good, 7);
    played_put("/skydns/test/dns/stub/local/corp/1", "{\"text\":\"x\"}", 8);
}

/* A whole content, confirmed. */
static void store_sync_saved_read_all(const char *id)
{
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    store_sync_saved_put_all();
    played_store_key(id, true);
    played_commit(9, true);
    store_sync_saved_catch_up();
}

/* ---- Starting ---- */

UNIT_TEST(test_everything_is_there_at_once)
{
    static struct log_capture c;
    int64_t heard_ms;
    store_sync_saved_read_all("one");
    assert_string_equal(calls, "dsr");
    struct store_sync_counts before = store_sync_counts(synced);
    log_capture_begin(&c);
    store_sync_saved_restart();
    log_capture_end(&c);
    print_message("%s", c.text);
    assert_int_equal(log_occurrences(c.text, "records re"), 0); /* read, reread */
    assert_string_equal(resumed_from, saved_mirror);
    assert_true(store_sync_is_ready(synced));
    assert_string_equal(calls, "sr"); /* the document is the caller's */
    assert_int_equal(stub_zones, 2);
    assert_true(store_sync_is_from_snapshot(synced, &heard_ms));
    assert_true(heard_ms > 0 && heard_ms <= clock_wall_ms());
    struct store_sync_counts counts = store_sync_counts(synced);
    assert_int_equal(counts.keys, before.keys);
    assert_int_equal(counts.broken, before.broken);
    assert_int_equal(counts.broken, 3);
    assert_int_equal(counts.skipped, 0);
    assert_int_equal(counts.published, 1);
    assert_int_equal(counts.reads, 0);
    assert_int_equal(counts.revision, 9);
    assert_int_equal(counts.published_revision, 9);
    assert_int_equal(store_sync_saved_seen("web.test"), 2);
    assert_int_equal(store_sync_saved_seen("bad.test"), 0);
    assert_false(store_sync_saved_is_incomplete("test."));
    store_sync_saved_catch_up();
    assert_false(store_sync_saved_is_from_snapshot());
    assert_int_equal(store_sync_counts(synced).reads, 0);
    store_sync_saved_lose();
    assert_false(store_sync_saved_is_from_snapshot());
    assert_string_equal(calls, "sr");
}

UNIT_TEST(test_changes_are_applied)
{
    store_sync_saved_read_all("one");
    store_sync_saved_restart();
    played_put("/skydns/test/bad", good, 10);
    played_put("/skydns/test/web", "{", 10);
    played_del("/skydns/test/goes", 10);
    played_put("/skydns/test/new", good, 10);
    played_del("/skydns/test//name", 10);
    played_put("/skydns/config", "{\"ttl\":6}", 10);
    played_commit(10, false);
    assert_int_equal(store_sync_saved_seen("bad.test"), 10);
    assert_int_equal(store_sync_saved_seen("web.test"), 0);
    assert_int_equal(store_sync_saved_seen("goes.test"), 0);
    assert_int_equal(store_sync_saved_seen("new.test"), 10);
    assert_int_equal(store_sync_counts(synced).broken, 2); /* web, and the stub zone's */
    assert_string_equal(calls, "srd");
    assert_string_equal(document, "{\"ttl\":6}");
    played_put("/skydns/test/dns/stub/local/more/1", good, 11);
    played_del("/skydns/config", 11);
    played_commit(11, false);
    assert_string_equal(calls, "srdds");
    assert_string_equal(document, "none");
    assert_int_equal(stub_zones, 3);
}

/* Etcd is read in full, as if the snapshot were an older version. */
UNIT_TEST(test_a_full_read)
{
    static struct log_capture c;
    store_sync_saved_read_all("one");
    store_sync_saved_restart();
    log_capture_begin(&c);
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    played_put("/skydns/test/web", good, 2);
    played_put("/skydns/test/new", good, 12);
    played_put("/skydns/test/bad", "{", 4);
    assert_int_equal(store_sync_saved_seen("goes.test"), 3);
    played_store_key("one", true);
    played_commit(12, true);
    log_capture_end(&c);
    assert_int_equal(
        log_occurrences(c.text, "records read keys=2 skipped=1 revision=12 cause=first\n"), 1);
    assert_int_equal(log_occurrences(c.text, "key skipped"), 0); /* known */
    assert_int_equal(store_sync_saved_seen("goes.test"), 0);
    assert_int_equal(store_sync_saved_seen("web.test"), 2);
    assert_int_equal(store_sync_saved_seen("new.test"), 12);
    assert_string_equal(calls, "srds");
    assert_string_equal(document, "none");
    assert_int_equal(stub_zones, 0);
    assert_int_equal(store_sync_counts(synced).broken, 1);
    assert_int_equal(store_sync_counts(synced).reads, 1);
    assert_true(store_sync_saved_is_from_snapshot());
    store_sync_saved_catch_up();
    assert_false(store_sync_saved_is_from_snapshot());
}

/* An etcd that came back empty: the snapshot's records stay until it is complete. */
UNIT_TEST(test_another_store)
{
    store_sync_saved_read_all("one");
    store_sync_saved_restart();
    store_sync_saved_full_begin(ETCD_MIRROR_OTHER_STORE, true);
    played_put("/skydns/test/web", good, 1);
    played_store_key("", true);
    mirror_counts.is_holding_old = true;
    played_commit(1, true);
    store_sync_saved_catch_up();
    assert_int_equal(store_sync_saved_seen("web.test"), 1);
    assert_int_equal(store_sync_saved_seen("goes.test"), 3);
    assert_false(store_sync_saved_is_incomplete("test."));
    store_sync_saved_restart(); /* held on */
    assert_int_equal(store_sync_saved_seen("goes.test"), 3);
    assert_false(store_sync_saved_is_incomplete("test."));
    mirror_counts.is_holding_old = false; /* stale-max */
    store_sync_saved_full_begin(ETCD_MIRROR_STALE, false);
    played_store_key("", true);
    played_commit(2, true);
    assert_int_equal(store_sync_saved_seen("goes.test"), 0);
    assert_true(store_sync_saved_is_incomplete("test."));
}

UNIT_TEST(test_an_empty_store)
{
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    played_store_key("", true);
    played_commit(1, true);
    store_sync_saved_catch_up();
    store_sync_saved_restart();
    assert_string_equal(calls, "r");
    assert_int_equal(store_sync_saved_seen("web.test"), 0);
    played_put("/skydns/test/web", good, 2);
    played_commit(2, false);
    assert_int_equal(store_sync_saved_seen("web.test"), 2);
    assert_string_equal(calls, "r");
}

/* ---- Completeness ---- */

UNIT_TEST(test_a_store_key_gone_while_away)
{
    store_sync_saved_read_all("one");
    store_sync_saved_restart();
    played_store_key("", false);
    assert_true(store_sync_saved_is_incomplete("test."));
    assert_string_equal(calls, "src");
    store_sync_saved_catch_up();
    store_sync_saved_restart();
    assert_true(store_sync_saved_is_incomplete("test."));
    assert_string_equal(calls, "csr"); /* before the version, which may lack records */
    played_store_key("two", false);
    assert_int_equal(rereads, 1);
    assert_true(store_sync_saved_is_incomplete("test."));
    store_sync_saved_full_begin(ETCD_MIRROR_COMPLETE, false);
    store_sync_saved_put_all();
    played_store_key("two", true);
    played_commit(20, true);
    assert_false(store_sync_saved_is_incomplete("test."));
}

/* A store filled by hand stays one. */
UNIT_TEST(test_never_a_store_key)
{
    store_sync_saved_read_all("");
    store_sync_saved_restart();
    assert_false(store_sync_saved_is_incomplete("test."));
    played_store_key("", false);
    assert_false(store_sync_saved_is_incomplete("test."));
    played_store_key("one", false);
    assert_int_equal(rereads, 0);
}

UNIT_TEST(test_required_store_keys)
{
    store_sync_saved_read_all("");
    requires_store_key = true;
    store_sync_saved_restart();
    assert_false(store_sync_is_ready(synced));
    assert_true(store_sync_saved_is_incomplete("test."));
    assert_int_equal(store_sync_saved_seen("web.test"), 2);
    store_sync_saved_full_begin(ETCD_MIRROR_COMPLETE, false);
    store_sync_saved_put_all();
    played_store_key("one", true);
    played_commit(20, true);
    store_sync_saved_catch_up();
    assert_true(store_sync_is_ready(synced));
    store_sync_saved_restart();
    assert_true(store_sync_is_ready(synced));
    assert_false(store_sync_saved_is_incomplete("test."));
}

UNIT_TEST(test_two_domains)
{
    const struct dname both[] = {dname_from("test."), dname_from("other.")};
    store_sync_saved_read_all("one");
    store_sync_set_domains(synced, both, 2, false);
    played_other_store_key("one");
    domain_count = 2;
    store_sync_saved_restart();
    assert_false(store_sync_saved_is_incomplete("other."));
    played_other_store_key("one"); /* its mirror answers */
    assert_int_equal(rereads, 0);
    assert_false(store_sync_saved_is_incomplete("other."));
    played_other_store_key("");
    assert_true(store_sync_saved_is_incomplete("other."));
    played_other_store_key("two"); /* counts once all is read again */
    assert_int_equal(rereads, 1);
    store_sync_saved_catch_up();
    store_sync_saved_restart();
    assert_true(store_sync_saved_is_incomplete("other."));
    assert_false(store_sync_saved_is_incomplete("test."));
    played_other_store_key("two");
    assert_int_equal(rereads, 1);
    store_sync_saved_full_begin(ETCD_MIRROR_COMPLETE, false);
    store_sync_saved_put_all();
    played_store_key("one", true);
    played_commit(20, true);
    store_sync_saved_catch_up();
    assert_false(store_sync_saved_is_incomplete("other."));

    domain_count = 1; /* what was known of the other domain is not forgotten */
    store_sync_saved_restart();
    store_sync_saved_catch_up();
    store_sync_saved_restart();
    store_sync_set_domains(synced, both, 2, false);
    assert_int_equal(other_starts, 1);
    assert_false(store_sync_saved_is_incomplete("other."));
    played_other_store_key("");
    assert_true(store_sync_saved_is_incomplete("other."));
}

/* A domain of an earlier store is none of this one. */
UNIT_TEST(test_a_domain_that_comes_after_another_store)
{
    const struct dname both[] = {dname_from("test."), dname_from("other.")};
    store_sync_saved_read_all("one");
    store_sync_set_domains(synced, both, 2, false);
    played_other_store_key("one");
    store_sync_saved_restart();
    store_sync_saved_full_begin(ETCD_MIRROR_OTHER_STORE, false);
    store_sync_saved_put_all();
    played_store_key("two", true);
    played_commit(20, true);
    store_sync_set_domains(synced, both, 2, false);
    assert_true(store_sync_saved_is_incomplete("other."));
}

/* A domain without a key is told of once it is certain that the snapshot is no old one. */
UNIT_TEST(test_keys_of_another_domain)
{
    static struct log_capture c;
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    played_put("/skydns/local/cluster/svc/n/web", good, 2);
    played_commit(2, true);
    store_sync_saved_catch_up();
    log_capture_begin(&c);
    store_sync_saved_restart();
    assert_int_equal(log_occurrences(c.text, "etcd has no key of a domain"), 0);
    store_sync_saved_catch_up();
    store_sync_saved_lose();
    store_sync_saved_catch_up();
    log_capture_end(&c);
    assert_int_equal(log_occurrences(c.text, "etcd has no key of a domain"), 1);
}

/* ---- Saving ---- */

UNIT_TEST(test_what_cannot_be_saved)
{
    assert_false(can_save());
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    store_sync_saved_put_all();
    played_commit(9, true);
    assert_false(can_save()); /* what was put meanwhile is not there */
    store_sync_saved_catch_up();
    assert_true(can_save());
    store_sync_saved_lose();
    assert_true(can_save());
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    assert_false(can_save());
    store_sync_saved_lose();
    assert_false(can_save());
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    played_commit(10, true);
    assert_true(can_save());
    can_save_mirror = false;
    assert_false(can_save());
    can_save_mirror = true;
    store_sync_saved_restart();
    assert_false(can_save()); /* a snapshot's snapshot */
    played_put("/skydns/test/new", good, 11);
    played_commit(11, false);
    assert_false(can_save());
    store_sync_saved_catch_up();
    assert_true(can_save());
}

UNIT_TEST(test_the_same_bytes)
{
    struct snapshot_content a, b;
    store_sync_saved_read_all("one");
    store_sync_saved_lose();
    store_sync_saved_save(&a);
    store_sync_saved_restart();
    store_sync_saved_catch_up();
    store_sync_saved_save(&b);
    assert_string_equal(a.header.prefix, "/skydns/");
    assert_string_equal(b.header.prefix, "/skydns/");
    assert_true(dname_equal(&a.header.domain, &b.header.domain));
    assert_int_equal(a.header.revision, 9);
    assert_int_equal(b.header.revision, 9);
    assert_int_equal(a.records, b.records);
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        print_message("section %zu: %zu bytes\n", i, a.sections[i].len);
        if (i != SNAPSHOT_LEASES) { /* they begin with the time */
            assert_true(slice_equal(buf_slice(&a.sections[i]), buf_slice(&b.sections[i])));
        }
        assert_int_equal(a.sections[i].len > 0, i != SNAPSHOT_WRITERS && i != SNAPSHOT_CLIENTS &&
                                                    i != SNAPSHOT_CLIENT_RECORDS &&
                                                    i != SNAPSHOT_TOPOLOGY);
    }
    snapshot_content_fini(&a);
    snapshot_content_fini(&b);
}

/* Each makes the next image another one. */
UNIT_TEST(test_changes_are_counted)
{
    assert_int_equal(store_sync_changes(synced), 0);
    store_sync_saved_read_all("one");
    uint64_t changes = store_sync_changes(synced);
    assert_true(changes > 0);
    store_sync_saved_lose();
    played_store_key("one", false);
    store_sync_saved_catch_up();
    assert_int_equal(store_sync_changes(synced), changes);
    played_store_key("two", false);
    assert_true(store_sync_changes(synced) > changes);
    changes = store_sync_changes(synced);
    played_put("/skydns/test/bad", "[", 10); /* no new version, but a new revision */
    played_commit(10, false);
    assert_true(store_sync_changes(synced) > changes);
    store_sync_saved_restart();
    changes = store_sync_changes(synced);
    played_store_key("two", false);
    store_sync_saved_catch_up();
    changes = store_sync_changes(synced) - changes;
    assert_true(changes <= 1); /* the store key is seen for the first time */
}

/* ---- When etcd was heard from ---- */

static int64_t saved_heard_ms(void)
{
    struct snapshot_content content;
    store_sync_saved_save(&content);
    snapshot_content_fini(&content);
    return content.header.heard_ms;
}

static void assert_about_now(int64_t before_ms, int64_t heard_ms)
{
    assert_true(heard_ms >= before_ms && heard_ms <= clock_wall_ms());
}

/* The test's clock is only the monotonic one: advancing it is setting the wall clock back. */
UNIT_TEST(test_when_etcd_was_heard)
{
    enum { HOUR_MS = 3600 * 1000 };
    int64_t before_ms = clock_wall_ms(), heard_ms;
    test_clock_stop();
    assert_int_equal(store_sync_heard_ms(synced), 0);
    store_sync_saved_full_begin(ETCD_MIRROR_FIRST, false);
    played_commit(9, true);
    mirror.state(mirror.data, NULL);
    assert_int_equal(store_sync_heard_ms(synced), 0); /* not all of it yet */
    mirror.caught_up(mirror.data);
    assert_about_now(before_ms, store_sync_heard_ms(synced));
    store_sync_saved_lose();
    int64_t frozen_ms = store_sync_heard_ms(synced);
    assert_about_now(before_ms, frozen_ms);
    store_sync_saved_lose();
    test_clock_advance_ms(10000);
    assert_int_equal(store_sync_heard_ms(synced), frozen_ms);
    assert_int_equal(saved_heard_ms(), frozen_ms);
    mirror.state(mirror.data, NULL); /* what changed meanwhile is not there */
    assert_int_equal(store_sync_heard_ms(synced), frozen_ms);
    store_sync_saved_restart();
    assert_true(store_sync_is_from_snapshot(synced, &heard_ms));
    assert_int_equal(heard_ms, frozen_ms);
    assert_int_equal(store_sync_heard_ms(synced), frozen_ms);
    store_sync_saved_lose();
    assert_int_equal(store_sync_heard_ms(synced), frozen_ms);
    test_clock_advance_ms(3 * HOUR_MS);
    assert_true(store_sync_heard_ms(synced) < frozen_ms - 2 * HOUR_MS);
    before_ms = clock_wall_ms();
    store_sync_saved_catch_up();
    assert_about_now(before_ms, store_sync_heard_ms(synced));
    test_clock_run();
}

/* A file from half an hour to come: the clock was set back. */
UNIT_TEST(test_a_time_to_come)
{
    struct snapshot_content content;
    int64_t heard_ms;
    store_sync_saved_read_all("one");
    store_sync_saved_save(&content);
    store_sync_saved_end();
    content.header.heard_ms = clock_wall_ms() + 1800 * 1000;
    store_sync_saved_begin(&content);
    snapshot_content_fini(&content);
    assert_true(store_sync_is_from_snapshot(synced, &heard_ms));
    assert_true(heard_ms <= clock_wall_ms());
}

/* ---- What makes no sense ---- */

UNIT_TEST(test_sections_that_make_no_sense)
{
    static const struct {
        const char *bytes, *reason;
    } wrong[SNAPSHOT_SECTIONS] = {
        [SNAPSHOT_MIRROR] = {"else", "its marks of etcd's data set make no sense"},
        [SNAPSHOT_STORE_KEYS] = {"\x01\x01", "its store keys make no sense"},
        [SNAPSHOT_LEASES] = {"\x01", "its leases make no sense"},
        [SNAPSHOT_BROKEN] = {"\x01", "its unusable keys make no sense"},
        [SNAPSHOT_CLIENTS] = {"\x01",
                              "its addresses of nodes and visible namespaces make no sense"},
        [SNAPSHOT_MARKS] = {"\x01", "its times of revisions make no sense"},
    };
    struct snapshot_content content;
    struct err err;
    store_sync_saved_read_all("one");
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        store_sync_saved_save(&content);
        assert_true(store_sync_can_start(&content, &err));
        if (wrong[i].bytes) {
            snapshot_copy_set(&content, i, slice_str(wrong[i].bytes));
            assert_false(store_sync_can_start(&content, &err));
            assert_string_equal(err.msg, wrong[i].reason);
        }
        snapshot_content_fini(&content);
    }
    store_sync_saved_save(&content);
    int64_t heard_ms = content.header.heard_ms;
    content.header.heard_ms = 0; /* only what etcd told is saved */
    assert_false(store_sync_can_start(&content, &err));
    assert_string_equal(err.msg, "its revision and time make no sense");
    content.header.heard_ms = heard_ms;
    content.header.revision = 0;
    assert_false(store_sync_can_start(&content, &err));
    assert_string_equal(err.msg, "its revision and time make no sense");
    content.header.revision = 9;
    CLEANUP_FREE char *longest = calloc(1, CONFIG_DOCUMENT_MAX + 2);
    assert_non_null(longest);
    snapshot_copy_set(&content, SNAPSHOT_CONFIG, slice_of(longest, CONFIG_DOCUMENT_MAX + 2));
    assert_false(store_sync_can_start(&content, &err));
    snapshot_copy_set(&content, SNAPSHOT_CONFIG, slice_of(longest, CONFIG_DOCUMENT_MAX + 1));
    assert_true(store_sync_can_start(&content, &err));
    snapshot_content_fini(&content);
}

/* Leases of a record that is not among the records: sections and records make sense each by
 * themselves only. Then etcd tells all. */
UNIT_TEST(test_parts_that_do_not_fit)
{
    static const uint8_t lease[] = {
        0, 0, 0,   0, 0, 0, 0, 1,             /* saved */
        0, 0, 0,   0, 0, 0, 0, 7,             /* id */
        1, 0, 0,   0, 0, 0, 0, 0, 9,          /* known, left */
        0, 0, 0,   0, 0, 0, 0, 9,             /* granted */
        3, 1, 'x', 0,                         /* name */
        0, 0, 0,   0, 0, 0, 0, 2, 0, 0, 0, 0, /* revision, TTL */
        0, 0, 0,   0, 0, 0, 0, 0, 0,          /* ends */
    };
    static struct log_capture c;
    struct snapshot_content content;
    struct err err;
    store_sync_saved_read_all("one");
    store_sync_saved_save(&content);
    store_sync_saved_end();
    snapshot_copy_set(&content, SNAPSHOT_LEASES, slice_of(lease, sizeof(lease)));
    assert_true(store_sync_can_start(&content, &err));
    log_capture_begin(&c);
    store_sync_saved_begin(&content);
    log_capture_end(&c);
    snapshot_content_fini(&content);
    assert_string_equal(c.text, ""); /* who knows the file tells */
    assert_string_equal(resumed_from, "");
    assert_string_equal(calls, "");
    assert_false(store_sync_is_ready(synced));
    assert_false(store_sync_saved_is_from_snapshot());
    assert_int_equal(store_sync_counts(synced).broken, 0);
    assert_int_equal(store_sync_saved_seen("web.test"), -1);
    store_sync_saved_read_all("one");
    assert_string_equal(calls, "dsr");
    assert_int_equal(store_sync_saved_seen("web.test"), 2);
}
