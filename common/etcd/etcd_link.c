#include "common/etcd/etcd_link_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_counts_internal.h"
#include "common/etcd/etcd_link_state_internal.h"

/* Limits how long we wait for a peer that accepts but stays silent, stopped or not etcd. A healthy
 * etcd answers in a millisecond, a distant one in a few hundred. TLS takes more round trips, and a
 * member that comes back has a thousand handshakes to compute. */
enum { OPEN_TIMEOUT_MS = 2000, OPEN_TLS_TIMEOUT_MS = 3000 };

/* Keeps above etcd's --grpc-keepalive-min-time, 5 s; below it GOAWAY too_many_pings follows. If the
 * server's minimum is above our interval, we double the interval, up to an hour. */
enum { PING_INTERVAL_MS = 6000, PING_INTERVAL_MAX_MS = 3600 * 1000 };

static const ev_tstamp idle_limit_s = 30.0;

const char *etcd_link_endpoint(const struct etcd_link *link)
{
    return etcd_dialer_endpoint(link->dialer)->url;
}

bool etcd_link_is_open(const struct etcd_link *link)
{
    return link->grpc && grpc_is_open(link->grpc);
}

/* ---- Leaving ---- */

static void connect_when_due(struct etcd_link *link);

/* Ends an endpoint's turn; the next one's starts after the backoff. */
static void turn_failed(struct etcd_link *link, bool was_opened)
{
    bool is_refused = !was_opened && link->last_failure.code == ERR_REFUSED;
    counter_add(&link->config.counts->failures, !was_opened);
    counter_add(&link->config.counts->refusals, is_refused);
    link->backoff.max_ms = is_refused ? BACKOFF_REFUSED_MAX_MS : BACKOFF_REMOTE_MAX_MS;
    uint32_t delay_ms = backoff_next_ms(&link->backoff, backoff_random());
    link->not_before_ms = clock_monotonic_ms() + delay_ms;
    log_debug("etcd endpoint failed, trying the next", LOG_STR("link", link->config.name),
              LOG_STR("reason", link->last_failure.msg), LOG_INT("was_connected", was_opened),
              LOG_INT("next_attempt_ms", delay_ms));
    etcd_calls_turn_failed(link, was_opened);
    connect_when_due(link);
}

static void close_grpc(struct etcd_link *link)
{
    link->heard_ms = etcd_link_heard_ms(link);
    grpc_free(link->grpc);
    link->grpc = NULL;
}

void etcd_link_leave_member(struct etcd_link *link, const struct err *reason)
{
    etcd_calls_doom_sent(link, reason);
    link->last_failure = *reason;
    close_grpc(link);
    etcd_dialer_next_endpoint(link->dialer);
    turn_failed(link, true);
}

void etcd_link_leave(struct etcd_link *link, const char *reason)
{
    struct err err;
    if (link->grpc) {
        err_set(&err, ERR_UNAVAILABLE, "etcd at %s: %s", etcd_link_endpoint(link), reason);
        etcd_link_leave_member(link, &err);
    }
}

/* ---- Connecting ---- */

static void on_grpc_open(void *data)
{
    struct etcd_link *link = data;
    link->was_opened = true;
    link->last_failure.code = 0;
    counter_add(&link->config.counts->connections, 1);
    counter_add(&link->config.counts->tls_connections, etcd_dialer_endpoint(link->dialer)->is_tls);
    log_debug("connected to etcd", LOG_STR("link", link->config.name),
              LOG_STR("endpoint", etcd_link_endpoint(link)));
    etcd_calls_submit(link);
}

/* Handles the end of the connection; all calls sent on it have ended before. */
static void on_grpc_close(void *data, const struct err *err)
{
    struct etcd_link *link = data;
    link->last_failure = *err;
    err_wrap(&link->last_failure, err->code, "etcd at %s", etcd_link_endpoint(link));

    if (grpc_was_closed_for_pings(link->grpc)) {
        link->ping_interval_ms = link->ping_interval_ms > PING_INTERVAL_MAX_MS / 2
                                     ? PING_INTERVAL_MAX_MS
                                     : link->ping_interval_ms * 2;
    }
    close_grpc(link);
    if (link->was_opened || link->call_count == 0) {
        etcd_dialer_next_endpoint(link->dialer);
    } else if (etcd_dialer_next_address(link->dialer)) {
        log_debug("etcd address failed, trying the next", LOG_STR("link", link->config.name),
                  LOG_STR("reason", link->last_failure.msg));
        connect_when_due(link);
        return;
    }
    turn_failed(link, link->was_opened);
}

/* Uses TLS files that have changed on disk from now on. */
static void refresh_credentials(struct etcd_link *link)
{
    struct err err;
    switch (tls_client_refresh(link->config.tls, &err)) {
    case TLS_UNCHANGED:
        break;
    case TLS_READ_AGAIN:
        counter_add(&link->config.counts->credentials_read, 1);
        log_info("credential files reloaded");
        break;
    case TLS_READ_FAILED:
        counter_add(&link->config.counts->credentials_kept, 1);
        log_warn("cannot use changed credential files, keeping the old ones",
                 LOG_STR("error", err.msg));
        break;
    }
}

static void etcd_link_on_address(void *data, const struct addr *address)
{
    struct etcd_link *link = data;
    const struct etcd_endpoint *endpoint = etcd_dialer_endpoint(link->dialer);
    char text[ADDR_TEXT_MAX];
    log_debug("connecting to etcd", LOG_STR("link", link->config.name),
              LOG_STR("endpoint", endpoint->url), LOG_STR("address", addr_format(address, text)));
    if (endpoint->is_tls) {
        refresh_credentials(link);
    }
    const struct grpc_config config = {
        .loop = link->loop,
        .address = *address,
        .authority = endpoint->authority,
        .tls = endpoint->is_tls ? link->config.tls : NULL,
        .server_name = endpoint->host,
        .open_timeout_ms = endpoint->is_tls ? OPEN_TLS_TIMEOUT_MS : OPEN_TIMEOUT_MS,
        .ping_interval_ms = link->ping_interval_ms,
        .on_open = on_grpc_open,
        .on_close = on_grpc_close,
        .data = link,
    };
    link->is_dialing = false;
    link->was_opened = false;
    link->grpc = grpc_new(&config);
}

static void on_no_address(void *data, const struct etcd_endpoint *endpoint, const struct err *err)
{
    struct etcd_link *link = data;
    link->is_dialing = false;
    link->last_failure = *err;
    err_wrap(&link->last_failure, err->code, "etcd at %s", endpoint->url);
    turn_failed(link, false);
}

static void connect_when_due(struct etcd_link *link)
{
    if (link->grpc || link->is_dialing || link->call_count == 0 || ev_is_active(&link->retry)) {
        return;
    }
    int64_t wait_ms = link->not_before_ms - clock_monotonic_ms();
    if (wait_ms <= 0) {
        link->is_dialing = true;
        etcd_dialer_find(link->dialer);
        return;
    }
    timer_arm_ms(link->loop, &link->retry, wait_ms);
}

static void etcd_link_on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    connect_when_due(w->data);
}

/* ---- Wanted or not ---- */

static void etcd_link_on_idle(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct etcd_link *link = w->data;
    if (link->grpc) {
        log_debug("idle etcd connection closed", LOG_STR("link", link->config.name),
                  LOG_STR("endpoint", etcd_link_endpoint(link)));
    }
    close_grpc(link);
    etcd_dialer_cancel(link->dialer);
}

void etcd_link_wanted(struct etcd_link *link)
{
    ev_timer_stop(link->loop, &link->idle);
    connect_when_due(link);
}

void etcd_link_unwanted(struct etcd_link *link)
{
    ev_timer_stop(link->loop, &link->retry);
    if (!link->grpc) {
        link->is_dialing = false;
        etcd_dialer_cancel(link->dialer);
    }
    timer_arm(link->loop, &link->idle, idle_limit_s);
}

/* ---- Life ---- */

struct etcd_link *etcd_link_new(const struct etcd_link_config *config)
{
    struct etcd_link *link = xcalloc(1, sizeof(*link));
    link->loop = config->loop;
    link->config = *config;
    link->dialer = etcd_dialer_new(&(struct etcd_dialer_config){
        .loop = config->loop,
        .endpoints = config->endpoints,
        .look_up = config->look_up,
        .on_address = etcd_link_on_address,
        .on_no_address = on_no_address,
        .data = link,
    });
    link->ping_interval_ms = PING_INTERVAL_MS;
    link->heard_ms = clock_monotonic_ms();
    backoff_init(&link->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    etcd_calls_init(link);
    timer_init(&link->retry, etcd_link_on_retry, link);
    timer_init(&link->idle, etcd_link_on_idle, link);
    return link;
}

int64_t etcd_link_heard_ms(const struct etcd_link *link)
{
    int64_t heard_ms = link->grpc ? grpc_last_heard_ms(link->grpc) : 0;
    return heard_ms > link->heard_ms ? heard_ms : link->heard_ms;
}

void etcd_link_free(struct etcd_link *link)
{
    etcd_calls_fini(link);
    ev_timer_stop(link->loop, &link->retry);
    ev_timer_stop(link->loop, &link->idle);
    grpc_free(link->grpc);
    etcd_dialer_free(link->dialer);
    free(link);
}
