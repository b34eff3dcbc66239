#include "skydns/streams/tcp_poller_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "skydns/streams/tcp_clients_internal.h"
#include "skydns/streams/tcp_server.h"

/* Marks a client's set, where a connection has its slot; the generation is its place in `sets`. */
static const uint32_t set_mark = UINT32_MAX;

struct tcp_poller {
    struct ev_loop *loop;
    const struct tcp_clients *clients;
    ev_io io; /* of the common set */
    tcp_events_fn fn;
    void *data;
    bool rests;
    int sets[TCP_SETS_MAX]; /* descriptors of clients' sets; -1: free */
    struct epoll_event ready[TCP_EVENTS_A_TURN];
    struct tcp_event events[TCP_EVENTS_A_TURN];
};

/* Takes ready entries of a set: tells of connections, and puts the places of clients' sets, which
 * only the common set has, into `places`. Returns how many these are. */
static size_t report_set(struct tcp_poller *p, int set, int limit, uint32_t *places)
{
    size_t count = 0, place_count = 0;
    const int n = epoll_wait(set, p->ready, limit, 0); /* on failure, the loop calls again */
    for (int i = 0; i < n; i++) {
        const struct tcp_ref ref = tcp_ref_unpack(p->ready[i].data.u64);
        if (ref.slot == set_mark) {
            assert(places);
            places[place_count++] = ref.generation;
        } else {
            p->events[count++] = (struct tcp_event){ref, p->ready[i].events};
        }
    }
    if (count > 0) {
        p->fn(p->data, p->events, count);
    }
    return place_count;
}

/* A client's set may be closed before its turn comes. If its place is another client's by then,
 * that one has the turn. */
static void tcp_poller_report_ready(struct tcp_poller *p)
{
    uint32_t places[TCP_EVENTS_A_TURN];
    const size_t count = report_set(p, p->io.fd, TCP_EVENTS_A_TURN, places);
    for (size_t i = 0; i < count; i++) {
        const int set = p->sets[places[i]];
        const bool is_alone = tcp_clients_are_alone(p->clients);
        if (set >= 0) {
            (void)report_set(p, set, is_alone ? TCP_EVENTS_A_TURN : TCP_PIECES_A_TURN, NULL);
        }
    }
}

static void tcp_poller_on_ready(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    tcp_poller_report_ready(io->data);
}

int tcp_poller_new(struct ev_loop *loop, const struct tcp_clients *clients, tcp_events_fn fn,
                   void *data, struct tcp_poller **ret_poller, struct err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        return err_set(err, -errno, "create an epoll set: %s", err_code_text(-errno));
    }
    struct tcp_poller *p = xcalloc(1, sizeof(*p));
    p->loop = loop;
    p->clients = clients;
    for (size_t i = 0; i < TCP_SETS_MAX; i++) {
        p->sets[i] = -1;
    }
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

/* ---- Sets ---- */

static bool tcp_poller_control(int set, int operation, int fd, uint32_t events, struct tcp_ref ref)
{
    struct epoll_event event = {.events = events, .data.u64 = tcp_ref_pack(ref)};
    return epoll_ctl(set, operation, fd, &event) == 0;
}

/* Returns the place of a set; -1: a free one, or NULL. */
static int *place_of(struct tcp_poller *p, int set)
{
    size_t i = 0;
    while (i < TCP_SETS_MAX && p->sets[i] != set) {
        i++;
    }
    return i < TCP_SETS_MAX ? &p->sets[i] : NULL;
}

/* Opens a set for a client, unless it has one; there may be none. */
static void open_set(struct tcp_poller *p, struct tcp_client *client)
{
    int *place = client->set < 0 ? place_of(p, -1) : NULL;
    const int fd = place ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    const struct tcp_ref ref = {.slot = set_mark, .generation = (uint32_t)(place - p->sets)};
    if (!tcp_poller_control(p->io.fd, EPOLL_CTL_ADD, fd, EPOLLIN, ref)) {
        (void)close(fd); /* is empty */
        return;
    }
    client->set = *place = fd;
}

int tcp_poller_add(struct tcp_poller *poller, struct tcp_client *client, int fd, uint32_t events,
                   struct tcp_ref connection)
{
    const bool is_beyond = poller->clients && client->common >= TCP_COMMON_CONNECTIONS;
    if (is_beyond) {
        open_set(poller, client);
    }
    const bool is_own = is_beyond && client->set >= 0;
    const int set = is_own ? client->set : poller->io.fd;
    if (!tcp_poller_control(set, EPOLL_CTL_ADD, fd, events, connection)) {
        return -1;
    }
    client->common += !is_own && poller->clients;
    return set;
}

bool tcp_poller_change(int set, int fd, uint32_t events, struct tcp_ref connection)
{
    return tcp_poller_control(set, EPOLL_CTL_MOD, fd, events, connection);
}

void tcp_poller_remove(struct tcp_poller *poller, int fd)
{
    (void)epoll_ctl(poller->io.fd, EPOLL_CTL_DEL, fd, NULL); /* fails if it is in none */
}

void tcp_poller_leave(struct tcp_poller *poller, struct tcp_client *client, int set)
{
    client->common -= set == poller->io.fd;
    if (client->connections == 1 && client->set >= 0) {
        int *place = place_of(poller, client->set);
        assert(place);
        (void)close(client->set); /* is empty */
        client->set = *place = -1;
    }
}
