/* service_manager: what systemd is told, with a socket in its place. */
#include "common/base/service_manager.h"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

struct fixture {
    struct ev_loop *loop;
    struct service_manager manager;
    int fd; /* systemd's end */
    char where[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    ev_io arrival;
};

/* A socket in the abstract namespace, with a name chosen by the kernel. */
static void service_manager_set_up(struct fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(address);
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO),
                          .fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
    assert_true(f->fd >= 0);
    assert_return_code(
        bind(f->fd, (const struct sockaddr *)&address, (socklen_t)sizeof(address.sun_family)), 0);
    assert_return_code(getsockname(f->fd, (struct sockaddr *)&address, &len), 0);
    size_t name_len = len - offsetof(struct sockaddr_un, sun_path);
    assert_in_range(name_len, 2, sizeof(f->where) - 1);
    memcpy(f->where, address.sun_path, name_len);
    f->where[0] = '@';
}

static void service_manager_tear_down(struct fixture *f)
{
    ev_loop_destroy(f->loop);
    (void)close(f->fd);
}

UNIT_FIXTURE(struct fixture, service_manager_set_up, service_manager_tear_down)

static void init_with(struct fixture *f, const char *where, const char *watchdog_us,
                      const char *watchdog_pid)
{
    setenv("NOTIFY_SOCKET", where, 1);
    setenv("WATCHDOG_USEC", watchdog_us, 1);
    setenv("WATCHDOG_PID", watchdog_pid, 1);
    service_manager_init(&f->manager, f->loop);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

/* The next message must be this; NULL: none. */
static void service_manager_assert_told(const struct fixture *f, const char *want)
{
    char got[512];
    ssize_t len = recv(f->fd, got, sizeof(got) - 1, 0);
    if (!want) {
        assert_int_equal(len, -1);
        return;
    }
    assert_true(len >= 0);
    got[len] = '\0';
    assert_string_equal(got, want);
}

UNIT_TEST_ON(test_a_life, struct fixture *f)
{
    init_with(f, f->where, "", "");
    service_manager_assert_told(f, NULL);
    service_manager_ready(&f->manager, "waiting");
    service_manager_assert_told(f, "READY=1\nSTATUS=waiting");
    service_manager_status(&f->manager, "all there");
    service_manager_assert_told(f, "STATUS=all there");
    service_manager_stopping(&f->manager);
    service_manager_assert_told(f, "STOPPING=1");
    assert_false(ev_is_active(&f->manager.watchdog));
    service_manager_fini(&f->manager);
}

UNIT_TEST_ON(test_a_path, struct fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), first_fd = f->fd;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/service-manager-%ld",
                   (long)getpid());
    assert_return_code(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    init_with(f, address.sun_path, "", "");
    service_manager_ready(&f->manager, "x");
    f->fd = fd;
    service_manager_assert_told(f, "READY=1\nSTATUS=x");
    f->fd = first_fd;
    (void)close(fd);
    (void)unlink(address.sun_path);
    service_manager_stopping(&f->manager); /* nobody listens now: no signal, no harm */
    service_manager_fini(&f->manager);
}

/* A slow machine may have sent more messages. */
static void service_manager_drain(const struct fixture *f)
{
    char message[64];
    while (recv(f->fd, message, sizeof(message), 0) >= 0) {
    }
}

static void on_arrival(struct ev_loop *loop, ev_io *watcher UNUSED, int revents UNUSED)
{
    ev_break(loop, EVBREAK_ALL);
}

/* With this process's pid and without one; twice, since once would not be a period. */
UNIT_TEST_ON(test_watchdog, struct fixture *f)
{
    char own_pid[32];
    (void)snprintf(own_pid, sizeof(own_pid), "%ld", (long)getpid());
    const char *const pids[] = {own_pid, ""};
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        init_with(f, f->where, "20000", pids[i]);
        assert_true(ev_is_active(&f->manager.watchdog));
        assert_true(f->manager.watchdog.repeat > 0.0099 && f->manager.watchdog.repeat < 0.0101);
        for (int n = 0; n < 2; n++) {
            ev_io_init(&f->arrival, on_arrival, f->fd, EV_READ);
            ev_io_start(f->loop, &f->arrival);
            ev_run(f->loop, 0);
            ev_io_stop(f->loop, &f->arrival);
            service_manager_assert_told(f, "WATCHDOG=1");
        }
        service_manager_fini(&f->manager);
        assert_false(ev_is_active(&f->manager.watchdog));
        service_manager_drain(f);
    }
}

UNIT_TEST_ON(test_what_makes_no_sense, struct fixture *f)
{
    char too_long[200] = "/";
    memset(too_long + 1, 'x', sizeof(too_long) - 2);
    too_long[sizeof(too_long) - 1] = '\0';
    const char *const wheres[] = {"", "@", "/", "relative", "vsock:2:9999", too_long};
    for (size_t i = 0; i < ARRAY_LEN(wheres); i++) {
        init_with(f, wheres[i], "1000000", "");
        assert_int_equal(f->manager.fd, -1);
        assert_false(ev_is_active(&f->manager.watchdog));
        service_manager_ready(&f->manager, "x");
        service_manager_fini(&f->manager);
    }
    static const struct {
        const char *us, *pid;
    } watchdogs[] = {{"1000000", "1"}, {"soon", ""}, {"-5", ""}, {"0", ""}, {"10 s", ""}};
    for (size_t i = 0; i < ARRAY_LEN(watchdogs); i++) {
        init_with(f, f->where, watchdogs[i].us, watchdogs[i].pid);
        assert_true(f->manager.fd >= 0);
        assert_false(ev_is_active(&f->manager.watchdog));
        service_manager_fini(&f->manager);
    }
    service_manager_assert_told(f, NULL);
}

UNIT_TEST_ON(test_a_long_text_is_cut, struct fixture *f)
{
    char text[400], got[512];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    init_with(f, f->where, "", "");
    service_manager_ready(&f->manager, text);
    assert_int_equal(recv(f->fd, got, sizeof(got), 0), 255);
    assert_memory_equal(got, "READY=1\nSTATUS=aaa", 18);
    service_manager_fini(&f->manager);
}
