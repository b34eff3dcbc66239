/* bare_udp ADDRESS:PORT [MORE]: the least that answering over UDP costs. Receives a batch with one
 * blocking call, answers it with another, and looks nothing up. Answers have MORE bytes behind the
 * record, so that they are as long as those of a server that sends signatures. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/addr.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "tests/bench/answers/bare_answer.h"
#include "tests/bench/answers/udp_socket.h"

enum {
    BATCH = 64,
    MESSAGE_MAX = 1500, /* more than any query of the benchmark has */
    MORE_MAX = 1232,    /* of signatures: no reply is longer */
};

struct batch {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_storage clients[BATCH];
    uint8_t bytes[BATCH][MESSAGE_MAX + BARE_RECORD + MORE_MAX];
};

static int bare_udp_open_socket(const struct addr *address, struct err *err)
{
    int fd = udp_socket(address, 0, err);
    if (fd >= 0 && bind(fd, &address->sa, address->len) < 0) {
        return err_set(err, -errno, "bind: %s", err_code_text(-errno));
    }
    return fd;
}

static void bare_udp_prepare(struct batch *b)
{
    for (size_t i = 0; i < BATCH; i++) {
        b->parts[i] = (struct iovec){b->bytes[i], MESSAGE_MAX};
        b->messages[i].msg_hdr = (struct msghdr){.msg_name = &b->clients[i],
                                                 .msg_namelen = sizeof(b->clients[i]),
                                                 .msg_iov = &b->parts[i],
                                                 .msg_iovlen = 1};
    }
}

/* Echoes messages too short to be queries. */
static void bare_udp_answer(struct batch *b, size_t count, size_t more)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = b->messages[i].msg_len;
        b->parts[i].iov_len = len < BARE_QUERY_MIN ? len : bare_answer(b->bytes[i], len) + more;
    }
}

static void bare_udp_send_all(struct batch *b, int fd, size_t count)
{
    for (size_t sent = 0; sent < count;) {
        int n = sendmmsg(fd, b->messages + sent, (unsigned)(count - sent), 0);
        sent += n > 0 ? (size_t)n : 1; /* an answer that cannot be sent is lost */
    }
    for (size_t i = 0; i < count; i++) {
        b->parts[i].iov_len = MESSAGE_MAX;
        b->messages[i].msg_hdr.msg_namelen = sizeof(b->clients[i]);
    }
}

int main(int argc, char **argv)
{
    struct addr address;
    struct err err = {.code = 0};
    int fd = -1;
    unsigned long more = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    bool is_usable = (argc == 2 || argc == 3) && more <= MORE_MAX;
    if (!is_usable || addr_parse(argv[1], &address, &err) < 0 ||
        (fd = bare_udp_open_socket(&address, &err)) < 0) {
        (void)fprintf(stderr, "bare_udp ADDRESS:PORT [MORE]: %s\n",
                      is_usable ? err.msg : "wrong arguments");
        return 2;
    }
    struct batch *b = xcalloc(1, sizeof(*b));
    bare_udp_prepare(b);
    for (;;) {
        int n = recvmmsg(fd, b->messages, BATCH, MSG_WAITFORONE, NULL);
        if (n > 0) {
            bare_udp_answer(b, (size_t)n, more);
            bare_udp_send_all(b, fd, (size_t)n);
        }
    }
}
