#include "skydns/upstream/loop_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/upstreams.h"

/* A label of eight hex digits has 32 random bits; nobody guesses three or more of them; more than
 * 28 do not fit a name. */
enum { ATTEMPTS_MAX = 5, LABEL_LEN = 8, LABELS_MIN = 3, LABELS_MAX = 28 };

static const double pause_s = 2;

struct suspect {
    struct loop_check *owner;
    struct addr server;
    struct upstream_question question;
    struct exchange *exchange;
    bool has_replied;
};

struct loop_check {
    struct ev_loop *loop;
    ev_timer timer;
    unsigned attempts;
    size_t count;
    struct suspect suspects[UPSTREAMS_MAX];
};

static void drop_exchange(struct suspect *s)
{
    exchange_free(s->exchange);
    s->exchange = NULL;
}

static void log_end(const struct suspect *s, bool is_answered)
{
    char server[ADDR_TEXT_MAX];
    log_debug("loop check ended", LOG_STR("server", addr_format(&s->server, server)),
              LOG_INT("is_answered", is_answered));
}

static void on_end(void *data, const uint8_t *reply, size_t len)
{
    struct suspect *s = data;
    (void)len;
    log_end(s, reply != NULL);
    drop_exchange(s);
    s->has_replied = s->has_replied || reply;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct loop_check *check = timer->data;
    (void)revents;
    for (size_t i = 0; i < check->count; i++) {
        struct suspect *s = &check->suspects[i];
        const struct exchange_config config = {
            .loop = loop,
            .server = &s->server,
            .done = on_end,
            .data = s,
        };
        if (s->exchange) {
            log_end(s, false);
        }
        drop_exchange(s);
        if (!s->has_replied && check->attempts < ATTEMPTS_MAX) {
            char server[ADDR_TEXT_MAX];
            s->exchange = exchange_start(&config, &s->question);
            log_debug("loop check sent", LOG_STR("server", addr_format(&s->server, server)),
                      LOG_INT("attempt", check->attempts + 1));
        }
    }
    if (check->attempts++ < ATTEMPTS_MAX) {
        ev_timer_set(timer, pause_s, 0.);
        ev_timer_start(loop, timer);
    }
}

struct loop_check *loop_check_new(struct ev_loop *loop)
{
    struct loop_check *check = xcalloc(1, sizeof(*check));
    check->loop = loop;
    ev_init(&check->timer, on_timer);
    check->timer.data = check;
    return check;
}

static void stop(struct loop_check *check)
{
    ev_timer_stop(check->loop, &check->timer);
    for (size_t i = 0; i < check->count; i++) {
        drop_exchange(&check->suspects[i]);
    }
    check->count = 0;
}

void loop_check_free(struct loop_check *check)
{
    if (check) {
        stop(check);
        free(check);
    }
}

/* False: no random bytes from the kernel. */
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

void loop_check_start(struct loop_check *check, const struct addr *servers, size_t count,
                      unsigned labels)
{
    unsigned least = labels < LABELS_MIN ? LABELS_MIN : labels;
    stop(check);
    check->attempts = 0;
    for (size_t i = 0; i < count && i < UPSTREAMS_MAX && least <= LABELS_MAX; i++) {
        struct suspect *s = &check->suspects[check->count];
        *s = (struct suspect){.owner = check, .server = servers[i]};
        s->question = (struct upstream_question){
            .type = DNS_TYPE_HINFO, .qclass = DNS_CLASS_IN, .flags = DNS_FLAG_RD};
        check->count += make_name(least, &s->question.name);
    }
    ev_timer_set(&check->timer, 0., 0.);
    ev_timer_start(check->loop, &check->timer);
}

const struct addr *loop_check_find(const struct loop_check *check, const struct dname *name)
{
    for (size_t i = 0; i < check->count; i++) {
        if (dname_equal(&check->suspects[i].question.name, name)) {
            return &check->suspects[i].server;
        }
    }
    return NULL;
}
