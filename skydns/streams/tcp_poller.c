#include "skydns/streams/tcp_poller_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"

struct tcp_poller {
    struct ev_loop *loop;
    ev_io io; /* of the epoll set */
    tcp_events_fn fn;
    void *data;
    bool rests;
    struct epoll_event ready[TCP_EVENTS_A_TURN];
    struct tcp_event events[TCP_EVENTS_A_TURN];
};

static void tcp_poller_report_ready(struct tcp_poller *p)
{
    int n =
        epoll_wait(p->io.fd, p->ready, TCP_EVENTS_A_TURN, 0); /* on failure, the loop calls again */
    for (int i = 0; i < n; i++) {
        p->events[i] = (struct tcp_event){tcp_ref_unpack(p->ready[i].data.u64), p->ready[i].events};
    }
    if (n > 0) {
        p->fn(p->data, p->events, (size_t)n);
    }
}

static void tcp_poller_on_ready(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    tcp_poller_report_ready(io->data);
}

int tcp_poller_new(struct ev_loop *loop, tcp_events_fn fn, void *data,
                   struct tcp_poller **ret_poller, struct err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        return err_set(err, -errno, "create an epoll set: %s", err_code_text(-errno));
    }
    struct tcp_poller *p = xcalloc(1, sizeof(*p));
    p->loop = loop;
    p->fn = fn;
    p->data = data;
    ev_io_init(&p->io, tcp_poller_on_ready, fd, EV_READ);
    p->io.data = p;
    ev_io_start(loop, &p->io);
    *ret_poller = p;
    return 0;
}

void tcp_poller_rest(struct tcp_poller *poller)
{
    ev_io_stop(poller->loop, &poller->io);
    poller->rests = true;
}

void tcp_poller_take(struct tcp_poller *poller)
{
    tcp_poller_report_ready(poller);
}

void tcp_poller_resume(struct tcp_poller *poller)
{
    ev_io_start(poller->loop, &poller->io);
    poller->rests = false;
}

bool tcp_poller_rests(const struct tcp_poller *poller)
{
    return poller->rests;
}

void tcp_poller_free(struct tcp_poller *poller)
{
    if (!poller) {
        return;
    }
    ev_io_stop(poller->loop, &poller->io);
    (void)close(poller->io.fd); /* loses no data */
    free(poller);
}

bool tcp_poller_set(struct tcp_poller *poller, int fd, bool is_known, uint32_t events,
                    struct tcp_ref connection)
{
    struct epoll_event event = {.events = events, .data.u64 = tcp_ref_pack(connection)};
    return epoll_ctl(poller->io.fd, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

void tcp_poller_remove(struct tcp_poller *poller, int fd)
{
    (void)epoll_ctl(poller->io.fd, EPOLL_CTL_DEL, fd, NULL); /* fails if it is in none */
}
