/* Tests what the log says of the files of TLS, and when: read again, unusable, about to expire,
 * expired. With real files, and a clock that the test advances. */
#include <ev.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "skydns/config/certificate.h"
#include "tests/support/certs.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { DAY_S = 24 * 60 * 60, PATH_MAX_ = 128 };

struct fixture {
    char folder[64];
    char cert[PATH_MAX_], key[PATH_MAX_];
    struct ev_loop *loop;
    struct certs_ca *ca;
    struct options options;
    struct certificate *certificate;
    struct log_capture capture;
};

static void certificate_issue(const struct fixture *f, long to_s)
{
    const struct certs_leaf leaf = {
        .name = "leaf", .names = "IP:127.0.0.1", .from_s = -400L * DAY_S, .to_s = to_s};
    certs_issue(f->ca, f->folder, &leaf);
}

static int certificate_setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/certificate.XXXXXX"); /* fits */
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->cert, sizeof(f->cert), "%s/leaf.crt", f->folder); /* fits */
    (void)snprintf(f->key, sizeof(f->key), "%s/leaf.key", f->folder);   /* fits */
    f->loop = ev_loop_new(EVFLAG_AUTO);
    f->ca = certs_ca_new(f->folder, "ca");
    f->options =
        (struct options){.cert = f->cert, .key = f->key, .client_ca = "", .ticket_keys = ""};
    *state = f;
    return 0;
}

static int certificate_teardown(void **state)
{
    CLEANUP_FREE struct fixture *f = *state;
    char ca[PATH_MAX_];
    test_clock_run();
    certificate_free(f->certificate);
    certs_ca_free(f->ca);
    ev_loop_destroy(f->loop);
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", f->folder); /* fits */
    unlink(ca);
    unlink(f->cert);
    unlink(f->key);
    rmdir(f->folder);
    return 0;
}

static void certificate_open_files(struct fixture *f)
{
    struct err err = {0};
    assert_that(certificate_new(f->loop, &f->options, &f->certificate, &err) >= 0, "%s", err.msg);
}

/* The lines of what follows. */
static void listen_to_log(struct fixture *f)
{
    log_capture_begin(&f->capture);
}

static void expect_lines(struct fixture *f, const char *part, int count)
{
    const char *text = log_capture_end(&f->capture);
    assert_that(log_occurrences(text, part) == count && log_occurrences(text, "\n") == count,
                "expected %d times `%s`, and nothing else, in: %s", count, part, text);
}

/* Lets the timers of that time run, one look after the other. */
static void pass_time(const struct fixture *f, int64_t s)
{
    for (int64_t passed = 0; passed < s; passed += DAY_S / 4) {
        test_clock_advance_ms((int64_t)DAY_S / 4 * 1000);
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

/* ---- Tests ---- */

UNIT_TEST(test_none)
{
    assert_null(certificate_server(NULL));
    assert_false(certificate_is_refused(NULL));
    assert_int_equal(certificate_not_after_s(NULL), 0);
    certificate_reload(NULL);
    certificate_free(NULL);
}

UNIT_TEST_IN(test_unusable_at_the_start, certificate_setup, certificate_teardown)
{
    struct fixture *f = *state;
    struct err err = {0};
    assert_true(certificate_new(f->loop, &f->options, &f->certificate, &err) < 0);
    assert_null(f->certificate);
    assert_non_null(strstr(err.msg, "leaf.crt"));
}

UNIT_TEST_IN(test_read_again, certificate_setup, certificate_teardown)
{
    struct fixture *f = *state;
    certificate_issue(f, 30L * DAY_S);
    listen_to_log(f);
    certificate_open_files(f);
    expect_lines(f, "\n", 0);
    int64_t before_s = certificate_not_after_s(f->certificate);
    assert_in_range(before_s - clock_wall_s(), 29L * DAY_S, 30L * DAY_S);
    assert_non_null(certificate_server(f->certificate));
    listen_to_log(f);
    certificate_reload(f->certificate);
    expect_lines(f, "\n", 0);
    certificate_issue(f, 60L * DAY_S);
    listen_to_log(f);
    certificate_reload(f->certificate);
    expect_lines(f, "certificate reloaded", 1);
    assert_in_range(certificate_not_after_s(f->certificate) - before_s, 29L * DAY_S, 31L * DAY_S);
    assert_false(certificate_is_refused(f->certificate));
}

UNIT_TEST_IN(test_unusable_later, certificate_setup, certificate_teardown)
{
    struct fixture *f = *state;
    certificate_issue(f, 30L * DAY_S);
    certificate_open_files(f);
    int64_t before_s = certificate_not_after_s(f->certificate);
    assert_int_equal(truncate(f->cert, 40), 0);
    listen_to_log(f);
    certificate_reload(f->certificate);
    certificate_reload(f->certificate);
    expect_lines(f, "cannot use the changed files for TLS", 1);
    assert_true(certificate_is_refused(f->certificate));
    assert_int_equal(certificate_not_after_s(f->certificate), before_s);
    certificate_issue(f, 30L * DAY_S);
    listen_to_log(f);
    certificate_reload(f->certificate);
    expect_lines(f, "certificate reloaded", 1);
    assert_false(certificate_is_refused(f->certificate));
}

/* A look finds what changed, without a signal. */
UNIT_TEST_IN(test_looks_by_itself, certificate_setup, certificate_teardown)
{
    struct fixture *f = *state;
    certificate_issue(f, 30L * DAY_S);
    test_clock_stop();
    certificate_open_files(f);
    certificate_issue(f, 60L * DAY_S);
    listen_to_log(f);
    test_clock_advance_ms((CERTIFICATE_LOOK_S - 1) * 1000);
    ev_run(f->loop, EVRUN_NOWAIT);
    expect_lines(f, "\n", 0);
    listen_to_log(f);
    test_clock_advance_ms(1001);
    ev_run(f->loop, EVRUN_NOWAIT);
    expect_lines(f, "certificate reloaded", 1);
}

/* A line at the start, and a line a day: not of one that has weeks left. */
UNIT_TEST_IN(test_the_end_of_a_certificate, certificate_setup, certificate_teardown)
{
    static const struct {
        long days_left;
        const char *line;
        int lines; /* in three days, with the start */
    } rows[] = {
        {15, "\n", 0},
        {13, "warn", 4},
        {13, "the certificate expires soon", 4},
        {-1, "error", 4},
        {-1, "the certificate has expired, clients refuse it", 4},
    };
    struct fixture *f = *state;
    test_clock_stop();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        certificate_issue(f, rows[i].days_left * DAY_S);
        listen_to_log(f);
        certificate_open_files(f);
        pass_time(f, 3L * DAY_S);
        expect_lines(f, rows[i].line, rows[i].lines);
        certificate_free(f->certificate);
        f->certificate = NULL;
    }
}

/* Whatever was told of the old one. */
UNIT_TEST_IN(test_a_new_certificate_that_ends_soon, certificate_setup, certificate_teardown)
{
    struct fixture *f = *state;
    certificate_issue(f, 13L * DAY_S);
    certificate_open_files(f);
    certificate_issue(f, 12L * DAY_S);
    listen_to_log(f);
    certificate_reload(f->certificate);
    const char *text = log_capture_end(&f->capture);
    assert_int_equal(log_occurrences(text, "certificate reloaded"), 1);
    assert_int_equal(log_occurrences(text, "the certificate expires soon"), 1);
    certificate_issue(f, 30L * DAY_S);
    listen_to_log(f);
    certificate_reload(f->certificate);
    expect_lines(f, "certificate reloaded", 1);
}
