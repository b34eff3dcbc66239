/* How descriptors are shared out, for several limits, and that the soft limit is raised. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "skydns/confine/process_limits.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { ALL_WANT = 20832, PART_WANTS = 10000, WITH_STREAMS = 31376 };

static const struct descriptor_wants plain = {
    .most = {.connections = PART_WANTS, .nameservers = PART_WANTS}, .handshakes = 256};
static const struct descriptor_wants streams = {
    .most = {.connections = PART_WANTS, .streams = PART_WANTS, .nameservers = PART_WANTS},
    .handshakes = 256};

UNIT_TEST(test_shares)
{
    static const struct {
        size_t limit, want;
    } rows[] = {
        {0, 1},         {1, 1},         {16, 4},         {256, 64},        {639, 160},
        {640, 160},     {1024, 256},    {4096, 1632},    {20000, 9584},    {20831, 9999},
        {20832, 10000}, {65536, 10000}, {524288, 10000}, {1048576, 10000}, {SIZE_MAX, 10000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct descriptor_shares got = descriptor_limit_share(rows[i].limit, &plain);
        assert_that(got.connections == rows[i].want && got.nameservers == rows[i].want,
                    "of %zu: %zu and %zu, expected %zu", rows[i].limit, got.connections,
                    got.nameservers, rows[i].want);
        assert_int_equal(got.streams, 0);
    }
}

UNIT_TEST(test_shares_with_streams)
{
    static const struct {
        size_t limit, want;
    } rows[] = {
        {0, 1},         {1, 1},          {16, 2},           {256, 42},     {704, 117},
        {1024, 170},    {1216, 202},     {4096, 906},       {31375, 9999}, {31376, 10000},
        {65536, 10000}, {524288, 10000}, {SIZE_MAX, 10000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct descriptor_shares got = descriptor_limit_share(rows[i].limit, &streams);
        assert_that(got.connections == rows[i].want && got.nameservers == rows[i].want &&
                        got.streams == rows[i].want,
                    "of %zu: %zu, %zu and %zu, expected %zu", rows[i].limit, got.connections,
                    got.streams, got.nameservers, rows[i].want);
    }
}

/* Pages that stay open are of everything else: they leave connections as they are. */
UNIT_TEST(test_pages_are_reserved)
{
    struct descriptor_wants wants = plain;
    wants.pages = 1000;
    assert_int_equal(descriptor_limit_share(ALL_WANT + 1000, &wants).connections, PART_WANTS);
    assert_int_equal(descriptor_limit_share(ALL_WANT, &wants).connections, PART_WANTS - 500);
    assert_int_equal(descriptor_limit_pages(0), 0);
    assert_int_equal(descriptor_limit_pages(1), 1);
}

/* A larger limit shrinks no share, and the rest always keeps as many as connections get, or all it
 * can want. */
UNIT_TEST(test_everyone_keeps_a_part)
{
    static const struct {
        const struct descriptor_wants *wants;
        size_t all, parts;
    } rows[] = {{&plain, ALL_WANT, 2}, {&streams, WITH_STREAMS, 3}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t before = 0, rest_wants = rows[i].all - rows[i].parts * PART_WANTS;
        for (size_t limit = 6; limit < 2 * rows[i].all; limit++) {
            struct descriptor_shares got = descriptor_limit_share(limit, rows[i].wants);
            size_t rest = limit - got.connections - got.streams - got.nameservers;
            assert_true(got.connections >= before);
            assert_true(rest >= got.connections || rest >= rest_wants);
            before = got.connections;
        }
    }
}

/* Raised from a small soft limit to what is wanted, or to the hard limit; warns only below that. */
static void check_that_the_soft_limit_is_raised(const struct descriptor_wants *wants, size_t all)
{
    static struct log_capture log;
    struct rlimit before, after;
    char line[128];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit small = {.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    log_capture_begin(&log);
    struct descriptor_shares got = descriptor_limit_raise(wants);
    const char *text = log_capture_end(&log);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    size_t want = before.rlim_max < all ? before.rlim_max : all;
    assert_int_equal(after.rlim_cur, want);
    assert_int_equal(after.rlim_max, before.rlim_max);
    assert_int_equal(got.connections, descriptor_limit_share(want, wants).connections);
    (void)snprintf(line, sizeof(line), "limit=%zu wanted=%zu connections=%zu", want, all,
                   got.connections);
    assert_int_equal(log_occurrences(text, line), want < all);
    assert_int_equal(log_occurrences(text, "warn"), want < all);
}

UNIT_TEST(test_soft_limit_is_raised)
{
    check_that_the_soft_limit_is_raised(&plain, ALL_WANT);
    check_that_the_soft_limit_is_raised(&streams, WITH_STREAMS);
}

/* Its size, in places. */
static size_t table_size(void)
{
    char line[128];
    size_t size = 0;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (size == 0 && fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "FDSize: %zu", &size);
    }
    assert_int_equal(fclose(file), 0);
    return size;
}

/* No later descriptor makes it grow; the soft limit stays. */
UNIT_TEST(test_the_table_has_its_size)
{
    struct rlimit before, after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const size_t want =
        before.rlim_max < DESCRIPTOR_TABLE_SIZE ? before.rlim_max : DESCRIPTOR_TABLE_SIZE;
    assert_in_range(WITH_STREAMS, 0, DESCRIPTOR_TABLE_SIZE);
    descriptor_table_make();
    assert_true(table_size() >= want);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_int_equal(after.rlim_cur, before.rlim_cur);
    assert_int_equal(fcntl((int)want - 1, F_GETFD), -1);
}

/* Must be the last test: a lowered hard limit stays. */
UNIT_TEST(test_a_small_hard_limit)
{
    static struct log_capture log;
    struct rlimit small = {.rlim_cur = 100, .rlim_max = 256};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    log_capture_begin(&log);
    struct descriptor_shares got = descriptor_limit_raise(&plain);
    const char *text = log_capture_end(&log);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &small), 0);
    assert_int_equal(small.rlim_cur, 256);
    assert_int_equal(got.connections, 64);
    assert_int_equal(log_occurrences(text, "raise LimitNOFILE= or ulimit -n limit=256 wanted=20832 "
                                           "connections=64 nameserver_queries=64"),
                     1);
    log_capture_begin(&log);
    got = descriptor_limit_raise(&streams);
    text = log_capture_end(&log);
    assert_int_equal(got.streams, 42);
    assert_int_equal(log_occurrences(text, "raise LimitNOFILE= or ulimit -n limit=256 wanted=31376 "
                                           "connections=42 stream_connections=42 "
                                           "nameserver_queries=42"),
                     1);
}
