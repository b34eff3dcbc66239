/* client_figures.h: what /clients and skydns_namespace_queries_total say of the queries that two
 * threads have counted, when they count, and how time passes. The clock, and what answers cost, are
 * the test's own. */
#include "skydns/pages/client_figures.h"

#include <arpa/inet.h>
#include <jansson.h>

#include "common/base/clock.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/clients/client_index.h"
#include "skydns/pages/busy_clients_internal.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/worker.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { THREADS = 2, START_MS = 1000000, METRICS_MAX = 1 << 20, CLIENTS_PAGE_MAX = 4 << 20 };

static const char domain_text[] = "cluster.local.";

/* ---- What the figures ask others ---- */

static int64_t figures_clock_ms;

int64_t clock_monotonic_ms(void)
{
    return figures_clock_ms;
}

int64_t clock_monotonic_us(void)
{
    return figures_clock_ms * 1000;
}

int64_t clock_wall_s(void)
{
    return figures_clock_ms / 1000;
}

int64_t clock_wall_ms(void)
{
    return figures_clock_ms;
}

int64_t clock_wall_ns(void)
{
    return figures_clock_ms * 1000000;
}

struct worker {
    uint64_t queries;
    int64_t cpu_ns;
};

void worker_sums_add(const struct worker *worker, struct query_sums *sums)
{
    sums->queries += worker->queries;
}

int64_t worker_cpu_ns(const struct worker *worker)
{
    return worker->cpu_ns;
}

/* ---- The bed ---- */

struct figures_bed {
    struct ev_loop *loop;
    struct client_counts *counts[THREADS];
    struct worker costs[THREADS];
    struct worker *workers[THREADS];
    struct client_index *index;
    struct query_tap tap;
    struct client_figures *figures;
};

static void figures_retire(void *data, void *block, void (*fn)(void *block))
{
    (void)data;
    fn(block); /* no other thread reads */
}

/* Nobody's address is known yet. */
static void figures_start(struct figures_bed *bed, size_t labels_max)
{
    *bed = (struct figures_bed){.loop = ev_loop_new(0)};
    figures_clock_ms = START_MS;
    struct dname domain = dname_from(domain_text);
    for (size_t i = 0; i < THREADS; i++) {
        bed->counts[i] = client_counts_new();
        client_counts_set_domain(bed->counts[i], domain.len);
        bed->workers[i] = &bed->costs[i];
    }
    bed->index = client_index_new(&(struct client_index_config){.retire = figures_retire});
    query_tap_init(&bed->tap, NULL, NULL, NULL);
    bed->figures = client_figures_new(&(struct client_figures_config){.loop = bed->loop,
                                                                      .counts = bed->counts,
                                                                      .count = THREADS,
                                                                      .tap = &bed->tap,
                                                                      .index = bed->index,
                                                                      .labels_max = labels_max,
                                                                      .workers = bed->workers,
                                                                      .worker_count = THREADS});
}

static void figures_stop(struct figures_bed *bed)
{
    client_figures_free(bed->figures);
    client_index_free(bed->index);
    for (size_t i = 0; i < THREADS; i++) {
        client_counts_free(bed->counts[i]);
    }
    ev_loop_destroy(bed->loop);
}

static void client_figures_set_up(struct figures_bed *bed)
{
    figures_start(bed, 10);
}

UNIT_FIXTURE(struct figures_bed, client_figures_set_up, figures_stop)

static void figures_place(struct figures_bed *bed, const char *address, const char *ns)
{
    struct ip ip = ip_from(address);
    client_index_add(bed->index, &ip, slice_str(ns));
}

static void figures_unplace(struct figures_bed *bed, const char *address, const char *ns)
{
    struct ip ip = ip_from(address);
    client_index_remove(bed->index, &ip, slice_str(ns));
}

/* Responses of a thread to a client: for A, with these flags and one record, or none. */
static void figures_note(struct figures_bed *bed, unsigned thread, const char *address,
                         const char *name, unsigned flags, unsigned times)
{
    uint8_t bytes[512] = {[2] = (uint8_t)(flags >> 8), [3] = (uint8_t)flags, [5] = 1};
    struct addr client;
    assert_true(addr_parse_ip(slice_str(address), 53, &client));
    struct dname dname = dname_from(name);
    bytes[7] = (flags & 0xf) == DNS_RCODE_NOERROR;
    memcpy(bytes + DNS_HEADER_SIZE, dname.wire, dname.len);
    bytes[DNS_HEADER_SIZE + dname.len + 1] = DNS_TYPE_A;
    const struct response response = {.bytes = bytes, .len = 100, .name_len = dname.len};
    for (unsigned i = 0; i < times; i++) {
        client_counts_note(bed->counts[thread], &client, &response);
    }
}

static void figures_note_answers(struct figures_bed *bed, const char *address, unsigned times)
{
    figures_note(bed, 0, address, "web.prod.svc.cluster.local.", DNS_FLAG_AA, times);
}

/* The caller owns the result. */
static json_t *figures_page(struct figures_bed *bed, bool has_autopath)
{
    json_error_t error;
    CLEANUP_BUF struct buf page = buf_of(CLIENTS_PAGE_MAX);
    client_figures_write_page(bed->figures, has_autopath, &page);
    json_t *json = json_loads(buf_cstr(&page), JSON_REJECT_DUPLICATES, &error);
    assert_that(json, "%s: %s", error.text, buf_cstr(&page));
    return json;
}

/* Fails unless the item of the array is this text, in which ' stands for ". */
static void figures_expect_item(const json_t *page, const char *array, size_t i, const char *wanted)
{
    char text[1024];
    assert_in_range(snprintf(text, sizeof(text), "%s", wanted), 1, sizeof(text) - 1);
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    const json_t *item = json_array_get(json_object_get(page, array), i);
    CLEANUP_FREE char *is =
        json_dumps(item, JSON_COMPACT | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY);
    assert_non_null(is);
    assert_string_equal(is, text);
}

static size_t figures_items(const json_t *page, const char *array)
{
    return json_array_size(json_object_get(page, array));
}

static double figures_number(const json_t *page, const char *name)
{
    const json_t *number = json_object_get(page, name);
    assert_true(json_is_number(number));
    return json_number_value(number);
}

/* Writes the metric, without its name, into `out`. */
static const char *figures_metric(struct figures_bed *bed, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, "skydns_");
    buf_clear(out);
    client_figures_write_metrics(bed->figures, &page);
    return buf_cstr(out);
}

static uint64_t figures_sample(const char *metric, const char *ns, const char *result)
{
    char line[256];
    unsigned long long value = 0;
    (void)snprintf(line, sizeof(line),
                   "skydns_namespace_queries_total{namespace=\"%s\",result=\"%s\"} ", ns, result);
    const char *at = strstr(metric, line);
    assert_that(at && sscanf(at + strlen(line), "%llu", &value) == 1, "no %s in %s", line, metric);
    return value;
}

/* Two namespaces and a stranger, over both threads. */
static void figures_note_all(struct figures_bed *bed)
{
    enum { AA = DNS_FLAG_AA, NXDOMAIN = DNS_RCODE_NXDOMAIN, SERVFAIL = DNS_RCODE_SERVFAIL };
    struct addr limited;
    figures_place(bed, "10.0.0.1", "prod");
    figures_place(bed, "10.0.0.2", "shop");
    figures_note_answers(bed, "10.0.0.1", 10);
    figures_note(bed, 0, "10.0.0.1", "example.com.prod.svc.cluster.local.", AA | NXDOMAIN, 2);
    figures_note(bed, 0, "10.0.0.1", "example.com.svc.cluster.local.", AA | NXDOMAIN, 2);
    figures_note(bed, 1, "10.0.0.1", "example.com.cluster.local.", AA | NXDOMAIN, 1);
    figures_note(bed, 1, "10.0.0.1", "example.com.", 0, 4);
    figures_note(bed, 1, "10.0.0.1", "no.example.com.", NXDOMAIN, 1);
    figures_note(bed, 1, "10.0.0.2", "web.prod.svc.cluster.local.", AA | SERVFAIL, 3);
    assert_true(addr_parse_ip(slice_str("10.0.0.2"), 53, &limited));
    client_counts_note_limited(bed->counts[0], &limited);
    figures_note_answers(bed, "10.0.0.9", 2);
    bed->costs[0] = (struct worker){.queries = 30, .cpu_ns = 1000000};
    bed->costs[1] = (struct worker){.queries = 10, .cpu_ns = 3000000};
}

/* ---- The page ---- */

UNIT_TEST_ON(test_figures_of_the_page, struct figures_bed *bed)
{
    figures_note_all(bed);
    figures_clock_ms += 10000;
    json_decref(figures_page(bed, false)); /* counting begins, with what there is */
    figures_clock_ms += 10000;
    json_t *page = figures_page(bed, false);
    assert_int_equal(figures_number(page, "window_s"), 10);
    assert_int_equal(figures_number(page, "cpu_us_per_query"), 100);
    assert_int_equal(figures_number(page, "unplaced"), 0);
    assert_true(json_is_false(json_object_get(page, "autopath")));
    assert_int_equal(figures_items(page, "clients"), 3);
    figures_expect_item(page, "clients", 0,
                        "{'address':'10.0.0.1','namespace':'prod','queries':20,'lacks':0,"
                        "'misses':5,'per_s':2.0,'nxdomain_share':0.3,'external_share':0.25,"
                        "'miss_share':0.25}");
    figures_expect_item(page, "clients", 1,
                        "{'address':'10.0.0.2','namespace':'shop','queries':4,'lacks':0,"
                        "'misses':0,'per_s':0.4,'nxdomain_share':0.0,'external_share':0.0,"
                        "'miss_share':0.0}");
    figures_expect_item(page, "clients", 2,
                        "{'address':'10.0.0.9','queries':2,'lacks':0,'misses':0,'per_s':0.2,"
                        "'nxdomain_share':0.0,'external_share':0.0,'miss_share':0.0}");
    /* One detour: a trailing dot would have saved its three candidates, -autopath all five. */
    assert_int_equal(figures_items(page, "namespaces"), 3);
    figures_expect_item(page, "namespaces", 0,
                        "{'namespace':'prod','clients':1,'queries':20,'nxdomain':6,'external':5,"
                        "'misses':5,'ndots1_saves':3,'ndots1_saves_cpu_ms':0.3,"
                        "'autopath_saves':5,'autopath_saves_cpu_ms':0.5}");
    figures_expect_item(page, "namespaces", 2,
                        "{'namespace':'','clients':1,'queries':2,'nxdomain':0,'external':0,"
                        "'misses':0,'ndots1_saves':0,'ndots1_saves_cpu_ms':0.0,"
                        "'autopath_saves':0,'autopath_saves_cpu_ms':0.0}");
    assert_int_equal(figures_number(page, "namespaces_more"), 0);
    json_decref(page);
    page = figures_page(bed, true); /* nothing is left to save */
    assert_true(json_is_true(json_object_get(page, "autopath")));
    assert_int_equal(
        figures_number(json_array_get(json_object_get(page, "namespaces"), 0), "autopath_saves"),
        0);
    json_decref(page);
}

/* The page names the pod of an address that it knows. */
UNIT_TEST_ON(test_pods_of_the_page, struct figures_bed *bed)
{
    const struct client_description pod = {.ns = slice_str("prod"), .pod = slice_str("web-0")};
    struct ip ip = ip_from("10.0.0.1");
    struct client_record *record = client_index_new_record(bed->index, &ip, &pod);
    client_index_set_record(bed->index, record);
    client_index_commit(bed->index);
    figures_note_answers(bed, "10.0.0.1", 1);
    json_t *page = figures_page(bed, false);
    const json_t *client = json_array_get(json_object_get(page, "clients"), 0);
    assert_string_equal(json_string_value(json_object_get(client, "pod")), "web-0");
    assert_string_equal(json_string_value(json_object_get(client, "namespace")), "prod");
    json_decref(page);
    client_index_unset_record(bed->index, record);
    client_index_drop_record(bed->index, record);
    client_index_commit(bed->index);
}

/* Only the busiest clients are listed; the namespace counts all of them. */
UNIT_TEST_ON(test_no_more_clients_than_shown, struct figures_bed *bed)
{
    enum { CLIENTS = CLIENT_FIGURES_SHOWN + 20 };
    for (unsigned i = 1; i <= CLIENTS; i++) {
        char address[16];
        (void)snprintf(address, sizeof(address), "10.0.0.%u", i);
        figures_place(bed, address, "prod");
        figures_note_answers(bed, address, i);
    }
    json_t *page = figures_page(bed, false);
    const json_t *clients = json_object_get(page, "clients");
    assert_int_equal(json_array_size(clients), CLIENT_FIGURES_SHOWN);
    for (unsigned i = 0; i < CLIENT_FIGURES_SHOWN; i++) {
        assert_int_equal(figures_number(json_array_get(clients, i), "queries"), CLIENTS - i);
    }
    const json_t *prod = json_array_get(json_object_get(page, "namespaces"), 0);
    assert_int_equal(figures_number(prod, "clients"), CLIENTS);
    assert_int_equal(figures_number(prod, "queries"), CLIENTS * (CLIENTS + 1) / 2);
    json_decref(page);
}

/* Beyond the namespaces that are shown, the page says how many there are: the least busy. */
UNIT_TEST_ON(test_no_more_namespaces_than_shown, struct figures_bed *bed)
{
    enum { MORE = 3 };
    for (unsigned i = 0; i < CLIENT_FIGURES_NAMESPACES_SHOWN + MORE; i++) {
        char address[16], ns[16];
        (void)snprintf(address, sizeof(address), "10.0.%u.%u", i / 256, i % 256);
        (void)snprintf(ns, sizeof(ns), "n%u", i);
        figures_place(bed, address, ns);
        figures_note_answers(bed, address, i < MORE ? 1 : 2);
    }
    json_t *page = figures_page(bed, false);
    const json_t *namespaces = json_object_get(page, "namespaces");
    assert_int_equal(json_array_size(namespaces), CLIENT_FIGURES_NAMESPACES_SHOWN);
    for (unsigned i = 0; i < CLIENT_FIGURES_NAMESPACES_SHOWN; i++) {
        assert_int_equal(figures_number(json_array_get(namespaces, i), "queries"), 2);
    }
    assert_int_equal(figures_number(page, "namespaces_more"), MORE);
    json_decref(page);
}

/* A flood that nobody reads: what finds no place is counted as such, and every query once. */
UNIT_TEST_ON(test_queries_without_a_place, struct figures_bed *bed)
{
    enum { FLOOD = 4 * CLIENT_SLOTS };
    for (unsigned i = 0; i < FLOOD; i++) {
        struct addr spoofed = {.len = sizeof(spoofed.v4)};
        spoofed.v4.sin_family = AF_INET;
        spoofed.v4.sin_addr.s_addr = htonl(0x0a000000 + i);
        client_counts_note_limited(bed->counts[1], &spoofed);
    }
    json_t *page = figures_page(bed, false);
    assert_true(figures_number(page, "unplaced") > 0);
    assert_true(figures_number(page, "unplaced") < FLOOD);
    assert_int_equal(figures_items(page, "namespaces"), 1);
    assert_int_equal(
        figures_number(json_array_get(json_object_get(page, "namespaces"), 0), "queries"), FLOOD);
    json_decref(page);
}

/* ---- The metric ---- */

UNIT_TEST(test_figures_of_the_metric)
{
    CLEANUP(figures_stop) struct figures_bed bed;
    CLEANUP_BUF struct buf out = buf_of(METRICS_MAX);
    figures_start(&bed, 10);
    assert_string_equal(figures_metric(&bed, &out), ""); /* no address is known */
    figures_note_all(&bed);
    for (unsigned i = 0; i < 2; i++) { /* a second look adds nothing */
        const char *metric = figures_metric(&bed, &out);
        assert_int_equal(figures_sample(metric, "prod", "answered"), 10);
        assert_int_equal(figures_sample(metric, "prod", "nxdomain"), 5);
        assert_int_equal(figures_sample(metric, "prod", "external"), 5);
        assert_int_equal(figures_sample(metric, "prod", "nodata"), 0);
        assert_int_equal(figures_sample(metric, "shop", "failed"), 3);
        assert_int_equal(figures_sample(metric, "shop", "limited"), 1);
        assert_int_equal(figures_sample(metric, "", "answered"), 2);
    }
    figures_note_answers(&bed, "10.0.0.2", 7);
    figures_clock_ms += 10 * BUSY_PARTS * BUSY_PART_MS; /* counters never decrease */
    const char *metric = figures_metric(&bed, &out);
    assert_int_equal(figures_sample(metric, "shop", "answered"), 7);
    assert_int_equal(figures_sample(metric, "prod", "answered"), 10);
}

/* With one label, the busier namespace has it, the other one counts without a name. */
UNIT_TEST(test_one_label)
{
    CLEANUP(figures_stop) struct figures_bed bed;
    CLEANUP_BUF struct buf out = buf_of(METRICS_MAX);
    figures_start(&bed, 1);
    figures_note_all(&bed);
    const char *metric = figures_metric(&bed, &out);
    assert_int_equal(figures_sample(metric, "prod", "answered"), 10);
    assert_null(strstr(metric, "shop"));
    assert_int_equal(figures_sample(metric, "", "failed"), 3);
    assert_int_equal(figures_sample(metric, "", "answered"), 2);
}

/* ---- When threads count ---- */

/* Threads count while an address is known, and then no longer. */
UNIT_TEST_ON(test_counting_while_clients_are_known, struct figures_bed *bed)
{
    client_figures_read(bed->figures);
    assert_false(query_tap_wants_clients(&bed->tap));
    figures_place(bed, "10.0.0.1", "prod");
    client_figures_read(bed->figures);
    assert_true(query_tap_wants_clients(&bed->tap));
    figures_unplace(bed, "10.0.0.1", "prod");
    client_figures_read(bed->figures);
    assert_false(query_tap_wants_clients(&bed->tap));
}

/* Without the metric, they count from the first look at the page until nobody has looked for
 * CLIENT_FIGURES_WATCHED_MS; the metric does not exist. */
UNIT_TEST(test_counting_while_the_page_is_read)
{
    CLEANUP(figures_stop) struct figures_bed bed;
    CLEANUP_BUF struct buf out = buf_of(METRICS_MAX);
    figures_start(&bed, 0);
    figures_place(&bed, "10.0.0.1", "prod");
    client_figures_read(bed.figures);
    assert_false(query_tap_wants_clients(&bed.tap));
    json_t *page = figures_page(&bed, false);
    assert_int_equal(figures_items(page, "clients"), 0);
    assert_int_equal(figures_number(page, "cpu_us_per_query"), 0);
    json_decref(page);
    assert_true(query_tap_wants_clients(&bed.tap));
    figures_note_answers(&bed, "10.0.0.1", 3);
    assert_string_equal(figures_metric(&bed, &out), "");
    page = figures_page(&bed, false);
    assert_int_equal(figures_items(page, "clients"), 1);
    json_decref(page);
    figures_clock_ms += CLIENT_FIGURES_WATCHED_MS - 1;
    client_figures_read(bed.figures);
    assert_true(query_tap_wants_clients(&bed.tap));
    figures_clock_ms++;
    client_figures_read(bed.figures);
    assert_false(query_tap_wants_clients(&bed.tap));
}

/* Counting that begins again after a gap begins an empty window. */
UNIT_TEST_ON(test_window_after_a_gap, struct figures_bed *bed)
{
    figures_place(bed, "10.0.0.1", "prod");
    figures_note_answers(bed, "10.0.0.1", 3);
    client_figures_read(bed->figures);
    figures_unplace(bed, "10.0.0.1", "prod");
    client_figures_read(bed->figures); /* no longer */
    figures_place(bed, "10.0.0.1", "prod");
    figures_clock_ms += 5000;
    json_t *page = figures_page(bed, false);
    assert_int_equal(figures_items(page, "clients"), 0);
    assert_int_equal(figures_items(page, "namespaces"), 0);
    assert_int_equal(figures_number(page, "window_s"), 1); /* the least */
    json_decref(page);
}

/* The window grows to BUSY_PARTS parts, the oldest of which then leave one by one. */
UNIT_TEST_ON(test_window_moves_on, struct figures_bed *bed)
{
    json_t *page;
    figures_place(bed, "10.0.0.1", "prod");
    client_figures_read(bed->figures);
    for (unsigned i = 1; i < BUSY_PARTS; i++) {
        figures_note_answers(bed, "10.0.0.1", 1);
        client_figures_read(bed->figures);
        figures_clock_ms += BUSY_PART_MS;
        page = figures_page(bed, false);
        assert_int_equal(figures_number(page, "window_s"), i * (BUSY_PART_MS / 1000));
        assert_int_equal(
            figures_number(json_array_get(json_object_get(page, "clients"), 0), "queries"), i);
        json_decref(page);
    }
    figures_clock_ms += BUSY_PART_MS + 7000; /* the first part leaves */
    page = figures_page(bed, false);
    assert_int_equal(figures_number(page, "window_s"), (BUSY_PARTS - 1) * BUSY_PART_MS / 1000 + 7);
    assert_int_equal(figures_number(json_array_get(json_object_get(page, "clients"), 0), "queries"),
                     BUSY_PARTS - 2);
    json_decref(page);
    figures_clock_ms += 1000 * (int64_t)BUSY_PART_MS; /* this machine slept */
    page = figures_page(bed, false);
    assert_int_equal(figures_items(page, "clients"), 0);
    assert_int_equal(figures_number(page, "window_s"), (BUSY_PARTS - 1) * BUSY_PART_MS / 1000);
    json_decref(page);
}

static bool figures_are_read(const void *data)
{
    return client_counts_waiting(((const struct figures_bed *)data)->counts[0]) == 0;
}

/* The loop reads the counts, so that rings of replaced clients become empty. */
UNIT_TEST_ON(test_the_loop_reads, struct figures_bed *bed)
{
    figures_place(bed, "10.0.0.1", "prod");
    client_figures_read(bed->figures);
    for (unsigned round = 0; round < 2; round++) { /* the second one comes soon */
        for (unsigned i = 0; i < 3 * CLIENT_SLOTS; i++) {
            struct addr client = {.len = sizeof(client.v4)};
            client.v4.sin_family = AF_INET;
            client.v4.sin_addr.s_addr = htonl(0x0b000000 + i);
            client_counts_note_limited(bed->counts[0], &client);
        }
        assert_true(client_counts_waiting(bed->counts[0]) >= CLIENT_RING_VOTES / 8);
        loop_until(bed->loop, figures_are_read, bed);
    }
}
