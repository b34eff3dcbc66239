/* Measures the cost of updates for skydns and its clients (tests/bench/updates.py runs it):
 *
 *     bench_updates SERVICES SECONDS CHANGES_PER_S QUERIES_PER_S FILE INTERVAL_MS
 *
 * Fills a store with SERVICES Services, measures single changes without readers, then lets one
 * worker answer queries over loopback, alternately without changes and under a steady feed of
 * changes from this process (each its own version), for SECONDS of feeding; then for as long again,
 * but half of it while snapshots are written to FILE, one every INTERVAL_MS, 0: back to back. A
 * second worker gets no load: it sleeps in recvmmsg, and is occasionally asked for what was just
 * published. With two or more processors the worker has one to itself. Prints `name value` lines.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "skydns/engine/engine.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/publish/engine_config.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/udp_server.h"
#include "skydns/udp/worker.h"
#include "tests/bench/bench.h"
#include "tests/bench/updates/hooks.h"
#include "tests/bench/updates/load.h"
#include "tests/bench/updates/snapshots.h"
#include "tests/support/skydns/questions.h"
#include "tests/support/skydns/services.h"

enum {
    WORKERS = 2, /* one under load, one asleep */
    SINGLE_CHANGES = 20000,
    BURST = 16, /* queries sent at once */
    PROBES_PER_S = 20,
    PROBE_TIMEOUT_MS = 100,
    RECLAIM_EVERY_NS = 10000000, /* as store_sync does */
    REPLY_MAX = 1232,
    FEED_SLICE_S = 5,
};

static const uint64_t SECOND_NS = 1000000000;

struct lane {
    struct udp_server *udp;
    struct engine *engine;
    struct worker *worker;
    struct addr address;
    int probe_fd;
    uint16_t probe_id;
    struct fine_histogram probes; /* from before the publication to the right answer */
};

struct bench {
    unsigned seconds, changes_per_s, queries_per_s;
    struct services services;
    struct publisher *publisher;
    struct lane lanes[WORKERS];
    struct load *load;
    struct snapshots *snapshots;
    uint64_t writing_ns;     /* the time in which snapshots were written */
    unsigned turn;           /* which Service is changed next */
    uint64_t stale;          /* probes answered from an older version */
    uint64_t lost_probes;    /* not answered within PROBE_TIMEOUT_MS */
    uint64_t changes;        /* of the feed */
    uint64_t kube_source_ns; /* the time it took */
    uint64_t kube_source_cpu_ns;
    uint64_t late_ns_max;              /* how far the feed fell behind schedule */
    uint64_t writer_sleeps;            /* while changing and publishing: it had to wait */
    uint64_t waiting_max;              /* versions not yet freed */
    struct fine_histogram change_wall; /* one change, from text to published */
};

static void bench_updates_say(const char *name, double value)
{
    printf("%s %.6g\n", name, value);
    (void)fflush(stdout);
}

/* ---- Processors ---- */

/* The first two this process may use; false if it has only one. */
static bool find_cpus(int cpus[2])
{
    cpu_set_t allowed;
    int found = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
        return false;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) {
            cpus[found++] = cpu;
        }
    }
    return found == 2;
}

/* Moves this thread and those it starts later. */
static void move_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        bench_fail("bind to a processor", strerror(errno));
    }
}

/* ---- Workers ---- */

static void open_config(struct bench *b)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    struct dname domain;
    *config = (struct engine_config){
        .settings = {.ttl_s = 3600,
                     .min_ttl_s = 60,
                     .priority = 10,
                     .max_udp_size = REPLY_MAX,
                     .no_rec = true},
    };
    if (!dname_from_text(slice_str("cluster.local."), &domain) ||
        !engine_config_add_domain(config, &domain, NULL)) {
        bench_fail("the domain", strerror(errno));
    }
    publisher_configure(b->publisher, config);
}

static struct addr bench_updates_address_of(int fd)
{
    struct addr address = {.len = sizeof(address.v6)};
    if (getsockname(fd, &address.sa, &address.len) < 0) {
        bench_fail("getsockname", strerror(errno));
    }
    return address;
}

/* No resolver: the engine answers every question of the load itself. */
static void bench_updates_open_lane(struct bench *b, unsigned index)
{
    struct lane *lane = &b->lanes[index];
    struct ip loopback;
    struct listen_socket socket_of_lane;
    struct err err;
    const struct timeval timeout = {.tv_usec = PROBE_TIMEOUT_MS * 1000};
    if (!ip_parse(slice_str("127.0.0.1"), &loopback)) {
        bench_fail("127.0.0.1", strerror(errno));
    }
    struct addr any_port = addr_of_ip(&loopback, 0);
    if (listen_udp(&any_port, false, &socket_of_lane, &err) < 0) {
        bench_fail(err.msg, strerror(errno));
    }
    lane->address = socket_of_lane.address = bench_updates_address_of(socket_of_lane.fd);
    const struct udp_server_config udp = {&socket_of_lane, REPLY_MAX};
    if (udp_server_new(&udp, &lane->udp, &err) < 0) {
        bench_fail(err.msg, strerror(errno));
    }
    lane->engine = engine_new(publisher_newest_config(b->publisher));
    static const struct query_tap untapped;
    const struct worker_config config = {
        .index = index,
        .tap = &untapped,
        .udp = lane->udp,
        .engine = lane->engine,
        .reader = publisher_reader_new(b->publisher),
    };
    if (worker_start(&config, &lane->worker, &err) < 0) {
        bench_fail(err.msg, strerror(errno));
    }
    lane->probe_fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (lane->probe_fd < 0 || connect(lane->probe_fd, &lane->address.sa, lane->address.len) < 0 ||
        setsockopt(lane->probe_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0) {
        bench_fail("a probe's socket", strerror(errno));
    }
}

static void close_lane(struct lane *lane)
{
    udp_server_stop(lane->udp);
    worker_join(lane->worker);
    worker_free(lane->worker);
    udp_server_free(lane->udp);
    engine_free(lane->engine);
    (void)close(lane->probe_fd);
}

/* ---- Changes ---- */

/* Each Service once in turn, in an order that jumps through memory. */
static unsigned next_service(struct bench *b)
{
    enum { STRIDE = 7919 }; /* a prime: counts are not its multiples */
    return (unsigned)((uint64_t)b->turn++ * STRIDE % b->services.count);
}

static void bench_updates_publish(struct bench *b, const struct store *store,
                                  struct store_garbage *garbage)
{
    hooks_publishing(store, garbage);
    publisher_publish(b->publisher, store, garbage);
}

static void bench_updates_change(struct bench *b, unsigned number)
{
    struct store_garbage *garbage;
    const struct store *store = services_change(&b->services, number, &garbage);
    bench_updates_publish(b, store, garbage);
}

static void bench_updates_fill(struct bench *b)
{
    struct store_garbage *garbage;
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    const struct store *store = services_fill(&b->services, &garbage);
    bench_updates_publish(b, store, garbage);
    bench_updates_say("fill_s", (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e9);
}

static void measure_single_changes(struct bench *b)
{
    uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < SINGLE_CHANGES; i++) {
        services_parse_only(&b->services, next_service(b));
    }
    uint64_t parsed_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t bytes = hooks_allocated_bytes(), allocations = hooks_allocations();
    for (unsigned i = 0; i < SINGLE_CHANGES; i++) {
        bench_updates_change(b, next_service(b));
    }
    uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bench_updates_say("parse_us", (double)(parsed_ns - start_ns) / 1e3 / SINGLE_CHANGES);
    bench_updates_say("change_us", (double)(end_ns - parsed_ns) / 1e3 / SINGLE_CHANGES);
    bench_updates_say("change_bytes", (double)(hooks_allocated_bytes() - bytes) / SINGLE_CHANGES);
    bench_updates_say("change_allocations",
                      (double)(hooks_allocations() - allocations) / SINGLE_CHANGES);
}

/* How often this thread went to sleep. */
static uint64_t bench_updates_sleeps(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) < 0) {
        bench_fail("getrusage", strerror(errno));
    }
    return (uint64_t)usage.ru_nvcsw;
}

static void bench_updates_change_one(struct bench *b, unsigned number)
{
    uint64_t start_sleeps = bench_updates_sleeps(), start_ns = clock_ns(CLOCK_MONOTONIC);
    bench_updates_change(b, number);
    histogram_add(&b->change_wall, clock_ns(CLOCK_MONOTONIC) - start_ns);
    b->writer_sleeps += bench_updates_sleeps() - start_sleeps;
    uint64_t waiting = hooks_versions_waiting();
    b->waiting_max = waiting > b->waiting_max ? waiting : b->waiting_max;
}

/* The answer to this question, skipping late answers to others; its length, -1: none. */
static ssize_t receive_probe(const struct lane *lane, uint16_t id, uint8_t answer[ANSWER_MAX])
{
    ssize_t n;
    do {
        n = recv(lane->probe_fd, answer, ANSWER_MAX, 0);
    } while (n >= 2 && question_id(answer) != id);
    return n;
}

/* Asks until the answer is from the version just published. */
static void bench_updates_probe(struct bench *b, struct lane *lane, unsigned number,
                                uint64_t start_ns)
{
    struct asked_question question;
    uint8_t answer[ANSWER_MAX];
    uint32_t right = services_address(number, b->services.states[number]);
    for (;;) {
        question_make(&question, QUESTION_ADDRESS, number, ++lane->probe_id);
        if (send(lane->probe_fd, question.wire, question.len, 0) < 0) {
            bench_fail("send a probe", strerror(errno));
        }
        ssize_t n = receive_probe(lane, lane->probe_id, answer);
        if (n < 0) {
            b->lost_probes++;
            continue;
        }
        if (!question_is_answered(&question, answer, (size_t)n)) {
            (void)fprintf(stderr, "bench_updates: wrong answer to a probe\n");
            exit(2);
        }
        if (question_address(answer, (size_t)n) == right) {
            histogram_add(&lane->probes, clock_ns(CLOCK_MONOTONIC) - start_ns);
            return;
        }
        b->stale++;
    }
}

/* One change per worker, which it must serve from then on. */
static void probe_all(struct bench *b)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        unsigned number = next_service(b);
        uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
        bench_updates_change_one(b, number);
        bench_updates_probe(b, &b->lanes[i], number, start_ns);
    }
}

static void bench_updates_wait_until_ns(uint64_t due_ns)
{
    const struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000),
                                 .tv_nsec = (long)(due_ns % 1000000000)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

/* One change at a time when due; catches up at once if late. */
static void kube_source(struct bench *b, unsigned seconds, struct snapshots *snapshots)
{
    uint64_t step_ns = SECOND_NS / b->changes_per_s, start_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t end_ns = start_ns + seconds * SECOND_NS, reclaimed_ns = start_ns;
    unsigned probe_every = b->changes_per_s / PROBES_PER_S + 1;
    for (uint64_t due_ns = start_ns; due_ns < end_ns; due_ns += step_ns) {
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        if (now_ns < due_ns) {
            bench_updates_wait_until_ns(due_ns);
        } else if (now_ns - due_ns > b->late_ns_max) {
            b->late_ns_max = now_ns - due_ns;
        }
        if (b->changes++ % probe_every == 0) {
            probe_all(b);
        } else {
            bench_updates_change_one(b, next_service(b));
        }
        if (now_ns - reclaimed_ns > RECLAIM_EVERY_NS) {
            (void)publisher_reclaim(b->publisher); /* the next call frees the rest */
            reclaimed_ns = now_ns;
            if (snapshots) {
                snapshots_turn(snapshots);
            }
        }
    }
}

static void set_phase(struct bench *b, enum hooks_phase phase)
{
    hooks_set_phase(phase);
    load_set_phase(b->load, phase);
}

static void stay_idle(uint64_t end_ns, struct snapshots *snapshots)
{
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
        bench_updates_wait_until_ns(clock_ns(CLOCK_MONOTONIC) + RECLAIM_EVERY_NS);
        if (snapshots) {
            snapshots_turn(snapshots);
        }
    }
}

/* One slice with or without snapshots: half its time without changes, then with them. */
static void run_slice(struct bench *b, unsigned slice, struct snapshots *snapshots)
{
    uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    set_phase(b, snapshots ? PHASE_WRITING : PHASE_IDLE);
    stay_idle(begun_ns + slice * SECOND_NS / 2, snapshots);
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    set_phase(b, snapshots ? PHASE_BOTH : PHASE_UPDATES);
    kube_source(b, slice, snapshots);
    b->kube_source_ns += clock_ns(CLOCK_MONOTONIC) - start_ns;
    b->kube_source_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    set_phase(b, PHASE_NONE);
    if (snapshots) {
        snapshots_pause(snapshots);
        b->writing_ns += clock_ns(CLOCK_MONOTONIC) - begun_ns;
    }
    while (publisher_reclaim(b->publisher)) {
        bench_updates_wait_until_ns(clock_ns(CLOCK_MONOTONIC) + RECLAIM_EVERY_NS);
    }
}

/* The machine's speed varies: alternate idle and busy slices. */
static void kube_source_in_turns(struct bench *b)
{
    for (unsigned left = b->seconds, slice; left > 0; left -= slice) {
        slice = left < FEED_SLICE_S ? left : FEED_SLICE_S;
        run_slice(b, slice, NULL);
    }
}

/* Slices with and without snapshots in turns, half the time each. */
static void kube_source_and_write_in_turns(struct bench *b)
{
    for (unsigned left = (b->seconds + 1) / 2, slice; left > 0; left -= slice) {
        slice = left < FEED_SLICE_S ? left : FEED_SLICE_S;
        run_slice(b, slice, NULL);
        run_slice(b, slice, b->snapshots);
    }
}

/* ---- The figures ---- */

static void say_us(const char *phase, const char *name, const struct fine_histogram *h)
{
    char text[64];
    static const struct {
        const char *name;
        double part;
    } parts[] = {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        (void)snprintf(text, sizeof(text), "%s%s_%s_us", phase, name, parts[i].name);
        bench_updates_say(text, (double)histogram_percentile(h, parts[i].part) / 1e3);
    }
}

static void say_phase(const struct bench *b, enum hooks_phase phase, const char *name)
{
    char text[64];
    static struct batch_times t; /* large */
    const struct load_sums *sums = load_sums(b->load, phase);
    hooks_sum(phase, &t);
    say_us(name, "batch", &t.wall);
    say_us(name, "batch_cpu", &t.cpu);
    say_us(name, "latency", &sums->latency);
    if (phase == PHASE_UPDATES) {
        say_us("", "old_answers", &t.old);
    }
    (void)snprintf(text, sizeof(text), "%sbatches", name);
    bench_updates_say(text, (double)t.wall.count);
    (void)snprintf(text, sizeof(text), "%spackets_per_batch", name);
    bench_updates_say(text, t.wall.count ? (double)t.packets / (double)t.wall.count : 0);
    (void)snprintf(text, sizeof(text), "%scpu_us_per_query", name);
    bench_updates_say(text, t.packets ? (double)t.cpu.sum_ns / 1e3 / (double)t.packets : 0);
    (void)snprintf(text, sizeof(text), "%slost", name);
    bench_updates_say(text, (double)(sums->sent - sums->answered));
    (void)snprintf(text, sizeof(text), "%swrong", name);
    bench_updates_say(text, (double)sums->wrong);
}

static void say_kube_source(const struct bench *b)
{
    bench_updates_say("changes_per_s", (double)b->changes / ((double)b->kube_source_ns / 1e9));
    bench_updates_say("feed_cpu_percent",
                      (double)b->kube_source_cpu_ns * 100 / (double)b->kube_source_ns);
    bench_updates_say("feed_late_max_us", (double)b->late_ns_max / 1e3);
    say_us("", "change_wall", &b->change_wall);
    say_us("", "probe_loaded", &b->lanes[0].probes);
    say_us("", "probe_asleep", &b->lanes[1].probes);
    bench_updates_say("stale_probes", (double)b->stale);
    bench_updates_say("lost_probes", (double)b->lost_probes);
    bench_updates_say("writer_sleeps", (double)b->writer_sleeps);
    bench_updates_say("versions_waiting_max", (double)b->waiting_max);
    say_us("", "version_kept", hooks_versions_cached());
}

static void say_snapshots(const struct bench *b)
{
    const struct snapshots_sums *sums = snapshots_sums(b->snapshots);
    double writes = (double)sums->writes;
    bench_updates_say("snapshot_writes", writes);
    bench_updates_say("snapshot_writes_per_s", writes / ((double)b->writing_ns / 1e9));
    bench_updates_say("snapshot_mib", (double)sums->bytes / writes / (1 << 20));
    bench_updates_say("snapshot_ms", (double)sums->write_ns / 1e6 / writes);
    bench_updates_say("snapshot_disk_ratio", (double)sums->bytes_to_disk / (double)sums->bytes);
}

/* ---- The command line ---- */

static unsigned bench_updates_number_of(const char *text, unsigned least, unsigned limit)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < least || value > limit) {
        (void)fprintf(stderr, "bench_updates: %s: expected a number from %u to %u\n", text, least,
                      limit);
        exit(2);
    }
    return (unsigned)value;
}

static void run_loaded(struct bench *b)
{
    int cpus[2];
    bool pinned = find_cpus(cpus);
    if (pinned) {
        move_to(cpus[0]);
    }
    bench_updates_open_lane(b, 0);
    if (pinned) {
        move_to(cpus[1]);
    }
    bench_updates_open_lane(b, 1);
    b->load = load_start(&(struct load_config){.server = b->lanes[0].address,
                                               .services = b->services.count,
                                               .queries_per_s = b->queries_per_s,
                                               .burst = BURST});
    bench_updates_wait_until_ns(clock_ns(CLOCK_MONOTONIC) + SECOND_NS); /* warm */
    double rss_mib = resident_mib();
    kube_source_in_turns(b);
    double rss_after_mib = resident_mib();
    kube_source_and_write_in_turns(b);
    double rss_max_mib = snapshots_sums(b->snapshots)->resident_mib_max;
    load_stop(b->load);
    for (unsigned i = 0; i < WORKERS; i++) {
        close_lane(&b->lanes[i]);
    }
    bench_updates_say("pinned", pinned);
    say_phase(b, PHASE_IDLE, "idle_");
    say_phase(b, PHASE_UPDATES, "updates_");
    say_phase(b, PHASE_WRITING, "writing_");
    say_phase(b, PHASE_BOTH, "both_");
    say_kube_source(b);
    bench_updates_say("resident_mib", rss_mib);
    bench_updates_say("resident_growth_percent", (rss_after_mib / rss_mib - 1) * 100);
    bench_updates_say("snapshot_resident_percent", (rss_max_mib / rss_mib - 1) * 100);
    say_snapshots(b);
    load_free(b->load);
}

int main(int argc, char **argv)
{
    static struct bench b;
    if (argc != 7) {
        (void)fprintf(stderr, "usage: bench_updates SERVICES SECONDS CHANGES_PER_S "
                              "QUERIES_PER_S FILE INTERVAL_MS\n");
        return 2;
    }
    unsigned count = bench_updates_number_of(argv[1], 1, SERVICES_MAX);
    b.seconds = bench_updates_number_of(argv[2], 1, 3600);
    b.changes_per_s = bench_updates_number_of(argv[3], 1, 1000000);
    b.queries_per_s = bench_updates_number_of(argv[4], 1, 10000000);
    (void)prctl(PR_SET_TIMERSLACK, 1); /* the feed's pauses are shorter than the default 50 us */
    hooks_init();
    b.publisher = publisher_new();
    services_init(&b.services, count);
    open_config(&b);
    bench_updates_fill(&b);
    b.snapshots = snapshots_new(b.publisher, argv[5],
                                (uint64_t)bench_updates_number_of(argv[6], 0, 3600000) * 1000000);
    measure_single_changes(&b);
    run_loaded(&b);
    snapshots_free(b.snapshots);
    publisher_free(b.publisher);
    services_fini(&b.services);
    return 0;
}
