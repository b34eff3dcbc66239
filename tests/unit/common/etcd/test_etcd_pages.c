/* Reading a range in pages, from a real etcd: the content, that the next page is requested before
 * the current one is delivered, and the page sizes. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_pages_internal.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/relay.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000, KEYS = 100, PAGE = 30, PAGES = 4, FDS_MAX = 256 };

/* Keys with gaps: in each part as many as this, of names that are close together. */
enum { PARTS = 4, PART_KEYS = 60, SMALL_PAGE = 5 };
static const char *const part_names[PARTS] = {"a/000", "a/7", "b-long-name/", "z"};

static struct {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct relay *relay;
    struct etcd *etcd;
    struct etcd_pages *pages;
    unsigned page_count, key_count;
    unsigned cancel_at; /* cancel on this page; 0: never */
    bool frees_at_end;  /* free on the last page */
    bool is_over;
    struct err err;
} f;

/* Bytes that have arrived at the relay, not read by this thread yet. */
static int bytes_on_the_way(void)
{
    const char *url = relay_url(f.relay);
    unsigned port = (unsigned)strtoul(strrchr(url, ':') + 1, NULL, 10);
    int sum = 0;
    for (int fd = 3; fd < FDS_MAX; fd++) {
        struct addr local = {.len = sizeof(local.v6)}, peer = {.len = sizeof(peer.v6)};
        int bytes = 0;
        bool is_ours = getsockname(fd, &local.sa, &local.len) == 0 &&
                       local.sa.sa_family == AF_INET && addr_port(&local) == port &&
                       getpeername(fd, &peer.sa, &peer.len) == 0;
        if (is_ours && ioctl(fd, FIONREAD, &bytes) == 0) {
            sum += bytes;
        }
    }
    return sum;
}

static void count_page_keys(void *data, const struct etcd_range_reply *reply)
{
    f.page_count++;
    assert_int_equal(reply->total, KEYS - f.key_count);
    for (size_t i = 0; i < reply->count; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "/pages/%06u", f.key_count++);
        assert_true(slice_equal(reply->kvs[i].key, slice_str(key)));
        assert_true(slice_equal(reply->kvs[i].value, slice_str("value")));
    }
    assert_int_equal(reply->more, f.key_count < KEYS);
    assert_true(!reply->more || bytes_on_the_way() > 0);
    if (f.page_count == f.cancel_at) {
        etcd_pages_cancel(f.pages);
    }
    if (f.frees_at_end && !reply->more) {
        etcd_pages_free(f.pages);
        f.pages = NULL;
    }
    assert_true(slice_equal(reply->kvs[0].value, slice_str("value"))); /* still valid */
    f.is_over = !reply->more || f.page_count == f.cancel_at;
}

static void etcd_pages_on_failed(void *data, const struct err *err)
{
    f.err = *err;
    f.is_over = true;
}

static bool etcd_pages_is_over(const void *data)
{
    return f.is_over;
}

static int etcd_pages_start(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    if (!etcd_proc_missing()) {
        f.proc = etcd_proc_start();
        f.relay = relay_new(f.loop, etcd_proc_port(f.proc));
        f.etcd = sync_client(f.loop, relay_url(f.relay), CALL_TIMEOUT_MS);
        (void)sync_put_many(f.loop, f.etcd, "/pages/", KEYS, slice_str("value"));
    }
    return 0;
}

static int etcd_pages_stop(void **state)
{
    etcd_pages_free(f.pages);
    etcd_free(f.etcd);
    if (f.relay) {
        relay_free(f.relay);
    }
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_ONCE(etcd_pages_start, etcd_pages_stop)

static void etcd_pages_on_connected(void *data, const struct etcd_range_reply *reply,
                                    const struct err *err)
{
    assert_true(reply && !err);
    f.is_over = true;
}

static void on_connected_or_not(void *data, const struct etcd_range_reply *reply,
                                const struct err *err)
{
    f.err = err ? *err : (struct err){.code = 0};
    f.is_over = true;
}

/* Sets f.err. */
static void connect_watch_line_or_fail(void)
{
    const struct etcd_range range = {.key = slice_str("/pages/000000")};
    f.is_over = false;
    etcd_watch_range(f.etcd, &range, false, on_connected_or_not, NULL);
    loop_until(f.loop, etcd_pages_is_over, NULL);
}

/* Pages are only requested on an open watch line. */
static void connect_watch_line(void)
{
    const struct etcd_range range = {.key = slice_str("/pages/000000")};
    f.is_over = false;
    etcd_watch_range(f.etcd, &range, false, etcd_pages_on_connected, NULL);
    loop_until(f.loop, etcd_pages_is_over, NULL);
}

static void etcd_pages_read_all(unsigned cancel_at)
{
    const struct etcd_pages_config config = {
        .etcd = f.etcd,
        .first_key = slice_str("/pages/"),
        .range_end = slice_str("/pages0"),
        .page_size = PAGE,
        .page = count_page_keys,
        .failed = etcd_pages_on_failed,
    };
    etcd_proc_need();
    connect_watch_line();
    f.page_count = f.key_count = 0;
    f.cancel_at = cancel_at;
    f.is_over = false;
    f.err = (struct err){.code = 0};
    f.pages = etcd_pages_new(&config);
    etcd_pages_read(f.pages, 0);
    loop_until(f.loop, etcd_pages_is_over, NULL);
}

static int end_reading(void **state)
{
    etcd_pages_free(f.pages);
    f.pages = NULL;
    return 0;
}

/* count_page_keys checks that each further page was requested before the previous one was
 * delivered. */
UNIT_TEST_IN(test_every_key_once_and_asked_ahead, NULL, end_reading)
{
    etcd_pages_read_all(0);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.page_count, PAGES);
    assert_int_equal(f.key_count, KEYS);
}

/* Cancelled from inside count_page_keys, then read again from the first key. */
UNIT_TEST_IN(test_cancelled_and_read_again, NULL, end_reading)
{
    etcd_pages_read_all(2);
    assert_int_equal(f.page_count, 2);
    connect_watch_line(); /* by then everything in flight has arrived */
    assert_int_equal(f.page_count, 2);
    end_reading(NULL);
    etcd_pages_read_all(0);
    assert_int_equal(f.key_count, KEYS);
}

/* Freed from inside the last count_page_keys, as by etcd_mirror_stop. */
UNIT_TEST_IN(test_freed_by_the_last_page, NULL, end_reading)
{
    f.frees_at_end = true;
    etcd_pages_read_all(0);
    f.frees_at_end = false;
    assert_int_equal(f.key_count, KEYS);
    assert_null(f.pages);
}

/* The connection is lost with a page in flight: no page is delivered after the failure. */
UNIT_TEST_IN(test_lost_connection, NULL, end_reading)
{
    etcd_pages_read_all(1);
    f.cancel_at = 0;
    f.is_over = false;
    connect_watch_line();
    f.page_count = f.key_count = 0;
    f.is_over = false;
    relay_set(f.relay, RELAY_HOLD);
    etcd_pages_read(f.pages, 0);
    relay_cut(f.relay);
    loop_until(f.loop, etcd_pages_is_over, NULL);
    assert_int_equal(f.err.code, ERR_UNAVAILABLE);
    assert_int_equal(f.page_count, 0);
    relay_set(f.relay, RELAY_OPEN);
}

/* Counts what etcd was asked for, and what it sent. */
static struct {
    unsigned keys, pages;
    char last[64];
    bool is_over;
} parts;

static void on_part_page(void *data, const struct etcd_range_reply *reply)
{
    parts.pages++;
    assert_true(reply->count > 0);
    assert_int_equal(reply->total, PARTS * PART_KEYS - parts.keys);
    for (size_t i = 0; i < reply->count; i++) {
        char key[sizeof(parts.last)];
        (void)snprintf(key, sizeof(key), "%.*s", (int)reply->kvs[i].key.len, reply->kvs[i].key.ptr);
        assert_true(strcmp(key, parts.last) > 0); /* each once, in order */
        (void)snprintf(parts.last, sizeof(parts.last), "%s", key);
    }
    parts.keys += (unsigned)reply->count;
    assert_int_equal(reply->more, parts.keys < PARTS * PART_KEYS);
    parts.is_over = !reply->more;
}

static void on_part_failed(void *data, const struct err *err)
{
    fail_msg("%s", err->msg);
}

static bool has_all_parts(const void *data)
{
    return parts.is_over;
}

/* Pages with ends of their own, of which some lie in gaps. */
UNIT_TEST_IN(test_every_key_once_across_gaps, NULL, end_reading)
{
    const struct etcd_pages_config config = {.etcd = f.etcd,
                                             .first_key = slice_str("/parts/"),
                                             .range_end = slice_str("/parts0"),
                                             .page_size = SMALL_PAGE,
                                             .page = on_part_page,
                                             .failed = on_part_failed};
    etcd_proc_need();
    for (size_t i = 0; i < PARTS; i++) {
        char prefix[32];
        (void)snprintf(prefix, sizeof(prefix), "/parts/%s", part_names[i]);
        (void)sync_put_many(f.loop, f.etcd, prefix, PART_KEYS, slice_str("value"));
    }
    connect_watch_line();
    f.pages = etcd_pages_new(&config);
    etcd_pages_read(f.pages, 0);
    loop_until(f.loop, has_all_parts, NULL);
    assert_int_equal(parts.keys, PARTS * PART_KEYS);
    assert_in_range(parts.pages, PARTS * PART_KEYS / SMALL_PAGE, PARTS * PART_KEYS);
}

struct bound_row {
    const char *first, *last, *start;
    size_t count;
    double want;
    const char *least, *most; /* least <= bound < most; NULL: there is none */
};

UNIT_TEST(test_bounds)
{
    static const struct bound_row rows[] = {
        {"/a/100", "/a/200", "/a/200", 101, 100, "/a/300", "/a/301"},
        {"/a/100", "/a/200", "/a/200", 101, 50, "/a/2\xb0", "/a/2\xb1"}, /* a digit is a byte */
        {"/a/100", "/a/200", "/a/200", 101, 0, "/a/200", "/a/201"},
        {"/a/1", "/a/10", "/a/10", 2, 1, "/a/1", "/a/2"}, /* one is the other's beginning */
        {"/a/1", "/b/1", "/b/1", 3, 4, "/d", "/e"},
        {"", "b", "b", 2, 1, "\xc4", "\xc5"},
        {"/a/0", "/a/9", "/a/9", 10, 10, "/a/C", "/a/D"}, /* where /a/ has nothing any more */
        {"/a/0", "/a/9", "/a/9", 10, 256, "/a0", "/a1"},  /* behind all of /a/ */
        {"/a/0", "/a/9", "/a/9", 10, 65536, "/b", "/c"},
        {"0", "9", "9", 10, 1000, NULL, NULL},                   /* behind all keys */
        {"/a/100", "/a/200", "/a/5", 101, 100, "/a/6", "/a/60"}, /* a gap was behind them */
        {"/a/100", "/a/200", "/b", 101, 100, "/b", "/b\2"},      /* where others begin */
    };
    CLEANUP_BUF struct buf bound = buf_of(64);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct bound_row *row = &rows[i];
        struct etcd_kv kvs[128] = {{.key = slice_str(row->first)}};
        kvs[row->count - 1].key = slice_str(row->last);
        const struct etcd_range_reply page = {.kvs = kvs, .count = row->count};
        const struct etcd_density density = etcd_pages_density(&page);
        assert_int_equal(etcd_pages_bound(&density, slice_str(row->start), row->want, &bound),
                         row->least != NULL);
        if (row->least) {
            assert_true(slice_compare(buf_slice(&bound), slice_str(row->start)) > 0);
            assert_true(slice_compare(buf_slice(&bound), slice_str(row->least)) >= 0);
            assert_true(slice_compare(buf_slice(&bound), slice_str(row->most)) < 0);
        } else {
            assert_int_equal(bound.len, 0);
        }
    }
}

/* A member that takes longer than a call may: the next read waits longer, up to a limit, until one
 * has ended. */
UNIT_TEST_IN(test_a_slow_member_gets_more_time, NULL, end_reading)
{
    enum { SHORT_MS = 40, TIMEOUTS = 3 };
    struct etcd *etcd = f.etcd;
    etcd_proc_need();
    f.etcd = sync_client(f.loop, relay_url(f.relay), SHORT_MS);
    const struct etcd_pages_config config = {.etcd = f.etcd,
                                             .first_key = slice_str("/pages/"),
                                             .range_end = slice_str("/pages0"),
                                             .page = count_page_keys,
                                             .failed = etcd_pages_on_failed};
    f.pages = etcd_pages_new(&config);
    int64_t took_ms[TIMEOUTS];
    for (int i = 0; i < TIMEOUTS; i++) {
        do { /* a busy machine may not answer within the short limit */
            f.err = (struct err){.code = 0};
            connect_watch_line_or_fail();
        } while (f.err.code);
        relay_set(f.relay, RELAY_HOLD);
        f.is_over = false;
        int64_t began_ms = clock_monotonic_ms();
        etcd_pages_read(f.pages, 0);
        loop_until(f.loop, etcd_pages_is_over, NULL);
        took_ms[i] = clock_monotonic_ms() - began_ms;
        assert_int_equal(f.err.code, ERR_TIMEOUT);
        relay_set(f.relay, RELAY_OPEN);
    }
    for (int i = 0; i < TIMEOUTS; i++) {
        assert_true(took_ms[i] >= SHORT_MS << i);
    }
    end_reading(NULL);
    etcd_free(f.etcd);
    f.etcd = etcd;
}

UNIT_TEST(test_sizes)
{
    enum { LEAST = 50, MESSAGE = 24 << 20 };
    static char value[1 << 20];
    static const struct {
        int64_t total, want;
    } rows[] = {
        {1000, 499}, /* half of the remaining 999 */
        {101, LEAST}, {1, LEAST}, {0, LEAST}, {-5, LEAST}, {INT64_MIN, LEAST},
    };
    struct etcd_kv kv = {.key = slice_str("k"), .value = slice_str("v")};
    struct etcd_range_reply page = {.kvs = &kv, .count = 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        page.total = rows[i].total;
        assert_int_equal(etcd_pages_next_size(LEAST, &page), rows[i].want);
    }
    /* Gets as many as fit a message. */
    page.total = INT64_MAX;
    kv.value = slice_of(value, 1000);
    int64_t size = etcd_pages_next_size(LEAST, &page);
    assert_true(size * 1001 < MESSAGE && size * 1100 > MESSAGE);
    kv.value = slice_of(value, sizeof(value));
    assert_true(etcd_pages_next_size(LEAST, &page) <= LEAST / 2); /* 16 of the largest fit */
}
