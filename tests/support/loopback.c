#include "tests/support/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/backoff.h"
#include "common/base/cleanup.h"
#include "tests/support/unit_test.h"

enum { PORT_MIN = 10240, PORT_MAX = 32767 };

/* A few thousand ports may be in use, but never a thousand random ones in a row. */
enum { ATTEMPTS = 1000 };

struct addr loopback_addr(unsigned port)
{
    struct addr a = {.len = sizeof(a.v4)};
    a.v4.sin_family = AF_INET;
    a.v4.sin_port = htons((uint16_t)port);
    a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* The temporary folder, found as Python's tempfile finds it. */
static const char *temporary_folder(void)
{
    static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *folder = getenv(variables[i]);
        if (folder && *folder) {
            return folder;
        }
    }
    return "/tmp";
}

/* Whether the port is this process's from now on until it ends: its owner locks its byte of a file
 * that all tests share, those in Python too (programs.py), so that a port is nobody else's while
 * its program is restarted. */
static bool loopback_reserve(unsigned port)
{
    enum { HIGH = 200 }; /* low descriptors are those of sockets that systemd passes */
    static int locks = -1;
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = port, .l_len = 1};
    if (locks < 0) {
        CLEANUP_FREE char *path =
            xasprintf("%s/dns-pod-ports-%u.locks", temporary_folder(), getuid());
        int low = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        locks = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
        assert_that(locks >= 0, "%s: %s", path, strerror(errno));
        close(low);
    }
    return fcntl(locks, F_SETLK, &byte) == 0;
}

/* A TCP socket bound to a free port. */
static int bind_some(struct addr *ret_addr)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned port = PORT_MIN + backoff_random() % (PORT_MAX - PORT_MIN + 1);
        *ret_addr = loopback_addr(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && loopback_reserve(port) && bind(fd, &ret_addr->sa, ret_addr->len) == 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    fail_msg("no free loopback port");
    return -1;
}

unsigned loopback_free_port(void)
{
    struct addr a;
    close(bind_some(&a));
    return addr_port(&a);
}

int loopback_listen(struct addr *ret_addr)
{
    int fd = bind_some(ret_addr);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

bool loopback_has_v6(void)
{
    const struct sockaddr_in6 any_port = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&any_port, sizeof(any_port)) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}
