#include "skydns/transfer/notifier_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/records/rng.h"
#include "skydns/wire/response_parse.h"

enum {
    PAIRS_MAX = TRANSFER_ACCESS_MAX * TRANSFER_ZONES_MAX,
    OPCODE_NOTIFY = 4 << 11,
    OPCODE_MASK = 0xf << 11,
    RCODE_MASK = 0xf,
    MESSAGE_MAX = DNS_HEADER_SIZE + DNAME_MAX + 4,
    REPLIES_A_TURN = 64, /* others have the loop, too */
};

/* Secondary and zone. */
struct pair {
    struct addr target;
    struct dname apex;
    uint32_t serial;
    uint16_t id, question_id;
    unsigned tries;  /* of this serial; 0: not told yet */
    bool is_told;    /* it has answered NOTIFY of this serial */
    bool is_silent;  /* its next answer about its SOA is the first */
    bool is_asked;   /* for its SOA: it is not known to have this serial */
    bool is_awaited; /* there is something to send, or a reply to come */
    int64_t sent_ms; /* the last one; 0: never */
    int64_t due_ms;  /* the next one */
};

struct notifier {
    struct notifier_config config;
    struct rng rng;
    int fds[2]; /* IPv4, IPv6; -1: not opened, or not to be had */
    ev_io readable[2];
    ev_timer timer;
    size_t target_count;
    struct addr targets[TRANSFER_ACCESS_MAX];
    size_t count, cap;
    struct pair *pairs;
};

/* ---- Sending ---- */

static unsigned family_of(const struct addr *addr)
{
    return addr->sa.sa_family == AF_INET6;
}

/* Opens the socket when it is needed first. Returns false if it cannot. */
static bool notifier_open_socket(struct notifier *n, unsigned family)
{
    const struct addr *from = &n->config.from[family];
    if (n->fds[family] >= 0) {
        return true;
    }
    int fd = socket(family ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    if (from->len > 0 && bind(fd, &from->sa, from->len) < 0) {
        log_debug("NOTIFY comes from the kernel's choice", LOG_STR("error", err_code_text(-errno)));
    }
    n->fds[family] = fd;
    ev_io_set(&n->readable[family], fd, EV_READ);
    ev_io_start(n->config.loop, &n->readable[family]);
    return true;
}

static size_t write_message(const struct dname *apex, uint16_t id, uint16_t flags, uint8_t *out)
{
    struct writer w = writer_of(out, MESSAGE_MAX);
    writer_u16(&w, id);
    writer_u16(&w, flags);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_bytes(&w, apex->wire, apex->len);
    writer_u16(&w, DNS_TYPE_SOA);
    writer_u16(&w, DNS_CLASS_IN);
    return w.pos;
}

/* Sends a message. If it is lost, as on any network, it is sent again. */
static void send_one(struct notifier *n, const struct pair *pair, uint16_t id, uint16_t flags)
{
    uint8_t message[MESSAGE_MAX];
    unsigned family = family_of(&pair->target);
    size_t len = write_message(&pair->apex, id, flags, message);
    if (notifier_open_socket(n, family) && sendto(n->fds[family], message, len, MSG_NOSIGNAL,
                                                  &pair->target.sa, pair->target.len) < 0) {
        char text[ADDR_TEXT_MAX];
        log_debug("cannot send to a secondary", LOG_STR("to", addr_format(&pair->target, text)),
                  LOG_STR("error", err_code_text(-errno)));
    }
}

static void notifier_give_up(struct notifier *n, struct pair *pair)
{
    char zone[DNAME_TEXT_MAX], text[ADDR_TEXT_MAX];
    pair->is_awaited = false;
    if (pair->is_told) {
        return; /* that it gives no SOA need not be told */
    }
    counter_add(&n->config.counts->notify_failed, 1);
    log_info("a secondary does not answer NOTIFY",
             LOG_STR("secondary", addr_format(&pair->target, text)),
             LOG_STR("zone", dname_to_text(&pair->apex, zone)),
             LOG_INT("serial", (int64_t)pair->serial));
}

static void notifier_go_on(struct notifier *n, struct pair *pair, int64_t now_ms)
{
    if (pair->tries == NOTIFY_TRIES) {
        notifier_give_up(n, pair);
        return;
    }
    if (pair->tries == 0) {
        pair->id = (uint16_t)rng_next(&n->rng);
        if (!pair->is_silent) {
            pair->question_id = (uint16_t)rng_next(&n->rng);
        }
    }
    if (!pair->is_told) {
        send_one(n, pair, pair->id, OPCODE_NOTIFY | DNS_FLAG_AA);
        counter_add(&n->config.counts->notify_sent, 1);
    }
    if (pair->is_asked) {
        send_one(n, pair, pair->question_id, 0);
    }
    pair->sent_ms = now_ms;
    pair->due_ms = now_ms + (n->config.pause_ms << pair->tries);
    pair->tries++;
}

static void notifier_set_timer(struct notifier *n)
{
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        if (n->pairs[i].is_awaited && n->pairs[i].due_ms < first_ms) {
            first_ms = n->pairs[i].due_ms;
        }
    }
    ev_timer_stop(n->config.loop, &n->timer);
    if (first_ms < INT64_MAX) {
        timer_arm_ms(n->config.loop, &n->timer, first_ms - clock_monotonic_ms());
    }
}

static void notifier_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct notifier *n = timer->data;
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        if (n->pairs[i].is_awaited && n->pairs[i].due_ms <= now_ms) {
            notifier_go_on(n, &n->pairs[i], now_ms);
        }
    }
    notifier_set_timer(n);
}

/* ---- Replies ---- */

bool notifier_is_reply(const uint8_t *wire, size_t len, uint16_t id, const struct dname *apex)
{
    struct response_head head;
    response_head_read(wire, len, &head);
    return (head.flags & DNS_FLAG_QR) && (head.flags & OPCODE_MASK) == OPCODE_NOTIFY &&
           (wire[0] << 8 | wire[1]) == id &&
           response_head_asks(&head, apex, DNS_TYPE_SOA, head.qclass);
}

/* Reads the serial. The answer's first record is the SOA, or something else: then the secondary has
 * none. */
static bool notifier_read_serial(const uint8_t *wire, size_t len, size_t at, uint32_t *ret_serial)
{
    struct reader r = reader_of(wire, len);
    r.pos = at;
    bool is_named = dname_skip(&r);
    uint16_t type = reader_u16(&r), qclass = reader_u16(&r);
    (void)reader_u32(&r); /* TTL */
    (void)reader_u16(&r); /* length: it is read as far as it is needed */
    is_named = is_named && dname_skip(&r) && dname_skip(&r);
    *ret_serial = reader_u32(&r);
    return is_named && !r.failed && type == DNS_TYPE_SOA && qclass == DNS_CLASS_IN;
}

bool notifier_is_answer(const uint8_t *wire, size_t len, uint16_t id, const struct dname *apex,
                        bool *ret_has_serial, uint32_t *ret_serial)
{
    struct response_head head;
    response_head_read(wire, len, &head);
    if (!(head.flags & DNS_FLAG_QR) || (head.flags & OPCODE_MASK) != 0 ||
        (wire[0] << 8 | wire[1]) != id ||
        !response_head_asks(&head, apex, DNS_TYPE_SOA, DNS_CLASS_IN)) {
        return false;
    }
    *ret_has_serial = (head.flags & RCODE_MASK) == DNS_RCODE_NOERROR &&
                      head.counts[RESPONSE_ANSWER] > 0 &&
                      notifier_read_serial(wire, len, head.records_at, ret_serial);
    return true;
}

static void notifier_settle(struct pair *pair)
{
    pair->is_awaited = !pair->is_told || pair->is_asked;
}

/* Takes an answer to the question about the SOA. Returns true if it was one of this secondary's,
 * and the caller looks no further. A secondary without the zone is asked again with the next
 * serial; one with another serial, until it has this one. */
static bool take_answer(struct notifier *n, struct pair *pair, const uint8_t *wire, size_t len)
{
    const struct dname apex = pair->apex;
    bool has_serial;
    uint32_t serial;
    if (!pair->is_asked || pair->sent_ms == 0 ||
        !notifier_is_answer(wire, len, pair->question_id, &apex, &has_serial, &serial)) {
        return false;
    }
    const bool is_first = pair->is_silent;
    pair->is_silent = false;
    pair->is_asked = has_serial && serial != pair->serial;
    notifier_settle(pair);
    if (has_serial) {
        n->config.heard(n->config.data, &apex, serial, is_first); /* pairs may move */
    }
    return true;
}

/* Takes a response to NOTIFY, whatever it says: the secondary knows. */
static void notifier_take_reply(struct notifier *n, const struct addr *from, const uint8_t *wire,
                                size_t len)
{
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        struct pair *pair = &n->pairs[i];
        if (!addr_equal(&pair->target, from)) {
            continue;
        }
        if (take_answer(n, pair, wire, len)) {
            return;
        }
        if (pair->is_awaited && !pair->is_told && pair->tries > 0 &&
            notifier_is_reply(wire, len, pair->id, &pair->apex)) {
            pair->is_told = true;
            notifier_settle(pair);
            counter_add(&n->config.counts->notify_answered, 1);
        }
    }
}

static void notifier_on_readable(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    struct notifier *n = io->data;
    uint8_t wire[DNS_UDP_SIZE];
    for (unsigned i = 0; i < REPLIES_A_TURN; i++) {
        struct addr from = {.len = sizeof(from.v6)};
        ssize_t got = recvfrom(io->fd, wire, sizeof(wire), 0, &from.sa, &from.len);
        if (got < 0) {
            break; /* nothing is left, or a secondary's port is closed: its timer goes on */
        }
        notifier_take_reply(n, &from, wire, (size_t)got);
    }
    notifier_set_timer(n);
}

/* ---- What there is to tell ---- */

static bool is_target(const struct notifier *n, const struct addr *addr)
{
    for (size_t i = 0; i < n->target_count; i++) {
        if (addr_equal(&n->targets[i], addr)) {
            return true;
        }
    }
    return false;
}

void notifier_set_targets(struct notifier *n, const struct addr *targets, size_t count)
{
    size_t kept = 0;
    n->target_count = count < TRANSFER_ACCESS_MAX ? count : TRANSFER_ACCESS_MAX;
    for (size_t i = 0; i < n->target_count; i++) {
        n->targets[i] = targets[i];
    }
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        if (is_target(n, &n->pairs[i].target)) {
            n->pairs[kept++] = n->pairs[i];
        }
    }
    n->count = kept;
    notifier_set_timer(n);
}

static struct pair *find_pair(struct notifier *n, const struct addr *target,
                              const struct dname *apex)
{
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        if (addr_equal(&n->pairs[i].target, target) && dname_equal(&n->pairs[i].apex, apex)) {
            return &n->pairs[i];
        }
    }
    if (n->count == PAIRS_MAX) {
        return NULL;
    }
    n->pairs = xgrow_array(n->pairs, n->count, &n->cap, sizeof(*n->pairs));
    n->pairs[n->count] = (struct pair){.target = *target,
                                       .apex = *apex,
                                       .question_id = (uint16_t)rng_next(&n->rng),
                                       .is_silent = n->config.heard != NULL};
    return &n->pairs[n->count++];
}

void notifier_tell(struct notifier *n, const struct dname *apex, uint32_t serial)
{
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; i < n->target_count; i++) {
        struct pair *pair = find_pair(n, &n->targets[i], apex);
        const bool is_same = pair && pair->sent_ms > 0 && pair->serial == serial;
        const bool is_new_question = pair && pair->is_silent && !pair->is_asked;
        if (!pair || (is_same && !is_new_question)) {
            continue;
        }
        if (is_new_question && pair->sent_ms > 0) {
            send_one(n, pair, pair->question_id, 0);
        }
        int64_t earliest_ms = pair->sent_ms ? pair->sent_ms + n->config.pause_ms : now_ms;
        pair->serial = serial;
        pair->tries = 0;
        pair->is_told = pair->is_told && is_same;
        pair->is_asked = n->config.heard != NULL;
        pair->is_awaited = true;
        pair->due_ms = earliest_ms > now_ms ? earliest_ms : now_ms;
    }
    notifier_set_timer(n);
}

void notifier_ask_serials(struct notifier *n)
{
    for (size_t i = 0; n->pairs && i < n->count; i++) {
        struct pair *pair = &n->pairs[i];
        pair->is_silent = n->config.heard != NULL;
        pair->is_asked = false;
        pair->question_id = (uint16_t)rng_next(&n->rng);
    }
}

void notifier_forget(struct notifier *n)
{
    n->count = 0;
    notifier_set_timer(n);
}

/* ---- Life ---- */

struct notifier *notifier_new(const struct notifier_config *config)
{
    struct notifier *n = xcalloc(1, sizeof(*n));
    n->config = *config;
    rng_seed(&n->rng);
    timer_init(&n->timer, notifier_on_timer, n);
    for (unsigned i = 0; i < 2; i++) {
        n->fds[i] = -1;
        ev_init(&n->readable[i], notifier_on_readable);
        n->readable[i].data = n;
    }
    return n;
}

void notifier_free(struct notifier *n)
{
    if (!n) {
        return;
    }
    ev_timer_stop(n->config.loop, &n->timer);
    for (unsigned i = 0; i < 2; i++) {
        ev_io_stop(n->config.loop, &n->readable[i]);
        if (n->fds[i] >= 0) {
            (void)close(n->fds[i]); /* a socket: nothing to lose */
        }
    }
    free(n->pairs);
    free(n);
}
