/* dnstap with a sink of libfstrm at the other end: over both kinds of sockets, away and back, one
 * that stops reading, and that none of them holds up the end. */
#include <errno.h>
#include <fstrm.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "dnstap.pb-c.h"
#include "skydns/dnstap/dnstap.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

/* The socket of a sink. */
struct sink {
    int listener;
    int fd;
    struct fstrm_reader *reader;
    char folder[32];
    struct dnstap_target target;
};

static fstrm_res sink_read(void *obj, void *data, size_t count)
{
    const struct sink *sink = obj;
    return recv(sink->fd, data, count, MSG_WAITALL) == (ssize_t)count ? fstrm_res_success
                                                                      : fstrm_res_failure;
}

static fstrm_res sink_write(void *obj, const struct iovec *iov, int count)
{
    const struct sink *sink = obj;
    for (int i = 0; i < count; i++) {
        if (send(sink->fd, iov[i].iov_base, iov[i].iov_len, MSG_NOSIGNAL) !=
            (ssize_t)iov[i].iov_len) {
            return fstrm_res_failure;
        }
    }
    return fstrm_res_success;
}

static fstrm_res sink_ok(void *obj)
{
    return fstrm_res_success;
}

static void listen_unix(struct sink *sink)
{
    sink->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sink->listener, (struct sockaddr *)&sink->target.unix_path,
                          sizeof(sink->target.unix_path)),
                     0);
    assert_int_equal(listen(sink->listener, 8), 0);
}

static void stop_listening(struct sink *sink)
{
    assert_int_equal(close(sink->listener), 0);
    if (sink->target.is_unix) {
        assert_int_equal(unlink(sink->target.unix_path.sun_path), 0);
    }
}

/* Nothing listens on its path yet. */
static void sink_unix(struct sink *sink)
{
    struct err err;
    char text[64];
    *sink = (struct sink){.fd = -1, .folder = "/tmp/test_dnstap.XXXXXX"};
    assert_non_null(mkdtemp(sink->folder));
    (void)snprintf(text, sizeof(text), "unix:%s/s", sink->folder);
    assert_int_equal(dnstap_target_parse(text, &sink->target, &err), 0);
}

static void sink_tcp(struct sink *sink)
{
    *sink = (struct sink){.fd = -1, .target.is_set = true};
    sink->listener = loopback_listen(&sink->target.address);
}

static void sink_accept(struct sink *sink)
{
    sink->fd = accept(sink->listener, NULL, NULL);
    assert_true(sink->fd >= 0);
}

static void sink_open(struct sink *sink)
{
    sink_accept(sink);
    struct fstrm_rdwr *socket = fstrm_rdwr_init(sink);
    fstrm_rdwr_set_open(socket, sink_ok);
    fstrm_rdwr_set_close(socket, sink_ok);
    fstrm_rdwr_set_read(socket, sink_read);
    fstrm_rdwr_set_write(socket, sink_write);
    sink->reader = fstrm_reader_init(NULL, &socket);
    assert_int_equal(fstrm_reader_open(sink->reader), fstrm_res_success);
}

static void sink_close(struct sink *sink)
{
    assert_int_equal(close(sink->fd), 0);
    sink->fd = -1;
    if (sink->reader) {
        (void)fstrm_reader_destroy(&sink->reader);
    }
}

static void sink_end(struct sink *sink)
{
    if (sink->fd >= 0) {
        sink_close(sink);
    }
    if (*sink->folder) {
        assert_int_equal(rmdir(sink->folder), 0);
    }
}

UNIT_FIXTURE(struct sink, sink_unix, sink_end)

/* The next message; its query has the number. */
static uint32_t sink_next(struct sink *sink)
{
    const uint8_t *data;
    size_t len;
    uint32_t number;
    assert_int_equal(fstrm_reader_read(sink->reader, &data, &len), fstrm_res_success);
    Dnstap__Dnstap *d = dnstap__dnstap__unpack(NULL, len, data);
    assert_non_null(d);
    assert_true(d->message->query_message.len >= sizeof(number));
    assert_true(d->has_identity && d->has_version);
    memcpy(&number, d->message->query_message.data, sizeof(number));
    dnstap__dnstap__free_unpacked(d, NULL);
    return number;
}

static struct dnstap *start_dnstap_to(const struct sink *sink)
{
    struct dnstap *d;
    struct err err;
    assert_int_equal(dnstap_new(&sink->target, &d, &err), 0);
    assert_int_equal(dnstap_start(d, &err), 0);
    return d;
}

static void show_numbered_event(struct dnstap *d, uint32_t number, size_t len)
{
    static uint8_t bytes[65535];
    const struct addr querier = loopback_addr(1), answerer = loopback_addr(2);
    memcpy(bytes, &number, sizeof(number));
    dnstap_show(d, &(struct dnstap_event){.type = DNSTAP_CLIENT_QUERY,
                                          .protocol = DNSTAP_UDP,
                                          .querier = &querier,
                                          .answerer = &answerer,
                                          .query_ns = dnstap_now_ns(),
                                          .message = slice_of(bytes, len)});
}

static void dnstap_deliver(struct sink *sink)
{
    struct dnstap *d = start_dnstap_to(sink);
    const uint8_t *data;
    size_t len;
    show_numbered_event(d, 0, 100);
    sink_open(sink);
    assert_int_equal(sink_next(sink), 0);
    for (uint32_t i = 1; i < 50; i++) { /* one by one: it is woken */
        show_numbered_event(d, i, 100);
        assert_int_equal(sink_next(sink), i);
    }
    for (uint32_t i = 50; i < 1050; i++) {
        show_numbered_event(d, i, 100);
    }
    for (uint32_t i = 50; i < 1050; i++) {
        assert_int_equal(sink_next(sink), i);
    }
    assert_true(dnstap_counts(d).is_connected);
    show_numbered_event(d, 1050, 100);
    assert_int_equal(sink_next(sink), 1050);
    dnstap_stop(d, 0); /* the sink is not there to confirm it */
    assert_int_equal(dnstap_counts(d).written, 1051);
    assert_int_equal(dnstap_counts(d).dropped, 0);
    assert_false(dnstap_counts(d).is_connected);
    assert_int_equal(fstrm_reader_read(sink->reader, &data, &len), fstrm_res_stop);
    dnstap_free(d);
}

static int dnstap_before_tests(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

UNIT_TESTS_ONCE(dnstap_before_tests, NULL)
UNIT_TESTS_HAVE_THREADS

UNIT_TEST(delivers)
{
    struct sink sink;
    sink_tcp(&sink);
    dnstap_deliver(&sink);
    stop_listening(&sink);
    sink_end(&sink);
    sink_unix(&sink);
    listen_unix(&sink);
    dnstap_deliver(&sink);
    stop_listening(&sink);
    sink_end(&sink);
}

/* Messages that come while the sink is away wait. */
UNIT_TEST_ON(comes_back, struct sink *sink)
{
    struct dnstap *d = start_dnstap_to(sink);
    for (uint32_t i = 0; i < 100; i++) {
        show_numbered_event(d, i, 100);
    }
    assert_false(dnstap_counts(d).is_connected);
    listen_unix(sink);
    for (int again = 0; again < 3; again++) {
        sink_open(sink);
        for (uint32_t i = 0; i < 100; i++) {
            assert_int_equal(sink_next(sink), i);
        }
        sink_close(sink);
        stop_listening(sink);
        while (dnstap_counts(d).is_connected) {
            (void)sched_yield(); /* it notices, although it has nothing to send */
        }
        for (uint32_t i = 0; i < 100; i++) {
            show_numbered_event(d, i, 100);
        }
        listen_unix(sink);
    }
    sink_open(sink);
    assert_int_equal(sink_next(sink), 0);
    dnstap_stop(d, 0);
    dnstap_free(d);
    stop_listening(sink);
}

/* dnstap_stop of a sink that does nothing: takes that long, and no answer is held up. */
static void stop_within(struct dnstap *d, uint32_t shown)
{
    int64_t begun_ms = clock_monotonic_ms();
    dnstap_stop(d, 200);
    assert_true(clock_monotonic_ms() - begun_ms < 4000); /* DNSTAP_LINK_OPEN_MS is more */
    const struct dnstap_counts counts = dnstap_counts(d);
    assert_true(counts.dropped > 0);
    assert_int_equal(counts.written + counts.dropped, shown);
    dnstap_free(d);
}

UNIT_TEST_ON(never_reads, struct sink *sink)
{
    uint32_t shown = 0;
    listen_unix(sink);
    struct dnstap *d = start_dnstap_to(sink);
    sink_open(sink);
    while (dnstap_counts(d).dropped < 100) {
        show_numbered_event(d, shown++, 1000);
    }
    stop_within(d, shown);
    stop_listening(sink);
}

/* It has a place in the queue of the listener, and nobody takes part in the handshake. */
UNIT_TEST(never_accepts)
{
    CLEANUP(sink_end) struct sink sink;
    sink_tcp(&sink);
    struct dnstap *d = start_dnstap_to(&sink);
    show_numbered_event(d, 0, 100);
    stop_within(d, 1);
    stop_listening(&sink);
}

UNIT_TEST_ON(is_absent, struct sink *sink)
{
    struct dnstap *d = start_dnstap_to(sink);
    for (uint32_t i = 0; i < 10000; i++) {
        show_numbered_event(d, i, 1000);
    }
    stop_within(d, 10000);
}

/* It resets the connection with messages on the way. */
UNIT_TEST(resets)
{
    CLEANUP(sink_end) struct sink sink;
    uint32_t shown = 0;
    sink_tcp(&sink);
    struct dnstap *d = start_dnstap_to(&sink);
    for (int again = 0; again < 3; again++) {
        sink_open(&sink);
        while (sink.fd >= 0 || dnstap_counts(d).is_connected) {
            show_numbered_event(d, shown++, 1000);
            if (shown % 100 == 0 && sink.fd >= 0) {
                const struct linger hard = {.l_onoff = 1};
                assert_int_equal(setsockopt(sink.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)),
                                 0);
                sink_close(&sink);
            }
        }
    }
    sink_open(&sink);
    (void)sink_next(&sink); /* messages come again */
    dnstap_stop(d, 0);
    const struct dnstap_counts counts = dnstap_counts(d);
    assert_int_equal(counts.written + counts.dropped, shown);
    dnstap_free(d);
    stop_listening(&sink);
}
