/* load_udp: asks a server over UDP and counts the answers (load_udp -help).
 *
 * Without -rate, a closed loop: each socket has -window queries in flight, a new one for each
 * answer, so that the server is never idle for long; the figure of interest is its CPU time per
 * answer. With -rate, an open loop: that many queries a second, whatever comes back; the figure of
 * interest is the latency from when a query was due, even if it was sent late. It spins: a
 * generator that slept would let the server sleep, too.
 *
 * With -rate and -sleep it leaves its core to others between the queries; the latency is that from
 * the call that sends a query to the kernel's time stamp of the answer, so that neither its own
 * waking up nor what runs beside it counts. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "tests/bench/answers/load.h"
#include "tests/bench/answers/meter.h"
#include "tests/bench/answers/udp_socket.h"
#include "tests/bench/bench.h"

enum {
    SLOTS = 2048,           /* queries in flight per socket; a power of two */
    WINDOW_MAX = SLOTS / 2, /* leaves slots for the successors of lost queries */
    SOCKETS_MAX = 64,
    BATCH_MAX = 64,
    ANSWER_MAX = 1500,
    LOST_AFTER_MS = 200, /* thousands of times an answer's duration */
    LOOK_FOR_LOST_MS = 10,
    BEHIND_MAX_MS = 20, /* of a rate's schedule; queries more overdue are skipped */
};

struct slot {
    uint64_t since_ns; /* 0: free */
    uint16_t id;
};

struct lane {
    int fd;
    uint16_t next_id;
    size_t out;
    struct slot slots[SLOTS];
};

struct generator {
    struct load load;
    int64_t sockets, window, batch, rate;
    bool wants_sleep;
    struct lane *lanes;
    uint64_t due_ns; /* with -rate: of the next query */
    uint64_t looked_ns;
    struct mmsghdr out[BATCH_MAX], in[BATCH_MAX];
    struct iovec out_parts[BATCH_MAX], in_parts[BATCH_MAX];
    uint8_t answers[BATCH_MAX][ANSWER_MAX];
    union {
        struct cmsghdr header; /* for its alignment */
        uint8_t bytes[CMSG_SPACE(sizeof(struct timespec))];
    } stamps[BATCH_MAX];
    struct meter meter;
};

static void load_udp_open_lane(struct lane *lane, const struct addr *server, bool wants_stamps)
{
    const int on = 1;
    struct err err;
    lane->fd = udp_socket(server, SOCK_NONBLOCK, &err);
    if (lane->fd < 0) {
        bench_fail("load", err.msg);
    }
    if (connect(lane->fd, &server->sa, server->len) < 0) {
        bench_fail("connect", err_code_text(-errno));
    }
    if (wants_stamps && setsockopt(lane->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0) {
        bench_fail("SO_TIMESTAMPNS", err_code_text(-errno));
    }
}

static void load_udp_prepare(struct generator *g)
{
    g->lanes = xcalloc((size_t)g->sockets, sizeof(*g->lanes));
    for (int64_t i = 0; i < g->sockets; i++) {
        load_udp_open_lane(&g->lanes[i], &g->load.server, g->wants_sleep);
    }
    for (size_t i = 0; i < BATCH_MAX; i++) {
        g->in_parts[i] = (struct iovec){g->answers[i], ANSWER_MAX};
        g->in[i].msg_hdr = (struct msghdr){.msg_iov = &g->in_parts[i], .msg_iovlen = 1};
        g->out[i].msg_hdr = (struct msghdr){.msg_iov = &g->out_parts[i], .msg_iovlen = 1};
    }
}

/* ---- Asking ---- */

/* Returns a free slot with its ID set. */
static struct slot *take_slot(struct lane *lane)
{
    struct slot *slot;
    do {
        slot = &lane->slots[lane->next_id % SLOTS];
        slot->id = slot->since_ns ? slot->id : lane->next_id;
        lane->next_id++;
    } while (slot->since_ns);
    return slot;
}

/* How many the lane may send now. Waits for enough to make a system call worthwhile. */
static size_t load_udp_room_of(const struct generator *g, const struct lane *lane, uint64_t now_ns)
{
    size_t window = (size_t)g->window;
    size_t batch = g->batch < g->window ? (size_t)g->batch : window;
    size_t room = window - (lane->out < window ? lane->out : window);
    if (g->rate > 0) {
        uint64_t due =
            now_ns < g->due_ns ? 0 : (now_ns - g->due_ns) * (uint64_t)g->rate / 1000000000 + 1;
        room = due < room ? (size_t)due : room;
    } else if (room < batch / 2) {
        return 0;
    }
    return room < batch ? room : batch;
}

static void send_from(struct generator *g, struct lane *lane, size_t count, uint64_t now_ns)
{
    struct slot *slots[BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        slots[i] = take_slot(lane);
        slots[i]->since_ns = now_ns;
        if (g->rate > 0) {
            slots[i]->since_ns = g->wants_sleep ? now_ns : g->due_ns;
            g->due_ns += 1000000000 / (uint64_t)g->rate;
        }
        const struct query *query = queries_take(&g->load.queries, slots[i]->id);
        g->out_parts[i] = (struct iovec){query->frame + QUERY_FRAME, query->len};
    }
    int sent = sendmmsg(lane->fd, g->out, (unsigned)count, 0);
    size_t cached = sent > 0 ? (size_t)sent : 0;
    for (size_t i = cached; i < count; i++) {
        slots[i]->since_ns = 0;
        g->meter.errors++;
    }
    lane->out += cached;
    g->meter.sent += cached;
}

static void load_udp_ask(struct generator *g, struct lane *lane)
{
    uint64_t now_ns = meter_now_ns();
    if (g->rate > 0 && now_ns > g->due_ns + BEHIND_MAX_MS * UINT64_C(1000000)) {
        g->due_ns = now_ns;
    }
    size_t room = load_udp_room_of(g, lane, now_ns);
    if (room > 0) {
        send_from(g, lane, room, now_ns);
    }
}

/* ---- Answers ---- */

static void load_udp_take_answer(struct generator *g, struct lane *lane, struct reader *message,
                                 uint64_t now_ns)
{
    const uint8_t *header = reader_take(message, DNS_HEADER_SIZE);
    if (!header) {
        g->meter.errors++;
        return;
    }
    uint16_t id = (uint16_t)(header[0] << 8 | header[1]);
    struct slot *slot = &lane->slots[id % SLOTS];
    if (slot->since_ns == 0 || slot->id != id) {
        return; /* it was counted as lost */
    }
    histogram_add(&g->meter.latencies, now_ns > slot->since_ns ? now_ns - slot->since_ns : 0);
    meter_answer(&g->meter, header);
    slot->since_ns = 0;
    lane->out--;
}

static uint64_t load_udp_ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* When it arrived, on the clock of now_ns. */
static uint64_t arrived_ns(struct msghdr *message, uint64_t now_ns)
{
    struct timespec wall, stamp;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_type != SCM_TIMESTAMPNS) {
        bench_fail("SO_TIMESTAMPNS", "a message without a time");
    }
    memcpy(&stamp, CMSG_DATA(header), sizeof(stamp));
    (void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail for this clock */
    return now_ns - (load_udp_ns_of(&wall) - load_udp_ns_of(&stamp));
}

static void load_udp_receive(struct generator *g, struct lane *lane)
{
    int n = (int)g->batch;
    while (lane->out > 0 && n == (int)g->batch) {
        for (size_t i = 0; g->wants_sleep && i < (size_t)g->batch; i++) {
            g->in[i].msg_hdr.msg_control = &g->stamps[i];
            g->in[i].msg_hdr.msg_controllen = sizeof(g->stamps[i]);
        }
        n = recvmmsg(lane->fd, g->in, (unsigned)g->batch, MSG_DONTWAIT, NULL);
        g->meter.errors += n < 0 && errno != EAGAIN && errno != EINTR; /* nobody listens there */
        uint64_t now_ns = n > 0 ? meter_now_ns() : 0;
        for (int i = 0; i < n; i++) {
            struct reader message = reader_of(g->answers[i], g->in[i].msg_len);
            load_udp_take_answer(g, lane, &message,
                                 g->wants_sleep ? arrived_ns(&g->in[i].msg_hdr, now_ns) : now_ns);
        }
    }
}

static void load_udp_give_up(struct generator *g, uint64_t now_ns)
{
    if (now_ns - g->looked_ns < LOOK_FOR_LOST_MS * UINT64_C(1000000)) {
        return;
    }
    g->looked_ns = now_ns;
    for (struct lane *lane = g->lanes; lane < g->lanes + g->sockets; lane++) {
        for (size_t i = 0; lane->out > 0 && i < SLOTS; i++) {
            struct slot *slot = &lane->slots[i];
            if (slot->since_ns && now_ns > slot->since_ns + LOST_AFTER_MS * UINT64_C(1000000)) {
                slot->since_ns = 0;
                lane->out--;
                g->meter.lost++;
            }
        }
    }
}

/* Until a query is due, or an answer is there. */
static void sleep_until_due(const struct generator *g, uint64_t now_ns)
{
    struct pollfd lanes[SOCKETS_MAX];
    for (int64_t i = 0; i < g->sockets; i++) {
        lanes[i] = (struct pollfd){.fd = g->lanes[i].fd, .events = POLLIN};
    }
    if (g->due_ns > now_ns) {
        const struct timespec wait = {.tv_nsec = (long)(g->due_ns - now_ns)};
        (void)ppoll(lanes, (nfds_t)g->sockets, &wait, NULL); /* either way, go on */
    }
}

static void load_udp_run_for(struct generator *g, uint64_t duration_ns)
{
    uint64_t now_ns = meter_now_ns(), end_ns = now_ns + duration_ns;
    for (; now_ns < end_ns; now_ns = meter_now_ns()) {
        for (struct lane *lane = g->lanes; lane < g->lanes + g->sockets; lane++) {
            load_udp_ask(g, lane);
        }
        for (struct lane *lane = g->lanes; lane < g->lanes + g->sockets; lane++) {
            load_udp_receive(g, lane);
        }
        load_udp_give_up(g, now_ns);
        if (g->wants_sleep) {
            sleep_until_due(g, meter_now_ns());
        }
    }
}

int main(int argc, char **argv)
{
    struct generator *g = xcalloc(1, sizeof(*g));
    g->sockets = 4;
    g->window = 48;
    g->batch = 32;
    const struct flag table[] = {
        {"sockets", FLAG_INT, &g->sockets, .min = 1, .max = SOCKETS_MAX, .help = "to ask from"},
        {"window", FLAG_INT, &g->window, .min = 1, .max = WINDOW_MAX,
         .help = "queries in flight on each"},
        {"batch", FLAG_INT, &g->batch, .min = 1, .max = BATCH_MAX, .help = "queries in one call"},
        {"rate", FLAG_INT, &g->rate, .max = 1000000, .help = "queries/s; 0: after each answer"},
        {"sleep", FLAG_BOOL, &g->wants_sleep, .help = "between them, with -rate"},
    };
    const struct flags flags = {.program = "load_udp",
                                .summary = "Asks a DNS server over UDP, and measures",
                                .table = table,
                                .count = ARRAY_LEN(table)};
    load_parse(argc, argv, &flags, &g->load);
    g->meter.server_pids = g->load.pids;
    if (g->wants_sleep && (g->rate == 0 || prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) < 0)) {
        bench_fail("options", "-sleep needs -rate");
    }
    load_udp_prepare(g);
    g->due_ns = meter_now_ns();
    load_udp_run_for(g, g->load.warm_up_ns);
    meter_start(&g->meter);
    load_udp_run_for(g, g->load.run_ns);
    meter_print(&g->meter);
    queries_fini(&g->load.queries);
    free(g->lanes);
    free(g);
    return 0;
}
