#include "skydns/upstream/loop_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/records/rng.h"
#include "skydns/upstream/exchange_internal.h"

/* A label of eight hex digits has 32 random bits. Nobody guesses three or more of them; more than
 * 28 do not fit a name. */
enum { LABEL_LEN = 8, LABELS_MIN = 3, LABELS_MAX = 28 };
_Static_assert(LABELS_MIN *LABEL_LEN * 4 >= 96, "bits of getrandom");

const struct loop_check_times loop_check_times = {
    .retry_s = 2,
    .pause_min_s = 30,
    .pause_max_s = 60,
    .gap_s = 10,
};

struct suspect {
    struct loop_check *owner;
    struct nameserver server;
    struct dname name; /* the name of this round */
    struct dname last; /* that of the round before */
    struct exchange *exchange;
    bool is_judged; /* in this round */
};

struct loop_check {
    struct loop_check_config config;
    ev_timer timer; /* in a round: the next attempt; else the next round */
    bool in_round;
    bool in_hurry;     /* the next round is to begin as soon as it may */
    unsigned attempts; /* in this round */
    int64_t begun_ms;  /* begin of this round or the last one: clock_monotonic_ms */
    unsigned labels;
    size_t count;
    struct suspect suspects[UPSTREAMS_MAX];
    struct rng rng;
};

static const char *verdict_text(enum upstream_verdict verdict)
{
    switch (verdict) {
    case UPSTREAM_LOOPS:
        return "loops";
    case UPSTREAM_REPLIES:
        return "replies";
    case UPSTREAM_SILENT:
        break;
    }
    return "silent";
}

static void loop_check_conclude(struct suspect *s, enum upstream_verdict verdict)
{
    const struct loop_check_config *config = &s->owner->config;
    log_debug("loop check ended", LOG_SERVER(&s->server),
              LOG_STR("verdict", verdict_text(verdict)));
    s->is_judged = true;
    config->judged(config->data, &s->server, verdict);
}

/* ---- Names ---- */

/* Makes a random name. Returns false when the kernel gives no random bytes. */
static bool make_name(unsigned labels, struct dname *ret_name)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t random[LABELS_MAX * LABEL_LEN];
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        return false;
    }
    *ret_name = (struct dname){.len = 1};
    for (unsigned i = 0; i < labels; i++) {
        char label[LABEL_LEN];
        for (size_t k = 0; k < LABEL_LEN; k++) {
            label[k] = digits[random[i * LABEL_LEN + k] % 16];
        }
        if (!dname_prepend(ret_name, slice_of(label, LABEL_LEN))) {
            return false;
        }
    }
    return true;
}

bool loop_check_came_back(struct loop_check *check, const struct dname *name)
{
    for (size_t i = 0; i < check->count; i++) {
        struct suspect *s = &check->suspects[i];
        if (dname_equal(&s->name, name) || dname_equal(&s->last, name)) {
            loop_check_conclude(s, UPSTREAM_LOOPS);
            return true;
        }
    }
    return false;
}

/* ---- Attempts ---- */

static void drop_exchange(struct suspect *s)
{
    exchange_free(s->exchange);
    s->exchange = NULL;
}

static void loop_check_on_end(void *data, enum exchange_outcome outcome,
                              struct parsed_response *reply)
{
    struct suspect *s = data;
    (void)reply; /* any response counts */
    drop_exchange(s);
    if ((outcome == EXCHANGE_REPLIED || outcome == EXCHANGE_MALFORMED) && !s->is_judged) {
        loop_check_conclude(s, UPSTREAM_REPLIES);
    }
}

static void loop_check_ask(struct suspect *s)
{
    const struct upstream_question question = {
        .name = s->name, .type = DNS_TYPE_HINFO, .qclass = DNS_CLASS_IN, .flags = DNS_FLAG_RD};
    const struct exchange_config config = {
        .loop = s->owner->config.loop,
        .server = &s->server,
        .tls = s->owner->config.tls,
        .dnstap = s->owner->config.dnstap,
        .done = loop_check_on_end,
        .data = s,
    };
    enum exchange_outcome unused;
    drop_exchange(s);
    s->exchange =
        exchange_start(&config, &question, &unused); /* NULL: the next attempt may do better */
    log_debug("loop check sent", LOG_SERVER(&s->server), LOG_INT("attempt", s->owner->attempts));
}

/* ---- Rounds ---- */

/* Returns the seconds until the next round may begin. */
static double gap_left_s(const struct loop_check *check)
{
    return check->config.times.gap_s - (double)(clock_monotonic_ms() - check->begun_ms) / 1000;
}

static void loop_check_end_round(struct loop_check *check)
{
    const struct loop_check_times *times = &check->config.times;
    double pause_s = times->pause_min_s + (times->pause_max_s - times->pause_min_s) *
                                              (rng_next(&check->rng) / (double)UINT32_MAX);
    check->in_round = false;
    for (size_t i = 0; i < check->count; i++) {
        struct suspect *s = &check->suspects[i];
        drop_exchange(s);
        if (!s->is_judged) {
            loop_check_conclude(s, UPSTREAM_SILENT);
        }
    }
    timer_arm(check->config.loop, &check->timer, check->in_hurry ? gap_left_s(check) : pause_s);
}

/* Asks the servers without a verdict. It runs once more than there are attempts, to wait for the
 * last. */
static void loop_check_attempt(struct loop_check *check)
{
    bool is_waiting = false;
    check->attempts++;
    for (size_t i = 0; i < check->count; i++) {
        struct suspect *s = &check->suspects[i];
        if (!s->is_judged && check->attempts <= LOOP_CHECK_ATTEMPTS) {
            is_waiting = true;
            loop_check_ask(s);
        }
    }
    if (is_waiting) {
        timer_arm(check->config.loop, &check->timer, check->config.times.retry_s);
    } else {
        loop_check_end_round(check);
    }
}

static void begin_round(struct loop_check *check)
{
    check->in_round = true;
    check->in_hurry = false;
    check->attempts = 0;
    check->begun_ms = clock_monotonic_ms();
    for (size_t i = 0; i < check->count; i++) {
        struct suspect *s = &check->suspects[i];
        s->last = s->name;
        s->is_judged = !make_name(check->labels, &s->name); /* no verdict without a name */
    }
    loop_check_attempt(check);
}

static void loop_check_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct loop_check *check = timer->data;
    if (check->in_round) {
        loop_check_attempt(check);
    } else {
        begin_round(check);
    }
}

void loop_check_hurry(struct loop_check *check)
{
    if (check->count > 0 && !check->in_hurry) {
        check->in_hurry = true;
        if (!check->in_round) {
            timer_arm(check->config.loop, &check->timer, gap_left_s(check));
        }
    }
}

/* ---- Setup and teardown ---- */

static void loop_check_stop(struct loop_check *check)
{
    ev_timer_stop(check->config.loop, &check->timer);
    for (size_t i = 0; i < check->count; i++) {
        drop_exchange(&check->suspects[i]);
    }
    check->count = 0;
    check->in_round = false;
}

struct loop_check *loop_check_new(const struct loop_check_config *config)
{
    struct loop_check *check = xcalloc(1, sizeof(*check));
    check->config = *config;
    rng_seed(&check->rng);
    timer_init(&check->timer, loop_check_on_timer, check);
    return check;
}

void loop_check_free(struct loop_check *check)
{
    if (check) {
        loop_check_stop(check);
        free(check);
    }
}

void loop_check_set_servers(struct loop_check *check, const struct nameserver *servers,
                            size_t count, unsigned labels)
{
    loop_check_stop(check);
    check->labels = labels < LABELS_MIN ? LABELS_MIN : labels;
    if (count == 0 || check->labels > LABELS_MAX) {
        return;
    }
    for (size_t i = 0; i < count && i < UPSTREAMS_MAX; i++) {
        check->suspects[check->count++] = (struct suspect){.owner = check, .server = servers[i]};
    }
    timer_arm(check->config.loop, &check->timer, 0);
}
