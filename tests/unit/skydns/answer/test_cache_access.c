/* Replies about other domains from the cache: who gets one, what it says, what is counted. Every
 * question is asked of the fast path and of the slow one, which must say the same. */
#include "tests/support/from_text.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/answer/foreign_bed.h"

static const struct fixture_key keys[] = {
    {"local/cluster/web/a", "{'host':'10.0.0.1','ttl':30}"},
};

/* The answer; aborts the test if the slow path's bytes differ. Given externals, the engine takes
 * the slow path. */
static const char *cache_access_ask(struct external_bed *b, const char *question)
{
    static uint8_t quick[ENGINE_REPLY_MAX];
    static char text[DNS_TEXT_MAX];
    struct fixture *f = b->f;
    (void)snprintf(text, sizeof(text), "%s", fixture_ask(f, question));
    size_t len = f->reply_len;
    memcpy(quick, f->reply, len);
    f->has_externals = true;
    const char *slow = fixture_ask(f, question);
    f->has_externals = false;
    assert_string_equal(text, slow);
    assert_that(f->reply_len == len && memcmp(quick, f->reply, len) == 0, "`%s`: other bytes",
                question);
    return text;
}

static void cache_access_set_up(struct external_bed *b)
{
    *b = bed_new(keys, ARRAY_LEN(keys));
}

UNIT_FIXTURE(struct external_bed, cache_access_set_up, bed_free)

UNIT_TEST_ON(replies, struct external_bed *b)
{
    static struct bed_reply r;
    assert_string_equal(cache_access_ask(b, "www.example.com. A"), "forward");
    reply_begin(&r, b, "www.example.com. A", 0x85a0); /* AA AD */
    reply_add_cname(&r, "www.example.com.", 300, "x.example.com.");
    reply_add_a(&r, "x.example.com.", 100, 1);
    assert_int_equal(bed_put(b, "www.example.com. A", &r), CACHE_HIT);
    assert_int_equal(bed_put(b, "www.example.com. A cd", &r), CACHE_HIT);
    assert_int_equal(bed_put(b, "www.example.com. A edns=512 do", &r), CACHE_HIT);
    reply_begin(&r, b, "nope.example.com. A", 0x8183);
    reply_add_soa(&r, "example.com.", 40);
    assert_int_equal(bed_put(b, "nope.example.com. A", &r), CACHE_HIT);
    b->f->now_ms += 10 * 1000;
#define QUESTION "\n? WWW.example.com. IN A"
#define RECORDS  "\n= WWW.example.com. 290 CNAME x.example.com.\n= x.example.com. 90 A 192.0.0.1"
    static const struct {
        const char *question, *want;
    } rows[] = {
        {"WWW.example.com. A", "NOERROR qr rd ra" QUESTION RECORDS},
        {"WWW.example.com. A nord", "NOERROR qr ra" QUESTION RECORDS},
        {"WWW.example.com. A tcp", "NOERROR qr rd ra" QUESTION RECORDS},
        {"WWW.example.com. A ad", "NOERROR qr rd ra ad" QUESTION RECORDS},
        {"WWW.example.com. A cd", "NOERROR qr rd ra cd" QUESTION RECORDS},
        {"WWW.example.com. A edns=1232", "NOERROR qr rd ra" QUESTION RECORDS "\nedns 1232"},
        {"WWW.example.com. A edns=1232 do",
         "NOERROR qr rd ra ad" QUESTION RECORDS "\nedns 1232 do"},
        {"WWW.example.com. A edns=1232 do cd", "forward"},
        {"WWW.example.com. A edns=1232 subnet", "forward"},
        {"WWW.example.com. AAAA", "forward"},
        {"www.example.org. A", "forward"},
        {"nope.example.com. A", "NXDOMAIN qr rd ra\n? nope.example.com. IN A"
                                "\n! example.com. 30 SOA . . 0 0 0 0 60"},
        {"WWW.example.com. ANY", "REFUSED qr rd\n? WWW.example.com. IN ANY"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_that(strcmp(cache_access_ask(b, rows[i].question), rows[i].want) == 0,
                    "`%s`:\n%s\nwant\n%s", rows[i].question, cache_access_ask(b, rows[i].question),
                    rows[i].want);
        assert_true(b->f->verdict != ENGINE_REPLY || memcmp(b->f->reply, "\x12\x34", 2) == 0);
    }
    b->f->config.settings.max_udp_size = 1232;
    b->f->store = NULL; /* not synced yet: only the slow path, and the same */
    assert_string_equal(fixture_ask(b->f, rows[0].question), rows[0].want);
}

/* Configurations and clients that get nothing from the cache. */
UNIT_TEST_ON(who, struct external_bed *b)
{
    static const char question[] = "www.example.com. A";
    struct engine_config *config = &b->f->config;
    struct ip ip;
    bed_put_addresses(b, question, "www.example.com.", 100, 1);
    bed_put_addresses(b, "single. A", "single.", 100, 1);
    bed_put_addresses(b, "www.acme.test. A", "www.acme.test.", 100, 1);
    assert_memory_equal(cache_access_ask(b, "single. A"), "NXDOMAIN qr rd ra\n", 18);
    config->settings.no_rec = true;
    assert_string_equal(cache_access_ask(b, question), "SERVFAIL qr rd\n? www.example.com. IN A");
    assert_int_equal(strncmp(cache_access_ask(b, "www.acme.test. A"), "NOERROR", 7), 0);
    config->settings.no_rec = false;

    config->allows_all = false;
    assert_string_equal(cache_access_ask(b, question), "forward");
    config->allowed_count = 2;
    assert_true(ip_parse(slice_str("10.0.0.0"), &config->allowed[0].ip));
    config->allowed[0].prefix_bits = 8;
    assert_true(ip_parse(slice_str("fd00::"), &config->allowed[1].ip));
    config->allowed[1].prefix_bits = 8;
    static const struct {
        const char *client;
        bool is_allowed;
    } clients[] = {{"fd01::1", true},   {"10.1.2.3", true}, {"192.0.2.1", false},
                   {"fd02::1", true},   {"fc00::1", false}, {"::ffff:10.0.0.1", true},
                   {"11.0.0.1", false}, {"10.0.0.1", true}};
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        assert_true(ip_parse(slice_str(clients[i].client), &ip));
        b->f->local = addr_of_ip(&ip, 1000);
        const char *got = cache_access_ask(b, question);
        assert_that((strcmp(got, "forward") != 0) == clients[i].is_allowed, "%s: %s",
                    clients[i].client, got);
        got = cache_access_ask(b, "www.acme.test. A"); /* stub zones are no exception */
        assert_int_equal(strcmp(got, "forward") != 0, clients[i].is_allowed);
    }
    config->allowed_count = 0;
    config->allows_all = true;
    config->cache = NULL;
    assert_string_equal(cache_access_ask(b, question), "forward");
    config->cache = b->cache;
    config->zones_of_others = NULL; /* then has_nameservers counts */
    assert_string_equal(cache_access_ask(b, question),
                        "SERVFAIL qr rd ra\n? www.example.com. IN A");
    config->has_nameservers = true;
    assert_string_equal(cache_access_ask(b, question), "forward");
    config->zones_of_others = b->zones;
}

/* The authority goes first, then all records with TC; a TCP client gets all. */
static unsigned cache_access_count_answers(const char *text)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, "\n= ")); at++) {
        n++;
    }
    return n;
}

UNIT_TEST_ON(sizes, struct external_bed *b)
{
    static struct bed_reply r;
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 100, 40); /* 33 + 640 */
    assert_int_equal(cache_access_count_answers(cache_access_ask(b, "www.example.com. A")), 29);
    assert_non_null(strstr(cache_access_ask(b, "www.example.com. A"), " tc"));
    assert_int_equal(cache_access_count_answers(cache_access_ask(b, "www.example.com. A edns=683")),
                     39);
    assert_non_null(strstr(cache_access_ask(b, "www.example.com. A edns=683"), " tc"));
    assert_non_null(strstr(cache_access_ask(b, "www.example.com. A edns=684"), "192.0.0.40"));
    assert_non_null(strstr(cache_access_ask(b, "www.example.com. A tcp"), "192.0.0.40"));
    b->f->now_ms += 200 * 1000; /* the error's option goes before any record */
    b->f->takes_stale = true;
    assert_null(strstr(cache_access_ask(b, "www.example.com. A edns=684"), "ede"));
    assert_null(strstr(cache_access_ask(b, "www.example.com. A edns=684"), " tc"));
    assert_non_null(strstr(cache_access_ask(b, "www.example.com. A edns=690"), "ede=3"));
    b->f->takes_stale = false;

    /* A denial without its SOA would pass for one that says for how long. */
    uint8_t soa[2 * 255 + 20] = {0};
    for (size_t at = 0; at < 254; at++) {
        soa[at] = at % 2 ? 'a' : 1;
        soa[255 + at] = at % 2 ? 'b' : 1;
    }
    soa[sizeof(soa) - 1] = 60;
    reply_begin(&r, b, "long.example.com. A", 0x8183);
    reply_add(&r, 2, "example.com.", DNS_TYPE_SOA, 1000, soa, sizeof(soa));
    assert_int_equal(bed_put(b, "long.example.com. A", &r), CACHE_HIT);
    assert_string_equal(cache_access_ask(b, "long.example.com. A"),
                        "NXDOMAIN qr tc rd ra\n? long.example.com. IN A");
    assert_non_null(strstr(cache_access_ask(b, "long.example.com. A tcp"), "\n! example.com."));

    /* A question of 34 bytes, CNAMEs of 206, 206 and 45, an SOA of 34. */
    char targets[3][256] = {"", "", "ccccccccccccccccccccccccccccccc.example.com."};
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned at = 0; at < 192; at++) {
            targets[i][at] = (char)(at % 64 == 63 ? '.' : 'a' + (int)i);
        }
        memcpy(targets[i] + 192, "example.com.", sizeof("example.com."));
    }
    reply_begin(&r, b, "gone.example.com. A", 0x8180);
    reply_add_cname(&r, "gone.example.com.", 1000, targets[0]);
    reply_add_cname(&r, targets[0], 1000, targets[1]);
    reply_add_cname(&r, targets[1], 1000, targets[2]);
    reply_add_soa(&r, "example.com.", 1000);
    assert_int_equal(bed_put(b, "gone.example.com. A", &r), CACHE_HIT);
    assert_null(strstr(cache_access_ask(b, "gone.example.com. A"), "SOA"));
    assert_non_null(strstr(cache_access_ask(b, "gone.example.com. A"), "CNAME ccc"));
    assert_null(strstr(cache_access_ask(b, "gone.example.com. A"), " tc "));
    assert_non_null(strstr(cache_access_ask(b, "gone.example.com. A tcp"), "\n! example.com."));
}

UNIT_TEST_ON(stale_and_failed, struct external_bed *b)
{
    static const char question[] = "www.example.com. A";
    static struct bed_reply r;
#define ASKED "\n? www.example.com. IN A"
    bed_fail(b, question);
    assert_string_equal(cache_access_ask(b, question), "SERVFAIL qr rd ra" ASKED);
    assert_string_equal(cache_access_ask(b, "www.example.com. A edns=512"),
                        "SERVFAIL qr rd ra" ASKED "\nedns 1232 ede=13");
    b->f->takes_stale = true; /* asked so, the resolver says why it failed */
    assert_string_equal(cache_access_ask(b, question), "forward");
    b->f->takes_stale = false;
    b->f->now_ms += 1000;
    assert_string_equal(cache_access_ask(b, question), "forward");

    bed_put_addresses(b, question, "www.example.com.", 10, 1);
    reply_begin(&r, b, "nope.example.com. A", 0x8183);
    reply_add_soa(&r, "example.com.", 10);
    assert_int_equal(bed_put(b, "nope.example.com. A", &r), CACHE_HIT);
    b->f->now_ms += 10 * 1000;
    assert_string_equal(cache_access_ask(b, question), "forward");
    b->f->takes_stale = true;
    assert_string_equal(cache_access_ask(b, "www.example.com. A edns=512"),
                        "NOERROR qr rd ra" ASKED
                        "\n= www.example.com. 30 A 192.0.0.1\nedns 1232 ede=3");
    assert_string_equal(cache_access_ask(b, "www.example.com. A edns=512"),
                        "NOERROR qr rd ra" ASKED
                        "\n= www.example.com. 30 A 192.0.0.1\nedns 1232 ede=3");
    assert_string_equal(cache_access_ask(b, "nope.example.com. A edns=512"),
                        "NXDOMAIN qr rd ra\n? nope.example.com. IN A"
                        "\n! example.com. 30 SOA . . 0 0 0 0 60\nedns 1232 ede=19");
    b->f->takes_stale = false;
    bed_fail(b, question); /* at once, for as long as it is not asked again */
    assert_string_equal(cache_access_ask(b, question),
                        "NOERROR qr rd ra" ASKED "\n= www.example.com. 30 A 192.0.0.1");
    b->f->now_ms += 1000;
    assert_string_equal(cache_access_ask(b, question), "forward");
    b->f->now_ms += BED_STALE_MS;
    b->f->takes_stale = true;
    assert_string_equal(cache_access_ask(b, question), "forward");
}

/* One hit of each kind; a miss once for a client's query. The slow path is not asked again here. */
UNIT_TEST_ON(counts, struct external_bed *b)
{
    static struct bed_reply r;
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 10, 1);
    reply_begin(&r, b, "nope.example.com. A", 0x8183);
    reply_add_soa(&r, "example.com.", 100);
    assert_int_equal(bed_put(b, "nope.example.com. A", &r), CACHE_HIT);
    bed_fail(b, "failed.example.com. A");
    (void)fixture_ask(b->f, "www.example.com. A");
    (void)fixture_ask(b->f, "nope.example.com. A");
    (void)fixture_ask(b->f, "failed.example.com. A");
    (void)fixture_ask(b->f, "absent.example.com. A");
    (void)fixture_ask(b->f, "www.example.com. A edns=512 subnet");
    b->f->is_repeated = true;
    (void)fixture_ask(b->f, "absent.example.com. A");
    b->f->now_ms += 10000;
    b->f->takes_stale = true;
    (void)fixture_ask(b->f, "www.example.com. A");
    (void)fixture_ask(b->f, "absent.example.com. A");
    (void)fixture_ask(b->f, "web.cluster.local. A"); /* ours */
    struct cache_counts sums = bed_counts(b);
    assert_int_equal(counter_get(&sums.hits_positive), 1);
    assert_int_equal(counter_get(&sums.hits_negative), 1);
    assert_int_equal(counter_get(&sums.hits_failure), 1);
    assert_int_equal(counter_get(&sums.hits_stale), 1);
    assert_int_equal(counter_get(&sums.misses), 2);
    b->f->is_repeated = b->f->takes_stale = false;
    b->f->config.allows_all = false; /* who is not known to be allowed misses nothing */
    (void)fixture_ask(b->f, "absent.example.com. A");
    assert_int_equal(bed_misses(b), 2);
    b->f->config.allows_all = true;
    b->f->config.cache = NULL; /* who may ask does, as dnsmasq counts */
    (void)fixture_ask(b->f, "absent.example.com. A");
    assert_int_equal(bed_misses(b), 3);
    b->f->config.cache = b->cache;

    static const struct {
        const char *name, *number;
    } chaos[] = {{"cachesize.bind.", "1000"},
                 {"hits.bind.", "4"},
                 {"Misses.Bind.", "3"},
                 {"insertions.bind.", "0"},
                 {"evictions.bind.", "0"}};
    for (size_t i = 0; i < ARRAY_LEN(chaos); i++) {
        char question[40], want[100];
        (void)snprintf(question, sizeof(question), "%s TXT ch", chaos[i].name);
        (void)snprintf(want, sizeof(want), "NOERROR qr aa rd ra\n? %s CH TXT\n= %s 0 CH TXT \"%s\"",
                       chaos[i].name, chaos[i].name, chaos[i].number);
        assert_string_equal(fixture_ask(b->f, question), want);
        (void)snprintf(question, sizeof(question), "%s A ch", chaos[i].name);
        assert_int_equal(strncmp(fixture_ask(b->f, question), "REFUSED", 7), 0);
    }
    b->f->config.cache = NULL;
    assert_non_null(strstr(fixture_ask(b->f, "cachesize.bind. TXT ch"), "\"0\""));
    assert_non_null(strstr(fixture_ask(b->f, "hits.bind. TXT ch"), "\"4\""));
    b->f->config.settings.chaos = false;
    assert_string_equal(fixture_ask(b->f, "hits.bind. TXT ch"),
                        "REFUSED qr rd\n? hits.bind. CH TXT");
}

/* An often used reply is asked for again shortly before its end: its first user is told, once. */
UNIT_TEST_ON(refreshes, struct external_bed *b)
{
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 100, 1);
    for (unsigned i = 0; i < CACHE_REFRESH_HITS; i++) {
        (void)fixture_ask(b->f, "www.example.com. A");
        assert_false(b->f->deferral.wants_refresh);
    }
    b->f->now_ms += 95 * 1000;
    (void)fixture_ask(b->f, "www.example.com. A");
    assert_true(b->f->deferral.wants_refresh);
    const struct dname name = dname_from("www.example.com."); /* the client's own question */
    assert_true(dname_equal(&b->f->deferral.refresh.name, &name));
    (void)fixture_ask(b->f, "www.example.com. A");
    assert_false(b->f->deferral.wants_refresh);
}

/* The same addresses, in an order that the query's random number decides. */
UNIT_TEST_ON(rotation, struct external_bed *b)
{
    unsigned first[4] = {0};
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 100, 4);
    for (b->f->random = 0; b->f->random < 100; b->f->random++) {
        assert_non_null(strstr(cache_access_ask(b, "www.example.com. A"), "A 192.0.0.1\n"));
        assert_int_equal(b->f->reply[33 + 15], 1);
    }
    b->f->config.settings.round_robin = true;
    for (uint32_t i = 0; i < 200; i++) {
        b->f->random = i * 0x9e3779b9U;
        (void)cache_access_ask(b, "www.example.com. A");
        first[b->f->reply[33 + 15] - 1]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        assert_true(first[i] > 10);
    }
}

/* The first reply says what later ones will say, but for the TTLs' age. */
UNIT_TEST_ON(first_replies, struct external_bed *b)
{
    static const char *const questions[] = {"WWW.example.com. A", "www.example.com. A edns=1232",
                                            "www.example.com. A ad", "www.example.com. A nord",
                                            "www.example.com. A tcp"};
    static struct bed_reply r;
    static char first[DNS_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        struct fixture *f = b->f;
        reply_begin(&r, b, "www.example.com. A", 0x85a0);
        reply_add_cname(&r, "www.example.com.", 1000000, "x.example.com.");
        reply_add_a(&r, "x.example.com.", 100, 1);
        reply_add_a(&r, "evil.example.org.", 100, 2);
        reply_add(&r, 2, "example.com.", DNS_TYPE_NS, 100, "\1n\0", 3);
        reply_add(&r, 3, "n.", DNS_TYPE_A, 100, "\1\2\3\4", 4);
        enum engine_transport transport = fixture_query(f, questions[i]);
        struct engine_query query = {.transport = transport,
                                     .client = &f->local,
                                     .local = &f->local,
                                     .now_ms = f->now_ms,
                                     .wire = f->query,
                                     .len = f->query_len};
        assert_true(engine_forwarded_bytes(f->engine, &query, r.wire, r.w.pos, &f->response));
        (void)dns_text(f->reply, f->response.len, first, sizeof(first));
        assert_non_null(strstr(first, " 3600 CNAME x.example.com."));
        assert_null(strstr(first, "evil"));
        assert_int_equal(bed_put(b, questions[i], &r), CACHE_HIT);
        assert_string_equal(cache_access_ask(b, questions[i]), first);
    }
    /* A response that cannot be cached is passed on as it is. */
    reply_begin(&r, b, "www.example.com. A", 0x8180);
    reply_add_a(&r, "www.example.com.", 0, 1);
    reply_add(&r, 3, "n.", DNS_TYPE_A, 100, "\1\2\3\4", 4);
    (void)fixture_query(b->f, "www.example.com. A");
    struct engine_query query = {
        .wire = b->f->query, .len = b->f->query_len, .client = &b->f->local, .local = &b->f->local};
    assert_true(engine_forwarded_bytes(b->f->engine, &query, r.wire, r.w.pos, &b->f->response));
    assert_string_equal(
        dns_text(b->f->reply, b->f->response.len, first, sizeof(first)),
        "NOERROR qr rd ra\n? www.example.com. IN A\n= www.example.com. 0 A 192.0.0.1"
        "\n+ n. 100 A 1.2.3.4");
}

/* A shared exchange: all who wait for a response, and the cache, have one image of it. */
UNIT_TEST_ON(one_image_for_all, struct external_bed *b)
{
    enum { WAITING = 50, MANY = 1000 };
    static struct bed_reply r;
    struct fixture *f = b->f;
    CLEANUP(response_parse_fini) struct parsed_response response;
    CLEANUP(cache_image_fini) struct cache_image image = {0};
    struct cache_key key = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    reply_begin(&r, b, "www.example.com. A", 0x8180);
    for (unsigned i = 0; i < MANY; i++) {
        reply_add_a(&r, "www.example.com.", 60, (uint8_t)i);
    }
    response_parse(r.wire, r.w.pos, &response);
    for (unsigned i = 0; i < WAITING; i++) {
        enum engine_transport transport =
            fixture_query(f, i % 2 ? "WWW.example.com. A tcp" : "www.example.com. A edns=1232");
        struct engine_query query = {.transport = transport,
                                     .client = &f->local,
                                     .local = &f->local,
                                     .now_ms = f->now_ms,
                                     .wire = f->query,
                                     .len = f->query_len};
        assert_true(engine_forwarded(f->engine, &query, &response, &image, &f->response));
        assert_int_equal(image.made_count, 1);
    }
    key.name = dname_from("www.example.com.");
    const uint32_t ttl_max_s = f->config.cache_limits.ttl_max_s;
    assert_int_equal(cache_image_make(&image, &key, &response, ttl_max_s), CACHE_HIT);
    assert_int_equal(image.made_count, 1); /* the cache's */
    assert_int_equal(cache_image_make(&image, &key, &response, 30), CACHE_HIT);
    assert_int_equal(image.made_count, 2); /* -rcache-ttl changes meanwhile */
}
