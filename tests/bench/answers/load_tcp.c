/* load_tcp: asks a server over TCP and counts the answers (load_tcp -help).
 *
 * Keeps -in-flight queries in flight on each of -connections: sent together at first, then one for
 * each answer. With -per-connection it resets a connection after that many answers, which leaves no
 * state behind, and opens another. It spins, as load_udp does. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "tests/bench/answers/load.h"
#include "tests/bench/answers/meter.h"

enum {
    CONNECTIONS_MAX = 1024,
    IN_FLIGHT_MAX = 64,
    FRAME_MAX = QUERY_FRAME + 512, /* a query with one name */
    INPUT = QUERY_FRAME + DNS_MESSAGE_MAX,
    EVENTS = 256,
};

struct connection {
    int fd;
    bool is_open;
    uint16_t next_id;
    int64_t asked, answered;
    size_t have;
    uint8_t input[INPUT];
};

struct generator {
    struct load load;
    int64_t connections, in_flight, per_connection;
    int epoll;
    struct connection *all;
    struct meter meter;
};

static void open_connection(struct generator *g, struct connection *c)
{
    c->asked = c->answered = 0;
    c->have = 0;
    c->is_open = false;
    c->fd = load_connect(&g->load.server);
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = c};
    (void)epoll_ctl(g->epoll, EPOLL_CTL_ADD, c->fd, &event);
}

static void load_tcp_open_another(struct generator *g, struct connection *c)
{
    (void)close(c->fd);
    open_connection(g, c);
}

static void fail_connection(struct generator *g, struct connection *c)
{
    g->meter.errors++;
    load_tcp_open_another(g, c);
}

/* Sends all in one call. */
static bool load_tcp_ask(struct generator *g, struct connection *c, int64_t count)
{
    uint8_t output[IN_FLIGHT_MAX * FRAME_MAX];
    struct writer w = writer_of(output, sizeof(output));
    for (int64_t i = 0; i < count; i++) {
        const struct query *query = queries_take(&g->load.queries, c->next_id++);
        writer_bytes(&w, query->frame, QUERY_FRAME + query->len);
    }
    c->asked += count;
    g->meter.sent += (uint64_t)count;
    return !w.failed && send(c->fd, output, w.pos, MSG_NOSIGNAL) == (ssize_t)w.pos;
}

/* How many more queries the connection allows, up to the number wanted. */
static int64_t load_tcp_askable(const struct generator *g, const struct connection *c,
                                int64_t wanted)
{
    int64_t left = g->per_connection > 0 ? g->per_connection - c->asked : wanted;
    return left < wanted ? left : wanted;
}

static void load_tcp_on_connected(struct generator *g, struct connection *c)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0) {
        fail_connection(g, c);
        return;
    }
    c->is_open = true;
    g->meter.connections++;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    (void)epoll_ctl(g->epoll, EPOLL_CTL_MOD, c->fd, &event);
    if (!load_tcp_ask(g, c, load_tcp_askable(g, c, g->in_flight))) {
        fail_connection(g, c);
    }
}

static void load_tcp_on_readable(struct generator *g, struct connection *c)
{
    ssize_t n = recv(c->fd, c->input + c->have, sizeof(c->input) - c->have, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) {
            fail_connection(g, c);
        }
        return;
    }
    c->have += (size_t)n;
    int64_t count = meter_frames(&g->meter, c->input, &c->have);
    c->answered += count;
    if (g->per_connection > 0 && c->answered >= g->per_connection) {
        load_tcp_open_another(g, c);
        return;
    }
    int64_t more = load_tcp_askable(g, c, count);
    if (more > 0 && !load_tcp_ask(g, c, more)) {
        fail_connection(g, c);
    }
}

static void load_tcp_run_for(struct generator *g, uint64_t duration_ns)
{
    uint64_t end_ns = meter_now_ns() + duration_ns;
    while (meter_now_ns() < end_ns) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(g->epoll, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (c->is_open) {
                load_tcp_on_readable(g, c);
            } else {
                load_tcp_on_connected(g, c);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct generator *g = xcalloc(1, sizeof(*g));
    g->connections = 16;
    g->in_flight = 1;
    const struct flag table[] = {
        {"connections", FLAG_INT, &g->connections, .min = 1, .max = CONNECTIONS_MAX,
         .help = "at once"},
        {"in-flight", FLAG_INT, &g->in_flight, .min = 1, .max = IN_FLIGHT_MAX,
         .help = "queries in flight on each"},
        {"per-connection", FLAG_INT, &g->per_connection, .max = 1000000,
         .help = "queries until it is closed; 0: never"},
    };
    const struct flags flags = {.program = "load_tcp",
                                .summary = "Asks a DNS server over TCP, and measures",
                                .table = table,
                                .count = ARRAY_LEN(table)};
    load_parse(argc, argv, &flags, &g->load);
    g->meter.server_pids = g->load.pids;
    g->epoll = epoll_create1(EPOLL_CLOEXEC);
    g->all = xcalloc((size_t)g->connections, sizeof(*g->all));
    for (int64_t i = 0; i < g->connections; i++) {
        open_connection(g, &g->all[i]);
    }
    load_tcp_run_for(g, g->load.warm_up_ns);
    meter_start(&g->meter);
    load_tcp_run_for(g, g->load.run_ns);
    meter_print(&g->meter);
    queries_fini(&g->load.queries);
    free(g->all);
    free(g);
    return 0;
}
