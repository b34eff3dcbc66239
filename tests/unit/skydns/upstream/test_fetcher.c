/* Questions through the fetcher to scripted nameservers on loopback: which zone's servers are asked
 * and how, what is kept and found again, and what questions that nobody waits for cost the others.
 */
#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/forwarder_counts.h"
#include "tests/support/from_text.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

enum { SERVERS_MAX = 3, ZONES_MAX = 4, QUESTIONS_MAX = 64 };

/* Long enough that even a busy machine answers first. */
enum { TIMEOUT_MS = 20000 };

/* A nameserver and what it says; first: its script finds the rest. */
struct server {
    struct scripted_nameserver ns;
    uint32_t ttl_s;
    uint8_t rcode;
    bool is_silent, is_truncated;
    unsigned questions; /* without probes, and each once from the same port */
    unsigned tries;     /* ns.tries before */
};

struct bed {
    struct ev_loop *loop;
    struct server servers[SERVERS_MAX];
    size_t server_count;
    struct engine_config config;
    struct cache_tally *tally;
    struct fetcher *fetcher;
    unsigned replies; /* callbacks */
    struct asked {
        struct bed *bed;
        struct forwarder_wait wait;
        unsigned calls;
        enum forwarder_outcome outcome;
    } asked[QUESTIONS_MAX];
    size_t asked_count;
};

/* ---- Nameservers ---- */

/* One address, 192.0.2.1. */
static void fetcher_reply(struct scripted_nameserver *ns)
{
    struct server *server = (struct server *)ns;
    struct reader r = reader_of(ns->message, ns->len);
    struct dname name;
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(dname_read(&r, &name));
    server->questions += name.len > 1 && ns->tries != server->tries;
    server->tries = ns->tries;
    if (server->is_silent) {
        return;
    }
    struct writer w = writer_of(ns->message, sizeof(ns->message));
    w.pos = r.pos + 4;
    ns->message[2] |= 0x80 | (server->is_truncated ? 0x02 : 0);
    ns->message[3] = 0x80 | server->rcode;
    ns->message[7] = server->rcode == 0;
    ns->message[11] = 0;
    if (server->rcode == 0) {
        writer_u16(&w, 0xc00c);
        writer_u16(&w, DNS_TYPE_A);
        writer_u16(&w, DNS_CLASS_IN);
        writer_u32(&w, server->ttl_s);
        writer_u16(&w, 4);
        writer_u32(&w, 0xc0000201);
    }
    ns->len = w.pos;
    scripted_nameserver_send(ns);
}

static struct server *fetcher_add_server(struct bed *bed)
{
    struct server *server = &bed->servers[bed->server_count++];
    scripted_nameserver_start(&server->ns, bed->loop, fetcher_reply);
    server->ttl_s = 60;
    return server;
}

/* The query's options, behind the question: their length. */
static size_t options_len(const struct scripted_nameserver *ns)
{
    struct reader r = reader_of(ns->message, ns->len);
    struct dname name;
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(dname_read(&r, &name));
    return ns->len - r.pos - 4 - EDNS_OPT_SIZE;
}

/* ---- The bed ---- */

static struct forward_zone fetcher_zone_of(const char *name, const struct server *server)
{
    struct forward_zone zone = {.name = dname_from(name), .server_count = server != NULL};
    if (server) {
        zone.servers[0] = nameserver_at(server->ns.address);
    }
    return zone;
}

/* Publishes these zones. */
static void fetcher_use(struct bed *bed, const struct forward_zone *zones, size_t count)
{
    struct zone_table *old = bed->config.zones_of_others;
    bed->config.zones_of_others = zone_table_new(zones, count, old);
    zone_table_unref(old);
    bed->config.serial++;
    assert_true(fetcher_configure(bed->fetcher, &bed->config));
    assert_false(fetcher_configure(bed->fetcher, &bed->config));
}

static void use_general(struct bed *bed, const struct server *server)
{
    const struct forward_zone root = fetcher_zone_of(".", server);
    fetcher_use(bed, &root, 1);
}

static void fetcher_start(struct bed *bed, size_t sockets_max, uint32_t timeout_ms)
{
    const struct fetcher_config config = {
        .loop = bed->loop, .sockets_max = sockets_max, .tally = bed->tally};
    const struct forwarder_rules rules = {.timeout_ms = timeout_ms};
    bed->fetcher = fetcher_new(&config);
    forwarder_set_rules(fetcher_forwarder(bed->fetcher), &rules);
}

static void fetcher_set_up(struct bed *bed)
{
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    bed->tally = cache_tally_new();
    bed->config.cache = cache_new(100);
    bed->config.cache_limits = (struct cache_limits){.ttl_max_s = 3600, .stale_ms = 3600 * 1000};
}

static void fetcher_tear_down(struct bed *bed)
{
    fetcher_free(bed->fetcher);
    for (size_t i = 0; i < bed->server_count; i++) {
        scripted_nameserver_stop(&bed->servers[i].ns);
    }
    cache_unref(bed->config.cache);
    zone_table_unref(bed->config.zones_of_others);
    cache_tally_free(bed->tally);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, fetcher_set_up, fetcher_tear_down)

static struct upstream_question fetcher_question_of(const char *name)
{
    return (struct upstream_question){
        .name = dname_from(name), .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN, .flags = DNS_FLAG_RD};
}

static void fetcher_on_reply(void *data, const struct forwarder_reply *r)
{
    struct asked *a = data;
    a->calls++;
    a->outcome = r->outcome;
    a->bed->replies++;
}

/* NULL: it cannot be asked. */
static struct asked *fetcher_try_ask(struct bed *bed, const struct upstream_question *question)
{
    struct asked *a = &bed->asked[bed->asked_count++];
    assert_true(bed->asked_count <= QUESTIONS_MAX);
    *a = (struct asked){.bed = bed, .wait = {.cb = fetcher_on_reply, .data = a}};
    return fetcher_ask(bed->fetcher, question, 0, &a->wait) == FORWARDER_ASKED ? a : NULL;
}

static struct asked *fetcher_ask_for(struct bed *bed, const struct upstream_question *question)
{
    struct asked *a = fetcher_try_ask(bed, question);
    assert_non_null(a);
    assert_int_equal(a->calls, 0);
    return a;
}

static struct asked *upstream_fetcher_ask(struct bed *bed, const char *name)
{
    const struct upstream_question question = fetcher_question_of(name);
    return fetcher_ask_for(bed, &question);
}

static const struct forwarder_counts *fetcher_counts(const struct bed *bed)
{
    return forwarder_counts(fetcher_forwarder(bed->fetcher));
}

static struct cache_counts fetcher_sums(const struct bed *bed)
{
    struct cache_counts ret;
    cache_tally_sum(bed->tally, &ret);
    return ret;
}

/* Runs the loop until no question is in flight. */
static void fetcher_settle(struct bed *bed)
{
    while (counter_get(&fetcher_counts(bed)->questions) > 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

/* The same until the server has had so many questions. */
static void wait_seen(struct bed *bed, const struct server *server, unsigned seen)
{
    while (server->ns.seen < seen) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

/* The TTL of what is found; 0: nothing, or a failure. */
static uint32_t found_ttl_s(struct bed *bed, const char *name, bool takes_stale)
{
    const struct upstream_question question = fetcher_question_of(name);
    struct slice message;
    if (fetcher_find(bed->fetcher, &question, takes_stale, &message) != FETCHER_REPLY) {
        return 0;
    }
    struct reader r = reader_of(message.ptr, message.len);
    struct dname owner;
    reader_seek(&r, DNS_HEADER_SIZE + (size_t)question.name.len + 4);
    assert_true(dname_read(&r, &owner));
    assert_true(dname_equal(&owner, &question.name));
    (void)reader_u32(&r);
    uint32_t ttl_s = reader_u32(&r);
    assert_int_equal(reader_u16(&r), 4);
    assert_int_equal(reader_u32(&r), 0xc0000201);
    assert_false(r.failed);
    assert_int_equal(reader_left(&r), 0);
    return ttl_s;
}

static enum fetcher_found upstream_fetcher_find(struct bed *bed, const char *name)
{
    const struct upstream_question question = fetcher_question_of(name);
    struct slice message;
    return fetcher_find(bed->fetcher, &question, false, &message);
}

static struct cache_key upstream_fetcher_key_of(const struct bed *bed, const char *name)
{
    struct cache_key key = {.name = dname_from(name), .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    key.zone_serial = zone_table_find(bed->config.zones_of_others, &key.name)->serial;
    return key;
}

/* Asks, some time ago, and gets the reply that a server with this TTL gives. */
static void fetcher_keep_since(struct bed *bed, const char *name, uint32_t ttl_s, int64_t ago_ms)
{
    const struct upstream_question question = fetcher_question_of(name);
    const struct cache_key key = upstream_fetcher_key_of(bed, name);
    const struct addr nameserver = bed->servers[0].ns.address;
    uint8_t message[UPSTREAM_QUERY_MAX + 16];
    size_t end = upstream_query_strip_edns(message, upstream_query_write(&question, 1, message));
    struct writer w = writer_of(message, sizeof(message));
    w.pos = end;
    writer_u16(&w, 0xc00c);
    writer_u16(&w, DNS_TYPE_A);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, ttl_s);
    writer_u16(&w, 4);
    writer_u32(&w, 0xc0000201);
    message[2] |= 0x80;
    message[3] = 0x80;
    message[7] = 1;
    assert_int_equal(cache_put_bytes(bed->config.cache, &key, message, w.pos, &nameserver,
                                     &bed->config.cache_limits, clock_monotonic_ms() - ago_ms),
                     CACHE_HIT);
}

/* So many failures, one when the time of the one before was over, that the next one is remembered
 * for half a minute. */
static void fetcher_fail_before(struct bed *bed, const char *name)
{
    const struct cache_key key = upstream_fetcher_key_of(bed, name);
    int64_t at_ms = clock_monotonic_ms() - 62 * 1000, lasts_ms = CACHE_FAILURE_FIRST_MS;
    for (unsigned i = 0; i < 6; i++) {
        cache_fail(bed->config.cache, &key, CACHE_PLAIN, at_ms);
        at_ms += lasts_ms;
        lasts_ms *= 2;
    }
}

/* Whether the question is not asked in a second from now, after so many failures. */
static bool is_waiting(const struct bed *bed, const char *name)
{
    const struct cache_key key = upstream_fetcher_key_of(bed, name);
    uint8_t records[512];
    struct cache_hit hit;
    cache_read(bed->config.cache, &key, &bed->config.cache_limits,
               clock_monotonic_ms() + CACHE_FAILURE_FIRST_MS, CACHE_PEEK, 0, records,
               sizeof(records), &hit);
    return hit.state == CACHE_FAILED;
}

/* ---- What is kept ---- */

UNIT_TEST_ON(test_a_reply_is_cached, struct bed *bed)
{
    fetcher_start(bed, 8, TIMEOUT_MS);
    use_general(bed, fetcher_add_server(bed));
    assert_int_equal(upstream_fetcher_find(bed, "www.test."), FETCHER_NOTHING);
    const struct asked *a = upstream_fetcher_ask(bed, "www.test."),
                       *b = upstream_fetcher_ask(bed, "www.test.");
    fetcher_settle(bed);
    assert_int_equal(a->outcome, FORWARDER_REPLIED);
    assert_int_equal(b->outcome, FORWARDER_REPLIED);
    assert_in_range(found_ttl_s(bed, "www.test.", false), 1, 60);
    assert_int_equal(upstream_fetcher_find(bed, "www2.test."), FETCHER_NOTHING);
    assert_int_equal(bed->servers[0].ns.seen, 1);
    struct cache_counts now = fetcher_sums(bed);
    assert_int_equal(counter_get(&now.insertions), 1);
    assert_int_equal(counter_get(&now.hits_positive), 1);
    assert_int_equal(counter_get(&now.prefetches), 0);
}

/* They are silent, or cannot be reached, or say SERVFAIL: it is not asked again at once. */
UNIT_TEST_ON(test_a_failure_is_cached, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    const struct upstream_question question = fetcher_question_of("silent.test.");
    fetcher_start(bed, 8, 50);
    use_general(bed, server);
    fetcher_fail_before(bed, "servfail.test.");
    fetcher_fail_before(bed, "silent.test.");
    server->rcode = DNS_RCODE_SERVFAIL;
    const struct asked *a = upstream_fetcher_ask(bed, "servfail.test.");
    fetcher_settle(bed);
    assert_int_equal(a->outcome, FORWARDER_FAILED);
    assert_int_equal(upstream_fetcher_find(bed, "servfail.test."), FETCHER_FAILURE);
    server->is_silent = true;
    a = fetcher_ask_for(bed, &question);
    fetcher_settle(bed);
    assert_int_equal(a->outcome, FORWARDER_SILENT);
    assert_int_equal(upstream_fetcher_find(bed, "silent.test."), FETCHER_FAILURE);
    assert_int_equal(found_ttl_s(bed, "silent.test.", true), 0);
    assert_int_equal(upstream_fetcher_find(bed, "other.test."), FETCHER_NOTHING);
    use_general(bed, NULL);
    assert_int_equal(fetcher_ask(bed->fetcher, &question, 0, NULL), FORWARDER_NO_SERVER);
}

/* Until a reply comes. */
UNIT_TEST_ON(test_an_expired_reply_bridges_failures, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    fetcher_start(bed, 8, TIMEOUT_MS);
    use_general(bed, server);
    fetcher_keep_since(bed, "www.test.", 5, 10 * 1000);
    assert_int_equal(found_ttl_s(bed, "www.test.", false), 0);
    assert_int_equal(found_ttl_s(bed, "www.test.", true), CACHE_STALE_TTL_S);
    fetcher_fail_before(bed, "www.test.");
    server->rcode = DNS_RCODE_REFUSED;
    (void)upstream_fetcher_ask(bed, "www.test.");
    fetcher_settle(bed);
    assert_int_equal(found_ttl_s(bed, "www.test.", false), CACHE_STALE_TTL_S); /* for a while */
    server->rcode = 0;
    (void)upstream_fetcher_ask(bed, "www.test.");
    fetcher_settle(bed);
    assert_in_range(found_ttl_s(bed, "www.test.", false), 31, 60);
    struct cache_counts now = fetcher_sums(bed);
    assert_int_equal(counter_get(&now.hits_stale), 2);
}

/* A server that fails for all names, silent or with SERVFAIL, and is right again: the first good
 * reply, whoever asked for it, or the first reply of a dead one, also to a probe, ends the waiting
 * of the others. */
UNIT_TEST_ON(test_a_recovery_ends_waiting, struct bed *bed)
{
    static const char *const names[] = {"a.test.", "b.test."};
    struct upstream_question question = fetcher_question_of("other.test.");
    question.flags = 0; /* it fills nothing */
    fetcher_start(bed, 8, 50);
    for (int dies = 0; dies < 2; dies++) {
        struct server *server = fetcher_add_server(bed);
        use_general(bed, server);
        fetcher_fail_before(bed, names[0]);
        fetcher_fail_before(bed, names[1]);
        assert_int_equal(upstream_fetcher_find(bed, names[0]), FETCHER_NOTHING);
        server->is_silent = dies;
        server->rcode = DNS_RCODE_SERVFAIL;
        (void)upstream_fetcher_ask(bed, names[0]);
        (void)upstream_fetcher_ask(bed, names[1]);
        fetcher_settle(bed);
        assert_int_equal(counter_get(&fetcher_counts(bed)->dead), dies);
        assert_true(is_waiting(bed, names[0]) && is_waiting(bed, names[1]));
        server->is_silent = false;
        if (dies) { /* SERVFAIL is a sign of life */
            while (counter_get(&fetcher_counts(bed)->dead) > 0) {
                ev_run(bed->loop, EVRUN_ONCE);
            }
        } else {
            server->rcode = 0;
            (void)fetcher_ask_for(bed, &question);
            fetcher_settle(bed);
        }
        assert_false(is_waiting(bed, names[0]) || is_waiting(bed, names[1]));
    }
}

/* Dead by its silence for one name, and alive by the first probe: that name waits on. */
UNIT_TEST_ON(test_a_name_that_a_server_is_silent_for, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    fetcher_start(bed, 8, 50);
    use_general(bed, server);
    fetcher_fail_before(bed, "silent.test.");
    server->is_silent = true;
    (void)upstream_fetcher_ask(bed, "silent.test."); /* two tries */
    fetcher_settle(bed);
    server->is_silent = false;
    while (counter_get(&fetcher_counts(bed)->probes) == 0 ||
           counter_get(&fetcher_counts(bed)->probing) > 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(counter_get(&fetcher_counts(bed)->dead), 0);
    assert_true(is_waiting(bed, "silent.test."));
}

/* Without RD, and for any network: each fails for itself, and waits with what others ask. */
UNIT_TEST_ON(test_every_question_that_fails_waits, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    struct upstream_question plain = fetcher_question_of("www.test."), bare = plain, subnet = plain;
    bare.flags = 0;
    subnet.subnet_len = 8;
    fetcher_start(bed, 8, TIMEOUT_MS);
    use_general(bed, server);
    server->rcode = DNS_RCODE_SERVFAIL;
    assert_false(fetcher_is_pausing(bed->fetcher, &bare));
    (void)fetcher_ask_for(bed, &bare);
    fetcher_settle(bed);
    assert_true(fetcher_is_pausing(bed->fetcher, &bare));
    assert_false(fetcher_is_pausing(bed->fetcher, &subnet));
    (void)fetcher_ask_for(bed, &subnet);
    fetcher_settle(bed);
    subnet.subnet[7]++; /* another network */
    assert_true(fetcher_is_pausing(bed->fetcher, &subnet));
    assert_int_equal(upstream_fetcher_find(bed, "www.test."),
                     FETCHER_NOTHING); /* no failure of it */
    bare.name = subnet.name = plain.name = dname_from("ftp.test.");
    assert_false(fetcher_is_pausing(bed->fetcher, &bare));
    (void)fetcher_ask_for(bed, &plain);
    fetcher_settle(bed);
    assert_true(fetcher_is_pausing(bed->fetcher, &bare));
    assert_true(fetcher_is_pausing(bed->fetcher, &subnet));
    assert_false(fetcher_is_pausing(bed->fetcher, &plain)); /* cache_read told its asker */
}

/* Nothing is cached without RD, for a client's network, or without a cache; and the reason is
 * known. */
UNIT_TEST_ON(test_what_is_not_cached, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    struct upstream_question question = fetcher_question_of("www.test.");
    struct fetcher_uncached why;
    fetcher_start(bed, 8, TIMEOUT_MS);
    use_general(bed, server);
    const struct cache_key key = upstream_fetcher_key_of(bed, "www.test.");
    for (int fails = 0; fails < 2; fails++) {
        server->rcode = fails ? DNS_RCODE_SERVFAIL : 0;
        question.flags = 0;
        (void)fetcher_ask_for(bed, &question);
        fetcher_settle(bed);
        question.flags = DNS_FLAG_RD;
        question.subnet_len = 8;
        (void)fetcher_ask_for(bed, &question);
        fetcher_settle(bed);
        question.subnet_len = 0;
        assert_int_equal(upstream_fetcher_find(bed, "www.test."), FETCHER_NOTHING);
    }
    assert_false(fetcher_uncached(bed->fetcher, &key, &why));
    server->rcode = 0;
    server->ttl_s = 0;
    (void)fetcher_ask_for(bed, &question);
    fetcher_settle(bed);
    assert_int_equal(upstream_fetcher_find(bed, "www.test."), FETCHER_NOTHING);
    assert_true(fetcher_uncached(bed->fetcher, &key, &why));
    assert_int_equal(why.verdict, CACHE_NO_TIME);
    assert_true(addr_equal(&why.nameserver, &server->ns.address));
    assert_in_range(clock_monotonic_ms() - why.at_ms, 0, TIMEOUT_MS);
    server->ttl_s = 60;
    server->is_truncated = true; /* and TCP is refused */
    scripted_nameserver_stop_listening(&server->ns);
    const struct asked *a = fetcher_ask_for(bed, &question);
    fetcher_settle(bed);
    assert_int_equal(a->outcome, FORWARDER_REPLIED); /* not a failure */
    assert_int_equal(upstream_fetcher_find(bed, "www.test."), FETCHER_NOTHING);
    assert_true(fetcher_uncached(bed->fetcher, &key, &why));
    assert_int_equal(why.verdict, CACHE_TRUNCATED);
    server->is_truncated = false;
    cache_unref(bed->config.cache);
    bed->config.cache = NULL;
    (void)fetcher_ask_for(bed, &question);
    fetcher_settle(bed);
    assert_int_equal(upstream_fetcher_find(bed, "www.test."), FETCHER_NOTHING);
}

/* ---- Refreshing ---- */

/* Whether the question will not be asked then, although the reply has expired. */
static bool will_be_failing(const struct bed *bed, const char *name, int64_t in_ms)
{
    const struct cache_key key = upstream_fetcher_key_of(bed, name);
    uint8_t records[512];
    struct cache_hit hit;
    cache_read(bed->config.cache, &key, &bed->config.cache_limits, clock_monotonic_ms() + in_ms,
               CACHE_PEEK, 0, records, sizeof(records), &hit);
    assert_int_equal(hit.state, CACHE_STALE);
    return hit.is_failing;
}

UNIT_TEST_ON(test_a_refresh, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    const struct upstream_question question = fetcher_question_of("www.test.");
    fetcher_start(bed, 16, TIMEOUT_MS);
    use_general(bed, server);
    fetcher_keep_since(bed, "www.test.", 60, 50 * 1000);
    fetcher_fail_before(bed, "www.test.");
    server->rcode = DNS_RCODE_SERVFAIL;
    fetcher_refresh(bed->fetcher, &question, 0);
    fetcher_settle(bed);
    assert_in_range(found_ttl_s(bed, "www.test.", false), 1, 10); /* still good, */
    assert_false(will_be_failing(bed, "www.test.", 15 * 1000));   /* and asked again afterwards */
    server->rcode = 0;
    fetcher_refresh(bed->fetcher, &question, 0);
    fetcher_settle(bed);
    assert_in_range(found_ttl_s(bed, "www.test.", false), 31, 60);
    assert_int_equal(server->ns.seen, 2);
    struct cache_counts now = fetcher_sums(bed);
    assert_int_equal(counter_get(&now.prefetches), 2);
    assert_int_equal(counter_get(&now.hits_failure), 0);
}

/* The third hit within the last tenth has it asked again, once. */
UNIT_TEST_ON(test_a_lookup_refreshes, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    fetcher_start(bed, 16, TIMEOUT_MS);
    use_general(bed, server);
    fetcher_keep_since(bed, "www.test.", 600, 550 * 1000);
    server->is_silent = true;
    for (unsigned i = 0; i < 2 * CACHE_REFRESH_HITS; i++) {
        assert_int_equal(counter_get(&fetcher_counts(bed)->background), i >= CACHE_REFRESH_HITS);
        assert_in_range(found_ttl_s(bed, "www.test.", false), 1, 50);
    }
    assert_int_equal(counter_get(&fetcher_counts(bed)->questions), 1);
}

/* An eighth of the sockets, and when there is no other, they give theirs away. */
UNIT_TEST_ON(test_refreshes_make_room, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    struct upstream_question question = fetcher_question_of("www.test.");
    fetcher_start(bed, 16, TIMEOUT_MS);
    use_general(bed, server);
    server->is_silent = true;
    for (question.type = 100; question.type < 110; question.type++) {
        fetcher_refresh(bed->fetcher, &question, 0);
    }
    assert_int_equal(counter_get(&fetcher_counts(bed)->background), 2);
    for (question.type = 200; question.type < 216; question.type++) {
        (void)fetcher_ask_for(bed, &question);
    }
    assert_int_equal(counter_get(&fetcher_counts(bed)->background), 0);
    assert_int_equal(counter_get(&fetcher_counts(bed)->questions), 16);
    assert_null(fetcher_try_ask(bed, &question));
    fetcher_refresh(bed->fetcher, &question, 0);
    assert_int_equal(counter_get(&fetcher_counts(bed)->questions), 16);
}

/* The question goes on, its reply is kept, and another may join it. */
UNIT_TEST_ON(test_nobody_waits_any_more, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    fetcher_start(bed, 8, TIMEOUT_MS);
    use_general(bed, server);
    server->is_silent = true;
    struct asked *a = upstream_fetcher_ask(bed, "www.test."),
                 *b = upstream_fetcher_ask(bed, "www.test.");
    wait_seen(bed, server, 1);
    forwarder_forget(&a->wait);
    forwarder_forget(&a->wait);
    assert_int_equal(counter_get(&fetcher_counts(bed)->background), 0);
    forwarder_forget(&b->wait);
    assert_int_equal(counter_get(&fetcher_counts(bed)->background), 1);
    const struct asked *c = upstream_fetcher_ask(bed, "www.test.");
    assert_int_equal(counter_get(&fetcher_counts(bed)->background), 0);
    assert_int_equal(counter_get(&fetcher_counts(bed)->questions), 1);
    server->is_silent = false;
    fetcher_reply(&server->ns);
    fetcher_settle(bed);
    assert_int_equal(a->calls + b->calls, 0);
    assert_int_equal(c->calls, 1);
    assert_int_equal(server->ns.seen, 1);
    assert_in_range(found_ttl_s(bed, "www.test.", false), 1, 60);
}

/* ---- Zones ---- */

UNIT_TEST_ON(test_a_zone_has_its_own_servers, struct bed *bed)
{
    struct server *general = fetcher_add_server(bed), *stub = fetcher_add_server(bed);
    fetcher_start(bed, 8, TIMEOUT_MS);
    const struct forward_zone zones[] = {fetcher_zone_of(".", general),
                                         fetcher_zone_of("acme.test.", stub),
                                         fetcher_zone_of("nobody.test.", NULL)};
    fetcher_use(bed, zones, 3);
    (void)upstream_fetcher_ask(bed, "www.test.");
    (void)upstream_fetcher_ask(bed, "www.acme.test.");
    (void)upstream_fetcher_ask(bed, "acme.test.");
    fetcher_settle(bed);
    assert_int_equal(bed->replies, 3);
    assert_int_equal(general->ns.seen, 1);
    assert_int_equal(stub->ns.seen, 2);
    assert_in_range(found_ttl_s(bed, "www.acme.test.", false), 1, 60);
    const struct upstream_question nobody = fetcher_question_of("www.nobody.test.");
    assert_null(fetcher_try_ask(bed, &nobody));
}

static size_t seen_options;

static void note_options(struct scripted_nameserver *ns)
{
    seen_options = options_len(ns);
    fetcher_reply(ns);
}

/* Option 65011 goes to stub zones only. */
UNIT_TEST_ON(test_stub_zones_get_the_option, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed);
    server->ns.script = note_options;
    fetcher_start(bed, 8, TIMEOUT_MS);
    const struct forward_zone zones[] = {fetcher_zone_of(".", server),
                                         fetcher_zone_of("acme.test.", server)};
    fetcher_use(bed, zones, 2);
    (void)upstream_fetcher_ask(bed, "www.test.");
    fetcher_settle(bed);
    assert_int_equal(seen_options, 0);
    (void)upstream_fetcher_ask(bed, "www.acme.test.");
    fetcher_settle(bed);
    assert_int_equal(seen_options, EDNS_STUB_SIZE);
}

/* Those in flight end with the old server's reply, which is not kept. The same question is asked
 * of the new one meanwhile. */
UNIT_TEST_ON(test_servers_change_in_flight, struct bed *bed)
{
    struct server *before = fetcher_add_server(bed), *after = fetcher_add_server(bed);
    fetcher_start(bed, 8, TIMEOUT_MS);
    before->is_silent = after->is_silent = true;
    const struct forward_zone old[] = {fetcher_zone_of(".", before),
                                       fetcher_zone_of("acme.test.", before)};
    fetcher_use(bed, old, 2);
    const struct asked *a = upstream_fetcher_ask(bed, "www.test."),
                       *b = upstream_fetcher_ask(bed, "www.acme.test.");
    wait_seen(bed, before, 2);
    before->is_silent = false;
    const struct forward_zone new[] = {fetcher_zone_of(".", after),
                                       fetcher_zone_of("acme.test.", after)};
    fetcher_use(bed, new, 2);
    const struct asked *c = upstream_fetcher_ask(bed, "www.test.");
    assert_int_equal(counter_get(&fetcher_counts(bed)->questions), 3);
    fetcher_reply(&before->ns); /* to the last question it had */
    while (b->calls == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(b->outcome, FORWARDER_REPLIED);
    struct cache_counts now = fetcher_sums(bed);
    assert_int_equal(counter_get(&now.insertions), 0);
    assert_int_equal(a->calls + c->calls, 0);
    wait_seen(bed, after, 1);
    after->is_silent = false;
    fetcher_reply(&after->ns);
    while (c->calls == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_in_range(found_ttl_s(bed, "www.test.", false), 1, 60);
}

/* A zone goes with questions in flight, which end: with a reply, or in time. */
UNIT_TEST_ON(test_a_zone_goes_in_flight, struct bed *bed)
{
    struct server *general = fetcher_add_server(bed), *stub = fetcher_add_server(bed);
    struct upstream_states states;
    fetcher_start(bed, 8, 50);
    stub->is_silent = true;
    const struct forward_zone zones[] = {fetcher_zone_of(".", general),
                                         fetcher_zone_of("acme.test.", stub)};
    fetcher_use(bed, zones, 2);
    const uint32_t serial = upstream_fetcher_key_of(bed, "acme.test.").zone_serial;
    assert_false(forwarder_zone_state(fetcher_forwarder(bed->fetcher), serial, &states));
    const struct asked *a = upstream_fetcher_ask(bed, "www.acme.test.");
    assert_true(forwarder_zone_state(fetcher_forwarder(bed->fetcher), serial, &states));
    wait_seen(bed, stub, 1);
    use_general(bed, general);
    assert_false(forwarder_zone_state(fetcher_forwarder(bed->fetcher), serial, &states));
    fetcher_settle(bed);
    assert_int_equal(a->outcome, FORWARDER_SILENT);
    assert_int_equal(upstream_fetcher_find(bed, "www.acme.test."), FETCHER_NOTHING);
    const struct asked *b = upstream_fetcher_ask(bed, "www.acme.test.");
    fetcher_settle(bed);
    assert_int_equal(b->outcome, FORWARDER_REPLIED);
    assert_int_equal(general->ns.seen, 1);
}

/* A dead zone: its sockets are limited, its servers are known as dead, another zone's are not. */
UNIT_TEST_ON(test_a_dead_zone_beside_a_living_one, struct bed *bed)
{
    enum { SOCKETS = 16 };
    struct server *general = fetcher_add_server(bed), *stub = fetcher_add_server(bed);
    struct upstream_question question = fetcher_question_of("www.acme.test.");
    struct upstream_states states;
    fetcher_start(bed, SOCKETS, 500);
    stub->is_silent = true;
    const struct forward_zone zones[] = {fetcher_zone_of(".", general),
                                         fetcher_zone_of("acme.test.", stub)};
    fetcher_use(bed, zones, 2);
    const uint32_t serial = upstream_fetcher_key_of(bed, "acme.test.").zone_serial;
    unsigned asked = 0;
    for (unsigned i = 0; i < SOCKETS; i++) {
        question.name.wire[1] = (uint8_t)('a' + i);
        asked += fetcher_try_ask(bed, &question) != NULL;
    }
    assert_int_equal(asked, SOCKETS / 2);
    const struct asked *a = upstream_fetcher_ask(bed, "www.test.");
    while (a->calls == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(a->outcome, FORWARDER_REPLIED);
    fetcher_settle(bed);
    assert_true(forwarder_zone_state(fetcher_forwarder(bed->fetcher), serial, &states));
    assert_int_equal(states.dead, 1);
    assert_int_equal(states.looping, 0);
    assert_int_equal(states.asked, 1);
    assert_true(states.failed_s[0] > 0 && states.turned_s[0] > 0);
    assert_int_equal(counter_get(&fetcher_counts(bed)->servers), 1);
    assert_int_equal(counter_get(&fetcher_counts(bed)->dead), 0); /* of the general ones */
    const uint32_t root = upstream_fetcher_key_of(bed, "www.test.").zone_serial;
    assert_true(forwarder_zone_state(fetcher_forwarder(bed->fetcher), root, &states));
    assert_int_equal(states.dead, 0);
    assert_int_equal(states.asked, 1);
    assert_int_equal(states.failed_s[0], 0);
}

/* Others take more than a zone left them: its questions go on, with a socket each. */
UNIT_TEST_ON(test_a_share_that_shrinks, struct bed *bed)
{
    enum { SOCKETS = 16, STUB = 8, GENERAL = 4 };
    struct server *general = fetcher_add_server(bed), *stub = fetcher_add_server(bed);
    struct upstream_question question = fetcher_question_of("www.acme.test.");
    fetcher_start(bed, SOCKETS, 200);
    general->is_silent = stub->is_silent = true;
    const struct forward_zone zones[] = {fetcher_zone_of(".", general),
                                         fetcher_zone_of("acme.test.", stub)};
    fetcher_use(bed, zones, 2);
    for (question.type = 100; question.type < 100 + STUB; question.type++) {
        (void)fetcher_ask_for(bed, &question);
    }
    question.name = dname_from("www.test.");
    for (question.type = 100; question.type < 100 + GENERAL; question.type++) {
        (void)fetcher_ask_for(bed, &question);
    }
    fetcher_settle(bed);
    for (unsigned i = 0; i < 12 * SOCKETS; i++) { /* they read what they were sent, one by one */
        ev_run(bed->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(stub->questions, 2 * STUB); /* each has been tried twice */
    assert_int_equal(general->questions, 2 * GENERAL);
}

/* A server that stays in a zone's list keeps its state; one of another zone has its own. */
UNIT_TEST_ON(test_servers_that_stay_keep_their_state, struct bed *bed)
{
    struct server *server = fetcher_add_server(bed), *other = fetcher_add_server(bed);
    struct upstream_states states;
    fetcher_start(bed, 8, 50);
    server->is_silent = true;
    use_general(bed, server);
    (void)upstream_fetcher_ask(bed, "www.test.");
    (void)upstream_fetcher_ask(bed, "ftp.test.");
    fetcher_settle(bed);
    assert_int_equal(counter_get(&fetcher_counts(bed)->dead), 1);
    struct forward_zone zones[] = {fetcher_zone_of(".", other),
                                   fetcher_zone_of("acme.test.", server)};
    zones[0].servers[zones[0].server_count++] = nameserver_at(server->ns.address);
    fetcher_use(bed, zones, 2);
    assert_int_equal(counter_get(&fetcher_counts(bed)->servers), 2);
    assert_int_equal(counter_get(&fetcher_counts(bed)->dead), 1);
    const uint32_t root = upstream_fetcher_key_of(bed, "www.test.").zone_serial;
    assert_true(forwarder_zone_state(fetcher_forwarder(bed->fetcher), root, &states));
    assert_int_equal(states.dead, 2); /* the second one */
    server->is_silent = false;
    (void)upstream_fetcher_ask(bed, "www.acme.test.");
    while (bed->replies < 2) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    const uint32_t stub = upstream_fetcher_key_of(bed, "acme.test.").zone_serial;
    assert_true(forwarder_zone_state(fetcher_forwarder(bed->fetcher), stub, &states));
    assert_int_equal(states.dead, 0);
    assert_int_equal(counter_get(&fetcher_counts(bed)->dead), 1); /* until it answers a probe */
}

/* More dead servers of stub zones than are probed at once: all have their turn. */
UNIT_TEST_ON(test_every_dead_server_is_probed, struct bed *bed)
{
    enum { DEAD = 16, WAIT_MS = 20000 };
    struct server *dead = fetcher_add_server(bed), *late = fetcher_add_server(bed);
    struct forward_zone zones[DEAD + 2] = {fetcher_zone_of(".", NULL),
                                           fetcher_zone_of("late.test.", late)};
    char name[32];
    fetcher_start(bed, 64, 50);
    dead->is_silent = late->is_silent = true;
    for (unsigned i = 0; i < DEAD; i++) {
        (void)snprintf(name, sizeof(name), "z%u.test.", i);
        zones[2 + i] = fetcher_zone_of(name, dead);
    }
    fetcher_use(bed, zones, DEAD + 2);
    for (unsigned i = 0; i < DEAD; i++) {
        (void)snprintf(name, sizeof(name), "z%u.test.", i);
        (void)upstream_fetcher_ask(bed, name);
    }
    while (counter_get(&fetcher_counts(bed)->probing) < DEAD) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    (void)upstream_fetcher_ask(bed, "late.test.");
    fetcher_settle(bed);
    const int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (late->ns.tries == late->questions && clock_monotonic_ms() < until_ms) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_not_equal(late->ns.tries, late->questions);
}
