/* transfer_source.h, between a real etcd, the records' mirror and the transfers' thread: which
 * serials zones get, and when. */
#include "skydns/transfer_source.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/sync/store_sync.h"
#include "skydns/transfer/serial.h"
#include "skydns/transfer/transfers.h"
#include "skydns/transfer_config.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 5000 };

static const char domain[] = "cluster.local.", reverse[] = "10.in-addr.arpa.";
static const char web_key[] = "/skydns/local/cluster/svc/default/web";
static const char base_key[] = "/kube2sky/cluster.local/serial";

struct feed_bed {
    struct etcd_proc *proc;
    struct ev_loop *loop;
    struct etcd *etcd;
    struct options options;
    struct publisher *publisher;
    struct zone_serials *serials;
    struct store_sync *sync;
    struct transfers *transfers;
    ev_async fed;
    struct transfer_source *feed;
    uint32_t settings_part; /* of what was configured last */
    unsigned known;
    uint32_t want; /* serial, of this zone */
    const char *zone;
    int64_t want_revision;
    struct transfer_part *part;
    pthread_mutex_t lock; /* of the part */
};

static void feed_on_part(void *data, struct transfer_part *part)
{
    struct feed_bed *b = data;
    (void)pthread_mutex_lock(&b->lock);
    b->part = part;
    (void)pthread_mutex_unlock(&b->lock);
    ev_async_send(b->loop, &b->fed);
}

static void feed_on_wake(void *data)
{
    struct feed_bed *b = data;
    ev_async_send(b->loop, &b->fed);
}

static void feed_on_fed(struct ev_loop *loop, ev_async *fed, int events)
{
}

static void feed_on_known(void *data)
{
    struct feed_bed *b = data;
    b->known++;
}

/* Publishes the options as live_config.h does, with the zones' serials. */
static void feed_configure(struct feed_bed *b)
{
    struct engine_config *config = options_engine_config(&b->options);
    const struct dname apex = dname_from(reverse);
    for (size_t i = 0; i < config->zone_count; i++) {
        config->zones[i].serial = zone_serials_of(b->serials, &config->zones[i].domain);
    }
    if (config->settings.reverse_zone_count > 0) {
        config->reverse_serials[0] = zone_serials_of(b->serials, &apex);
    }
    struct engine_config *listed = transfer_config(config);
    b->settings_part = serial_settings_part(transfer_config_hash(listed));
    engine_config_free(listed);
    publisher_configure(b->publisher, config);
}

static int feed_begin(void **state)
{
    static char program[] = "skydns", own[] = "-domain=cluster.local";
    static char schema[] = "-schema=kubernetes", zones[] = "-reverse-zones=10.0.0.0/8";
    static char to[] = "-transfer-to=10.0.0.0/8";
    char *argv[] = {program, own, schema, zones, to, NULL};
    struct feed_bed *b = calloc(1, sizeof(*b));
    struct err err;
    assert_int_equal(skydns_options_parse(5, argv, &b->options, &err), 0);
    b->proc = etcd_proc_start();
    b->loop = ev_loop_new(0);
    b->etcd = sync_client(b->loop, etcd_proc_url(b->proc), CALL_TIMEOUT_MS);
    b->publisher = publisher_new();
    b->serials = zone_serials_new();
    b->zone = domain;
    (void)pthread_mutex_init(&b->lock, NULL);
    ev_async_init(&b->fed, feed_on_fed);
    ev_async_start(b->loop, &b->fed);
    const struct transfers_config config = {
        .send = feed_on_part, .wake = feed_on_wake, .data = b, .udp_max = 512};
    assert_int_equal(transfers_new(&config, &b->transfers, &err), 0);
    assert_int_equal(transfers_start(b->transfers, &err), 0);
    *state = b;
    return 0;
}

static int feed_end(void **state)
{
    struct feed_bed *b = *state;
    transfers_stop(b->transfers);
    transfer_source_free(b->feed);
    store_sync_stop(b->sync);
    etcd_free(b->etcd);
    transfers_free(b->transfers);
    publisher_free(b->publisher);
    zone_serials_free(b->serials);
    stub_zones_unref(b->options.stubs);
    free(b->part);
    (void)pthread_mutex_destroy(&b->lock);
    ev_loop_destroy(b->loop);
    etcd_proc_free(b->proc);
    free(b);
    return 0;
}

UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_EACH(feed_begin, feed_end)
UNIT_TESTS_HAVE_THREADS

/* Follows etcd and feeds the transfers, once the options are as the test wants. */
static void feed_start(struct feed_bed *b)
{
    feed_configure(b);
    b->sync = store_sync_start(&(struct store_sync_config){.loop = b->loop,
                                                           .etcd = b->etcd,
                                                           .publisher = b->publisher,
                                                           .path_prefix = "skydns",
                                                           .domains = b->options.domains,
                                                           .domain_count = b->options.domain_count,
                                                           .default_ttl_s = 30});
    b->feed = transfer_source_new(&(struct transfer_source_config){.loop = b->loop,
                                                                   .etcd = b->etcd,
                                                                   .publisher = b->publisher,
                                                                   .sync = b->sync,
                                                                   .transfers = b->transfers,
                                                                   .known = feed_on_known,
                                                                   .data = b});
}

static int64_t feed_put(struct feed_bed *b, const char *key, const char *host)
{
    char json[64];
    (void)snprintf(json, sizeof(json), "{\"host\":\"%s\"}", host); /* fits */
    return sync_put(b->loop, b->etcd, key, slice_str(json));
}

static const struct zone_serial *feed_serial(const struct feed_bed *b, const char *zone)
{
    const struct dname apex = dname_from(zone);
    return zone_serials_of(b->serials, &apex);
}

static bool feed_has_serial(const void *data)
{
    const struct feed_bed *b = data;
    const struct zone_serial *serial = feed_serial(b, b->zone);
    return zone_serial_is_known(serial) && zone_serial_get(serial) == b->want;
}

/* Waits until the zone's serial is made of this base and revision. */
static void feed_expect(struct feed_bed *b, const char *zone, uint32_t base, int64_t revision)
{
    b->zone = zone;
    b->want = base + (uint32_t)revision + b->settings_part;
    loop_until(b->loop, feed_has_serial, b);
}

static struct serial_origin feed_origin(const struct feed_bed *b, const char *zone)
{
    const struct dname apex = dname_from(zone);
    return transfer_source_origin(b->feed, &apex);
}

static bool feed_is_known(const void *data)
{
    return ((const struct feed_bed *)data)->known > 0;
}

/* That the records are up to the revision, and the thread has done what it was given. */
static bool feed_is_followed(const void *data)
{
    const struct feed_bed *b = data;
    return store_sync_counts(b->sync).published_revision >= b->want_revision &&
           transfers_is_idle(b->transfers);
}

static void feed_follow(struct feed_bed *b, int64_t revision)
{
    b->want_revision = revision;
    loop_until(b->loop, feed_is_followed, b);
    for (int i = 0; i < 10; i++) { /* what is to be given is given */
        ev_run(b->loop, EVRUN_NOWAIT);
    }
}

/* ---- Serials ---- */

/* History tells the serials of zones that changed unwatched: not when they were read. */
UNIT_TEST_ON(test_the_first_serials, struct feed_bed *b)
{
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    const int64_t pointer = feed_put(b, "/skydns/arpa/in-addr/10/0/0/1", "web.cluster.local");
    const int64_t other = feed_put(b, "/skydns/test/other/web", "10.0.0.2");
    feed_start(b);
    assert_false(feed_origin(b, domain).is_known); /* etcd has not said what the base is */
    loop_until(b->loop, feed_is_known, b);
    assert_int_equal(store_sync_counts(b->sync).revision, other);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, web);
    feed_expect(b, reverse, ZONE_SERIAL_LOWEST, pointer);
    const struct serial_origin origin = feed_origin(b, reverse);
    const struct dname first = dname_from(domain);
    assert_true(origin.is_known && !origin.has_key && !origin.is_of_base);
    assert_true(dname_equal(&origin.domain, &first));
    assert_int_equal(origin.base, ZONE_SERIAL_LOWEST);
    assert_int_equal(origin.revision, pointer);
    assert_int_equal(origin.settings_part, b->settings_part);
    assert_int_equal(b->known, 1);
}

/* A change moves the serial of its zone alone; a base that is written, those of all zones that have
 * it. */
UNIT_TEST_ON(test_changes, struct feed_bed *b)
{
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    const int64_t pointer = feed_put(b, "/skydns/arpa/in-addr/10/0/0/1", "web.cluster.local");
    feed_start(b);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, web);
    const int64_t again = feed_put(b, web_key, "10.0.0.3");
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, again);
    feed_expect(b, reverse, ZONE_SERIAL_LOWEST, pointer);
    const int64_t base = sync_put(b->loop, b->etcd, base_key, slice_str("3000000000"));
    feed_expect(b, domain, 3000000000U, base);
    feed_expect(b, reverse, 3000000000U, base);
    struct serial_origin origin = feed_origin(b, domain);
    assert_true(origin.has_key && origin.is_of_base);
    assert_int_equal(origin.revision, base);
    const int64_t last = feed_put(b, web_key, "10.0.0.4");
    feed_expect(b, domain, 3000000000U, last);
    feed_expect(b, reverse, 3000000000U, base);
    origin = feed_origin(b, domain);
    assert_true(origin.has_key && !origin.is_of_base);
    assert_int_equal(origin.revision, last);
    assert_int_equal(b->known, 1);
}

static bool feed_lacks_base(const void *data)
{
    const struct feed_bed *b = data;
    return !feed_origin(b, domain).has_key && transfers_is_idle(b->transfers);
}

/* Another writer's key is no base. The serial stays with the contents, and goes on in a later
 * turn. */
UNIT_TEST_ON(test_a_base_that_is_no_number, struct feed_bed *b)
{
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    const int64_t base = sync_put(b->loop, b->etcd, base_key, slice_str("2100000000"));
    feed_start(b);
    feed_expect(b, domain, 2100000000U, base);
    const uint32_t shown = b->want;
    (void)sync_put(b->loop, b->etcd, base_key, slice_str("soon"));
    loop_until(b->loop, feed_lacks_base, b);
    assert_int_equal(feed_origin(b, domain).revision, web);
    assert_int_equal(feed_origin(b, domain).base, ZONE_SERIAL_LOWEST);
    const int64_t last = feed_put(b, web_key, "10.0.0.2");
    const uint32_t plain = ZONE_SERIAL_LOWEST + (uint32_t)last + b->settings_part;
    assert_true(serial_after(plain, shown) > shown);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST + (serial_after(plain, shown) - plain), last);
}

/* A domain that comes has a base and a history of its own, and leaves the first one's serial. */
UNIT_TEST_ON(test_another_domain, struct feed_bed *b)
{
    const int64_t there = feed_put(b, "/skydns/test/other/web", "10.0.0.2");
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    feed_start(b);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, web);
    const uint32_t shown = b->want, part = b->settings_part;
    b->options.domains[b->options.domain_count++] = dname_from("other.test.");
    store_sync_set_domains(b->sync, b->options.domains, b->options.domain_count, false);
    feed_configure(b);
    feed_expect(b, "other.test.", ZONE_SERIAL_LOWEST, there);
    const uint32_t own = shown - part + b->settings_part; /* the settings are others */
    assert_int_equal(zone_serial_get(feed_serial(b, domain)),
                     serial_is_after(own, shown) ? own : own + SERIAL_TURN);
    const int64_t base =
        sync_put(b->loop, b->etcd, "/kube2sky/other.test/serial", slice_str("2500000000"));
    feed_expect(b, "other.test.", 2500000000U, base);
    assert_int_equal(feed_origin(b, domain).base, ZONE_SERIAL_LOWEST);
}

/* ---- When steps are made ---- */

/* Changes within TRANSFER_SOURCE_PAUSE_MS make one step. */
UNIT_TEST_ON(test_a_pause_between_steps, struct feed_bed *b)
{
    const struct zone_serial *serial = feed_serial(b, domain);
    int64_t last = feed_put(b, web_key, "10.0.0.1");
    feed_start(b);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, last);
    const int64_t begun_ms = clock_monotonic_ms();
    uint64_t steps = 0;
    for (unsigned i = 0; i < 30; i++) {
        const uint32_t before = zone_serial_get(serial);
        last = feed_put(b, web_key, i % 2 ? "10.0.0.2" : "10.0.0.3");
        steps += zone_serial_get(serial) != before;
    }
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, last);
    assert_in_range(steps, 0,
                    1 + (uint64_t)(clock_monotonic_ms() - begun_ms) / TRANSFER_SOURCE_PAUSE_MS);
}

static bool feed_is_not_caught_up(const void *data)
{
    return !store_sync_is_caught_up(((const struct feed_bed *)data)->sync);
}

/* Nothing is given while etcd is away: what comes back may be another data set. */
UNIT_TEST_ON(test_while_etcd_is_away, struct feed_bed *b)
{
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    feed_start(b);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, web);
    const uint32_t before = b->want;
    etcd_proc_kill(b->proc);
    loop_until(b->loop, feed_is_not_caught_up, b);
    b->options.engine.ttl_s++;
    feed_configure(b);
    feed_follow(b, web);
    assert_int_equal(zone_serial_get(feed_serial(b, domain)), before);
    etcd_proc_restart(b->proc);
    const uint32_t plain = ZONE_SERIAL_LOWEST + (uint32_t)web + b->settings_part;
    feed_expect(b, domain, ZONE_SERIAL_LOWEST + (serial_after(plain, before) - plain), web);
}

/* ---- Who may transfer ---- */

static bool feed_has_part(const void *data)
{
    struct feed_bed *b = (struct feed_bed *)(uintptr_t)data;
    (void)pthread_mutex_lock(&b->lock);
    const bool has_part = b->part != NULL;
    (void)pthread_mutex_unlock(&b->lock);
    return has_part;
}

/* Asks for the zone, and returns the response code. */
static unsigned feed_axfr(struct feed_bed *b)
{
    uint8_t wire[DNS_UDP_SIZE];
    const struct dname apex = dname_from(domain);
    const struct addr client = {.v4 = {.sin_family = AF_INET}, .len = sizeof(client.v4)};
    const struct transfer_origin origin = {.transport = ENGINE_TCP, .connection = 1};
    struct writer w = writer_of(wire, sizeof(wire));
    writer_u32(&w, 7U << 16);
    writer_u32(&w, 1U << 16);
    writer_u32(&w, 0);
    writer_bytes(&w, apex.wire, apex.len);
    writer_u16(&w, DNS_TYPE_AXFR);
    writer_u16(&w, DNS_CLASS_IN);
    const struct engine_query query = {
        .wire = wire, .len = w.pos, .client = &client, .local = &client, .transport = ENGINE_TCP};
    assert_true(transfers_ask(b->transfers, &origin, &query, NULL));
    loop_until(b->loop, feed_has_part, b);
    assert_true(b->part->is_last);
    const unsigned rcode = b->part->bytes[3] & DNS_MASK_RCODE;
    free(b->part);
    b->part = NULL;
    return rcode;
}

/* While nobody may, there are no serials to wait for, and no keys of bases are read. */
UNIT_TEST_ON(test_nobody_may_transfer, struct feed_bed *b)
{
    const unsigned may = b->options.engine.transfer_count;
    const int64_t web = feed_put(b, web_key, "10.0.0.1");
    b->options.engine.transfer_count = 0;
    feed_start(b);
    loop_until(b->loop, feed_is_known, b);
    feed_follow(b, web);
    assert_false(zone_serial_is_known(feed_serial(b, domain)));
    assert_false(feed_origin(b, domain).is_known);
    assert_int_equal(feed_axfr(b), DNS_RCODE_SERVFAIL);
    b->options.engine.transfer_count = may;
    feed_configure(b);
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, web);
    assert_int_equal(feed_axfr(b), DNS_RCODE_NOERROR);
    b->options.engine.transfer_count = 0;
    feed_configure(b);
    feed_follow(b, web);
    assert_int_equal(feed_axfr(b), DNS_RCODE_SERVFAIL);
    b->options.engine.transfer_count = may;
    feed_configure(b); /* again, with the same settings */
    feed_expect(b, domain, ZONE_SERIAL_LOWEST, feed_put(b, web_key, "10.0.0.2"));
    assert_int_equal(feed_axfr(b), DNS_RCODE_NOERROR);
    assert_int_equal(b->known, 1);
}
