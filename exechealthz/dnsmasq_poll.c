#include "exechealthz/dnsmasq_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/sockets.h"
#include "common/base/xalloc.h"
#include "exechealthz/dns_message.h"

static const char *const count_names[DNSMASQ_COUNTS] = {
    [DNSMASQ_HITS] = "hits.bind",           [DNSMASQ_MISSES] = "misses.bind",
    [DNSMASQ_EVICTIONS] = "evictions.bind", [DNSMASQ_INSERTIONS] = "insertions.bind",
    [DNSMASQ_MAX_SIZE] = "cachesize.bind",
};

struct dnsmasq_poll {
    struct ev_loop *loop;
    struct addr server;
    struct dns_question questions[DNSMASQ_COUNTS];
    ev_timer tick;

    /* Holds the current poll, unless readable.fd is -1. */
    ev_io readable;
    uint16_t ids[DNSMASQ_COUNTS];
    bool has_value[DNSMASQ_COUNTS];
    uint64_t values[DNSMASQ_COUNTS];

    struct dnsmasq_counts counts;
    bool has_failed; /* the last poll */
};

/* ---- Results ---- */

static void dnsmasq_poll_close(struct dnsmasq_poll *poll)
{
    if (poll->readable.fd >= 0) {
        ev_io_stop(poll->loop, &poll->readable);
        (void)close(poll->readable.fd); /* its content does not matter */
        poll->readable.fd = -1;
    }
}

/* Ends the poll. error NULL: every value has been read. */
static void dnsmasq_poll_end(struct dnsmasq_poll *poll, const char *error)
{
    char server[ADDR_TEXT_MAX];
    addr_format(&poll->server, server);
    dnsmasq_poll_close(poll);
    poll->counts.polls++;
    if (!error) {
        memcpy(poll->counts.values, poll->values, sizeof(poll->values));
    } else {
        poll->counts.errors++;
    }
    if (error && !poll->has_failed) {
        log_warn("cache counts not read, keeping the last ones", LOG_STR("server", server),
                 LOG_STR("error", error));
    } else if (!error && poll->has_failed) {
        log_info("cache counts read again", LOG_STR("server", server));
    }
    poll->has_failed = error != NULL;
}

/* ---- One poll ---- */

static bool has_all_values(const struct dnsmasq_poll *poll)
{
    bool has_all = true;
    for (size_t i = 0; i < DNSMASQ_COUNTS; i++) {
        has_all = has_all && poll->has_value[i];
    }
    return has_all;
}

/* Returns NULL, or why the poll has failed. A datagram for no question of ours is ignored. */
static const char *dnsmasq_poll_read_reply(struct dnsmasq_poll *poll, const uint8_t *bytes,
                                           size_t len)
{
    for (size_t i = 0; i < DNSMASQ_COUNTS; i++) {
        struct dns_reply reply;
        switch (dns_reply_read(&poll->questions[i], poll->ids[i], bytes, len, &reply)) {
        case DNS_REPLY_UNRELATED:
            continue;
        case DNS_REPLY_MALFORMED:
            return "malformed response";
        case DNS_REPLY_READ:
            break;
        }
        if (!reply.has_number) {
            return "no TXT with a number for hits.bind and the like in class CHAOS";
        }
        poll->has_value[i] = true;
        poll->values[i] = reply.number;
        break;
    }
    return NULL;
}

static void dnsmasq_poll_on_readable(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct dnsmasq_poll *poll = w->data;
    uint8_t bytes[DNS_REPLY_MAX];
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), 0);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            dnsmasq_poll_end(poll, err_code_text(-errno));
        }
        return;
    }
    const char *error = dnsmasq_poll_read_reply(poll, bytes, (size_t)n);
    if (error || has_all_values(poll)) {
        dnsmasq_poll_end(poll, error);
    }
}

/* Returns the connected socket with all queries sent, or -errno. */
static int dnsmasq_poll_open_socket(struct dnsmasq_poll *poll)
{
    CLEANUP_CLOSE int fd = sockets_connect(&poll->server, SOCK_DGRAM);
    if (fd >= 0 && getrandom(poll->ids, sizeof(poll->ids), 0) != sizeof(poll->ids)) {
        return -errno;
    }
    for (size_t i = 0; fd >= 0 && i < DNSMASQ_COUNTS; i++) {
        uint8_t query[DNS_QUERY_MAX];
        size_t len = dns_query_write(&poll->questions[i], poll->ids[i], query);
        if (send(fd, query, len, 0) < 0) {
            return -errno;
        }
    }
    return STEAL_FD(fd);
}

static void dnsmasq_poll_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct dnsmasq_poll *poll = w->data;
    if (poll->readable.fd >= 0) {
        dnsmasq_poll_end(poll, err_code_text(ERR_TIMEOUT));
    }
    memset(poll->has_value, 0, sizeof(poll->has_value));
    int fd = dnsmasq_poll_open_socket(poll);
    if (fd < 0) {
        dnsmasq_poll_end(poll, err_code_text(fd));
        return;
    }
    ev_io_set(&poll->readable, fd, EV_READ);
    ev_io_start(poll->loop, &poll->readable);
}

/* ---- Lifetime ---- */

struct dnsmasq_poll *dnsmasq_poll_new(struct ev_loop *loop, const struct addr *server,
                                      int64_t period_ms)
{
    struct dnsmasq_poll *poll = xcalloc(1, sizeof(*poll));
    poll->loop = loop;
    poll->server = *server;
    for (size_t i = 0; i < DNSMASQ_COUNTS; i++) {
        poll->questions[i].type = DNS_TYPE_TXT;
        poll->questions[i].qclass = DNS_CLASS_CH;
        (void)!dname_from_text(slice_str(count_names[i]), &poll->questions[i].name); /* it is one */
    }
    ev_timer_init(&poll->tick, dnsmasq_poll_on_tick, 0., (double)period_ms / 1000);
    ev_init(&poll->readable, dnsmasq_poll_on_readable);
    poll->readable.fd = -1;
    poll->tick.data = poll->readable.data = poll;
    return poll;
}

void dnsmasq_poll_start(struct dnsmasq_poll *poll)
{
    ev_now_update(poll->loop);
    ev_timer_start(poll->loop, &poll->tick);
}

void dnsmasq_poll_free(struct dnsmasq_poll *poll)
{
    if (poll) {
        ev_timer_stop(poll->loop, &poll->tick);
        dnsmasq_poll_close(poll);
        free(poll);
    }
}

const struct dnsmasq_counts *dnsmasq_poll_counts(const struct dnsmasq_poll *poll)
{
    return &poll->counts;
}
