#include "tests/bench/updates/load.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "skydns/records/rng.h"
#include "tests/bench/bench.h"
#include "tests/support/skydns/questions.h"

enum {
    /* Questions, sent round robin with their index as ID. At most this many are in flight. */
    QUESTIONS = 1 << 15,
    BATCH = 64,
    LAST_ANSWERS_MS = 200,
    SOCKET_BUFFER = 4 << 20,
};

/* Twelve questions: six addresses; the other kinds in equal parts. */
static const enum question_kind mix[] = {
    QUESTION_ADDRESS, QUESTION_NO_NAME, QUESTION_ADDRESS, QUESTION_PORT,
    QUESTION_ADDRESS, QUESTION_NO_DATA, QUESTION_ADDRESS, QUESTION_NO_NAME,
    QUESTION_ADDRESS, QUESTION_PORT,    QUESTION_ADDRESS, QUESTION_NO_DATA,
};

struct load {
    struct load_config config;
    pthread_t thread;
    int fd;
    _Atomic int phase;
    atomic_bool is_stopping;
    unsigned next;
    struct load_sums sums[PHASES];
    struct asked_question questions[QUESTIONS];
    uint64_t sent_ns[QUESTIONS]; /* 0: answered */
    uint8_t sent_phase[QUESTIONS];

    struct mmsghdr messages[BATCH];
    struct iovec iovs[BATCH];
    uint8_t answers[BATCH][ANSWER_MAX];
};

static void send_burst(struct load *l)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    int phase = atomic_load_explicit(&l->phase, memory_order_relaxed);
    for (unsigned i = 0; i < l->config.burst; i++) {
        unsigned slot = (l->next + i) % QUESTIONS;
        l->iovs[i] = (struct iovec){l->questions[slot].wire, l->questions[slot].len};
        l->messages[i].msg_hdr = (struct msghdr){.msg_iov = &l->iovs[i], .msg_iovlen = 1};
        l->sent_ns[slot] = now_ns;
        l->sent_phase[slot] = (uint8_t)phase;
    }
    int n = hooks_sendmmsg(l->fd, l->messages, l->config.burst, 0);
    if (n < 0) {
        bench_fail("send queries", strerror(errno));
    }
    l->next = (l->next + (unsigned)n) % QUESTIONS;
    l->sums[phase].sent += (unsigned)n;
}

static void load_take_answer(struct load *l, const uint8_t *wire, size_t len, uint64_t now_ns)
{
    unsigned slot = len >= 2 ? question_id(wire) : QUESTIONS;
    if (slot >= QUESTIONS || l->sent_ns[slot] == 0) {
        return; /* not ours, or already answered */
    }
    struct load_sums *sums = &l->sums[l->sent_phase[slot]];
    histogram_add(&sums->latency, now_ns - l->sent_ns[slot]);
    sums->answered++;
    sums->wrong += !question_is_answered(&l->questions[slot], wire, len);
    l->sent_ns[slot] = 0;
}

static void load_receive_all(struct load *l)
{
    int n;
    do {
        for (unsigned i = 0; i < BATCH; i++) {
            l->iovs[i] = (struct iovec){l->answers[i], ANSWER_MAX};
            l->messages[i].msg_hdr = (struct msghdr){.msg_iov = &l->iovs[i], .msg_iovlen = 1};
        }
        n = hooks_recvmmsg(l->fd, l->messages, BATCH, MSG_DONTWAIT);
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < n; i++) {
            load_take_answer(l, l->answers[i], l->messages[i].msg_len, now_ns);
        }
    } while (n == BATCH);
}

/* Waits until then, or until answers arrive. */
static void load_wait_until_ns(const struct load *l, uint64_t due_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    struct pollfd ready = {.fd = l->fd, .events = POLLIN};
    if (due_ns > now_ns) {
        const struct timespec left = {.tv_sec = (time_t)((due_ns - now_ns) / 1000000000),
                                      .tv_nsec = (long)((due_ns - now_ns) % 1000000000)};
        (void)ppoll(&ready, 1, &left, NULL); /* load_receive_all() finds out */
    }
}

static void *load_run(void *data)
{
    struct load *l = data;
    uint64_t step_ns = UINT64_C(1000000000) * l->config.burst / l->config.queries_per_s;
    uint64_t due_ns = clock_ns(CLOCK_MONOTONIC);
    (void)prctl(PR_SET_TIMERSLACK, 1);
    while (!atomic_load_explicit(&l->is_stopping, memory_order_relaxed)) {
        if (clock_ns(CLOCK_MONOTONIC) >= due_ns) {
            send_burst(l);
            due_ns += step_ns;
        }
        load_receive_all(l);
        load_wait_until_ns(l, due_ns);
    }
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + LAST_ANSWERS_MS * UINT64_C(1000000);
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
        load_wait_until_ns(l, end_ns);
        load_receive_all(l);
    }
    return NULL;
}

struct load *load_start(const struct load_config *config)
{
    struct load *l = xcalloc(1, sizeof(*l));
    struct rng rng = {.state = 12345};
    int buffer = SOCKET_BUFFER;
    l->config = *config;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        question_make(&l->questions[i], mix[i % ARRAY_LEN(mix)], rng_next(&rng) % config->services,
                      (uint16_t)i);
    }
    l->fd = socket(config->server.sa.sa_family, SOCK_DGRAM, 0);
    if (l->fd < 0 || connect(l->fd, &config->server.sa, config->server.len) < 0) {
        bench_fail("connect to the worker", strerror(errno));
    }
    (void)setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &buffer,
                     sizeof(buffer)); /* the kernel caps it */
    if (pthread_create(&l->thread, NULL, load_run, l) != 0) {
        bench_fail("start the load", strerror(errno));
    }
    return l;
}

void load_set_phase(struct load *load, enum hooks_phase phase)
{
    atomic_store_explicit(&load->phase, phase, memory_order_relaxed);
}

void load_stop(struct load *load)
{
    atomic_store_explicit(&load->is_stopping, true, memory_order_relaxed);
    (void)pthread_join(load->thread, NULL);
}

const struct load_sums *load_sums(const struct load *load, enum hooks_phase phase)
{
    return &load->sums[phase];
}

void load_free(struct load *load)
{
    (void)close(load->fd);
    free(load);
}
