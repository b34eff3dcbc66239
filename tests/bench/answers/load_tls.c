/* load_tls: asks a server over TLS or HTTPS and counts the answers (load_tls -help).
 *
 * Keeps -in-flight queries in flight on each of -connections: sent together at first, then one for
 * each answer. With -per-connection it resets a connection after that many answers and opens
 * another, which resumes the last one's session with -resume. It spins, as load_udp does.
 *
 * With -rate it opens that many connections a second, and sleeps in between. With -idle it opens
 * -connections, with one query on each, prints a line when all are answered, and then only waits
 * for the end of its input: whoever started it looks at the server's memory meanwhile. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "tests/bench/answers/load.h"
#include "tests/bench/answers/meter.h"
#include "tests/bench/answers/tls_asker.h"

enum {
    CONNECTIONS_MAX = 10000,
    EVENTS = 256,
    AT_ONCE = 250,       /* with -idle: fits a listener's backlog */
    BEHIND_MAX_MS = 100, /* of a rate's schedule; connections more overdue are skipped */
    IDLE_MAX_MS = 60000, /* until all are answered */
};

struct generator {
    struct load load;
    int64_t connections, in_flight, per_connection, rate;
    int protocol;
    bool wants_resumption, wants_idle;
    struct tls_askers shared;
    struct tls_asker *all;
    struct meter meter;
    uint64_t resumed; /* of meter.connections */
    uint64_t due_ns;  /* with -rate: of the next connection */
    int64_t opened;   /* with -idle */
};

/* How many more queries the connection allows, up to the number wanted. */
static int64_t load_tls_askable(const struct generator *g, const struct tls_asker *asker,
                                int64_t wanted)
{
    int64_t left = g->per_connection > 0 ? g->per_connection - asker->asked : wanted;
    return left < wanted ? left : wanted;
}

/* With -rate, the next one opens when it is due. */
static void load_tls_open_another(struct generator *g, struct tls_asker *asker)
{
    tls_asker_close(asker);
    if (g->rate == 0) {
        tls_asker_open(asker, &g->shared);
    }
}

static void load_tls_fail(struct generator *g, struct tls_asker *asker)
{
    g->meter.errors++;
    load_tls_open_another(g, asker);
}

static void load_tls_on_event(struct generator *g, struct tls_asker *asker)
{
    bool was_open = asker->is_open;
    int64_t count = tls_asker_turn(asker);
    if (count < 0) {
        load_tls_fail(g, asker);
        return;
    }
    if (!was_open && asker->is_open) {
        g->meter.connections++;
        g->resumed += asker->is_resumed;
        count = g->in_flight;
    }
    if (g->per_connection > 0 && asker->answered >= g->per_connection) {
        load_tls_open_another(g, asker);
        return;
    }
    int64_t more = load_tls_askable(g, asker, count);
    if (asker->is_open && more > 0 && !tls_asker_ask(asker, more)) {
        load_tls_fail(g, asker);
    }
}

static void load_tls_take_events(struct generator *g, uint64_t wait_ns)
{
    struct epoll_event events[EVENTS];
    const struct timespec wait = {.tv_nsec = (long)wait_ns};
    int count = epoll_pwait2(g->shared.epoll, events, EVENTS, &wait, NULL);
    for (int i = 0; i < count; i++) {
        load_tls_on_event(g, events[i].data.ptr);
    }
}

static struct tls_asker *closed_one(const struct generator *g)
{
    for (int64_t i = 0; i < g->connections; i++) {
        if (g->all[i].fd < 0) {
            return &g->all[i];
        }
    }
    return NULL;
}

/* Opens what is due. Returns how long until the next is. */
static uint64_t open_due(struct generator *g)
{
    uint64_t now_ns = meter_now_ns(), each_ns = 1000000000 / (uint64_t)g->rate;
    if (now_ns > g->due_ns + BEHIND_MAX_MS * UINT64_C(1000000)) {
        g->due_ns = now_ns;
    }
    for (; g->due_ns <= now_ns; g->due_ns += each_ns) {
        struct tls_asker *asker = closed_one(g);
        if (asker) {
            tls_asker_open(asker, &g->shared);
        } else {
            g->meter.lost++;
        }
    }
    return g->due_ns - now_ns;
}

static void load_tls_run_for(struct generator *g, uint64_t duration_ns)
{
    uint64_t end_ns = meter_now_ns() + duration_ns;
    while (meter_now_ns() < end_ns) {
        load_tls_take_events(g, g->rate > 0 ? open_due(g) : 0);
    }
}

static void load_tls_measure(struct generator *g)
{
    for (int64_t i = 0; i < g->connections; i++) {
        g->all[i].fd = -1;
        load_tls_open_another(g, &g->all[i]);
    }
    g->due_ns = meter_now_ns();
    load_tls_run_for(g, g->load.warm_up_ns);
    meter_start(&g->meter);
    g->resumed = 0;
    load_tls_run_for(g, g->load.run_ns);
    meter_print(&g->meter);
    printf("resumed %" PRIu64 "\n", g->resumed);
}

/* ---- Idle connections ---- */

/* One more whenever one is answered. */
static void open_idle(struct generator *g)
{
    int64_t limit = (int64_t)g->meter.answers + AT_ONCE;
    while (g->opened < g->connections && g->opened < limit) {
        tls_asker_open(&g->all[g->opened++], &g->shared);
    }
}

static void idle_event(struct generator *g, struct tls_asker *asker)
{
    bool was_open = asker->is_open;
    if (tls_asker_turn(asker) < 0 || (!was_open && asker->is_open && !tls_asker_ask(asker, 1))) {
        tls_asker_close(asker);
        g->meter.errors++;
    }
}

static void idle_turn(struct generator *g, int wait_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(g->shared.epoll, events, EVENTS, wait_ms);
    for (int i = 0; i < count; i++) {
        idle_event(g, events[i].data.ptr);
    }
}

static void load_tls_idle(struct generator *g)
{
    meter_start(&g->meter);
    uint64_t end_ns = meter_now_ns() + IDLE_MAX_MS * UINT64_C(1000000);
    while ((int64_t)g->meter.answers < g->connections) {
        open_idle(g);
        idle_turn(g, 100);
        if (meter_now_ns() > end_ns || g->meter.errors > 0) {
            bench_fail("load", g->meter.errors ? "a connection failed" : "not all answered");
        }
    }
    printf("idle %" PRId64 "\n", g->connections);
    (void)fflush(stdout); /* seen by whoever reads it */
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    idle_turn(g, 0); /* connections that the server has closed are errors */
    meter_print(&g->meter);
}

int main(int argc, char **argv)
{
    struct generator *g = xcalloc(1, sizeof(*g));
    g->connections = 16;
    g->in_flight = 1;
    const struct flag table[] = {
        {"protocol", FLAG_CHOICE, &g->protocol, .choices = "dot|doh", .help = "dot|doh"},
        {"connections", FLAG_INT, &g->connections, .min = 1, .max = CONNECTIONS_MAX,
         .help = "at once"},
        {"in-flight", FLAG_INT, &g->in_flight, .min = 1, .max = TLS_ASKED_MAX,
         .help = "queries in flight on each"},
        {"per-connection", FLAG_INT, &g->per_connection, .max = 1000000,
         .help = "queries until it is closed; 0: never"},
        {"resume", FLAG_BOOL, &g->wants_resumption, .help = "resume sessions"},
        {"rate", FLAG_INT, &g->rate, .max = 100000,
         .help = "new connections/s; 0: after each that ends"},
        {"idle", FLAG_BOOL, &g->wants_idle, .help = "one query on each, then wait for stdin"},
    };
    const struct flags flags = {.program = "load_tls",
                                .summary = "Asks a DNS server over TLS or HTTPS, and measures",
                                .table = table,
                                .count = ARRAY_LEN(table)};
    load_parse(argc, argv, &flags, &g->load);
    if (g->rate > 0 && g->per_connection == 0) {
        bench_fail("options", "-rate needs -per-connection");
    }
    g->meter.server_pids = g->load.pids;
    g->shared = (struct tls_askers){.server = g->load.server,
                                    .queries = &g->load.queries,
                                    .meter = &g->meter,
                                    .is_doh = g->protocol == 1,
                                    .has_resumption = g->wants_resumption,
                                    .epoll = epoll_create1(EPOLL_CLOEXEC)};
    tls_askers_init(&g->shared);
    g->all = xcalloc((size_t)g->connections, sizeof(*g->all));
    (g->wants_idle ? load_tls_idle : load_tls_measure)(g);
    for (int64_t i = 0; i < (g->wants_idle ? g->opened : g->connections); i++) {
        tls_asker_fini(&g->all[i]);
    }
    tls_askers_fini(&g->shared);
    queries_fini(&g->load.queries);
    free(g->all);
    free(g);
    return 0;
}
