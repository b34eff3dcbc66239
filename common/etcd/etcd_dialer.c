#include "common/etcd/etcd_dialer_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

/* Limits how long a turn waits for a name: the C library gives a DNS server 5 s, and another
 * endpoint is more promising. */
enum { LOOKUP_LIMIT_MS = 2000 };

/* Limits how long the result of a late lookup replaces a new one. */
enum { LATE_RESULT_MS = 5000 };

/* Limits a turn to about two silent addresses, each of which takes a connection's whole timeout;
 * then the next endpoint is more promising. Addresses that refuse do so at once, so we try them
 * all. */
enum { TURN_LIMIT_MS = 4000 };

/* Holds an endpoint and its known addresses. */
struct place {
    struct etcd_dialer *dialer;
    const struct etcd_endpoint *endpoint;
    struct name_lookup *lookup; /* NULL = none in flight */
    int64_t late_until_ms;      /* addresses not used by any turn yet are good until then */
    struct name_addresses addresses;
    size_t index; /* of the address in use or next to try; one that worked stays first */
};

struct etcd_dialer {
    struct etcd_dialer_config config;
    struct place places[ETCD_ENDPOINTS_MAX];
    size_t turn;           /* index of its place */
    size_t left;           /* addresses to try in this turn; 0: it has not begun */
    int64_t turn_until_ms; /* after this, no other address is tried */
    ev_timer limit;        /* runs while the turn waits for a lookup */
};

static struct place *etcd_dialer_current(struct etcd_dialer *dialer)
{
    return &dialer->places[dialer->turn];
}

static void etcd_dialer_offer(struct etcd_dialer *dialer)
{
    const struct place *place = etcd_dialer_current(dialer);
    dialer->config.on_address(dialer->config.data, &place->addresses.items[place->index]);
}

/* Begins the turn with the addresses known so far. */
static void begin_turn(struct etcd_dialer *dialer)
{
    struct place *place = etcd_dialer_current(dialer);
    ev_timer_stop(dialer->config.loop, &dialer->limit);
    place->late_until_ms = 0;
    dialer->left = place->addresses.count;
    dialer->turn_until_ms = clock_monotonic_ms() + TURN_LIMIT_MS;
    etcd_dialer_offer(dialer);
}

static void etcd_dialer_settle(struct etcd_dialer *dialer, const struct err *failure)
{
    if (etcd_dialer_current(dialer)->addresses.count > 0) {
        begin_turn(dialer);
        return;
    }
    const struct etcd_endpoint *endpoint = etcd_dialer_current(dialer)->endpoint;
    etcd_dialer_next_endpoint(dialer);
    dialer->config.on_no_address(dialer->config.data, endpoint, failure);
}

static void on_looked_up(void *data, const struct name_addresses *addresses, const struct err *err)
{
    struct place *place = data;
    struct etcd_dialer *dialer = place->dialer;
    place->lookup = NULL;
    log_debug("etcd's name looked up", LOG_STR("host", place->endpoint->host),
              LOG_INT("addresses", addresses ? (int64_t)addresses->count : 0),
              LOG_STR("error", addresses ? "" : err->msg));
    if (addresses) {
        place->addresses = *addresses;
        place->index %= addresses->count;
        place->late_until_ms = clock_monotonic_ms() + LATE_RESULT_MS;
    }
    if (place == etcd_dialer_current(dialer) && ev_is_active(&dialer->limit)) {
        etcd_dialer_settle(dialer, err);
    }
}

static void on_limit(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct etcd_dialer *dialer = w->data;
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "look up `%s`: no answer within %d ms",
            etcd_dialer_current(dialer)->endpoint->host, LOOKUP_LIMIT_MS);
    log_debug("lookup of etcd's name is slow, continuing without it",
              LOG_STR("host", etcd_dialer_current(dialer)->endpoint->host),
              LOG_INT("limit_ms", LOOKUP_LIMIT_MS));
    etcd_dialer_settle(dialer, &err);
}

static void etcd_dialer_look_up(struct etcd_dialer *dialer)
{
    struct place *place = etcd_dialer_current(dialer);
    if (!place->lookup) {
        log_debug("looking up etcd's name", LOG_STR("host", place->endpoint->host));
        place->lookup = name_lookup_start(&(struct name_lookup_config){
            .loop = dialer->config.loop,
            .host = place->endpoint->host,
            .port = place->endpoint->port,
            .look_up = dialer->config.look_up,
            .on_done = on_looked_up,
            .data = place,
        });
    }
    timer_arm_ms(dialer->config.loop, &dialer->limit, LOOKUP_LIMIT_MS);
}

void etcd_dialer_find(struct etcd_dialer *dialer)
{
    const struct place *place = etcd_dialer_current(dialer);
    if (dialer->left > 0) {
        etcd_dialer_offer(dialer);
    } else if (place->endpoint->is_literal || clock_monotonic_ms() < place->late_until_ms) {
        begin_turn(dialer);
    } else {
        etcd_dialer_look_up(dialer);
    }
}

bool etcd_dialer_next_address(struct etcd_dialer *dialer)
{
    struct place *place = etcd_dialer_current(dialer);
    place->index = (place->index + 1) % place->addresses.count;
    if (dialer->left > 1 && clock_monotonic_ms() < dialer->turn_until_ms) {
        dialer->left--;
        return true;
    }
    etcd_dialer_next_endpoint(dialer);
    return false;
}

void etcd_dialer_next_endpoint(struct etcd_dialer *dialer)
{
    etcd_dialer_cancel(dialer);
    dialer->turn = (dialer->turn + 1) % dialer->config.endpoints->count;
}

void etcd_dialer_cancel(struct etcd_dialer *dialer)
{
    ev_timer_stop(dialer->config.loop, &dialer->limit);
    dialer->left = 0;
}

const struct etcd_endpoint *etcd_dialer_endpoint(const struct etcd_dialer *dialer)
{
    return dialer->places[dialer->turn].endpoint;
}

struct etcd_dialer *etcd_dialer_new(const struct etcd_dialer_config *config)
{
    struct etcd_dialer *dialer = xcalloc(1, sizeof(*dialer));
    dialer->config = *config;
    for (size_t i = 0; i < config->endpoints->count; i++) {
        const struct etcd_endpoint *endpoint = &config->endpoints->items[i];
        struct place *place = &dialer->places[i];
        place->dialer = dialer;
        place->endpoint = endpoint;
        if (endpoint->is_literal) {
            place->addresses.items[0] = endpoint->address;
            place->addresses.count = 1;
        }
    }
    /* Starts at random, so that a thousand readers do not all begin with the first member. */
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): etcd_endpoints_parse returns at least one */
    dialer->turn = backoff_random() % config->endpoints->count;
    timer_init(&dialer->limit, on_limit, dialer);
    return dialer;
}

void etcd_dialer_free(struct etcd_dialer *dialer)
{
    for (size_t i = 0; i < dialer->config.endpoints->count; i++) {
        name_lookup_cancel(dialer->places[i].lookup);
    }
    ev_timer_stop(dialer->config.loop, &dialer->limit);
    free(dialer);
}
