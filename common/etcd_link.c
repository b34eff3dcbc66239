#include "common/etcd_link.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "common/backoff.h"
#include "common/clock.h"
#include "common/etcd_dialer.h"
#include "common/grpc.h"
#include "common/xalloc.h"

/* A peer that accepts and says nothing (stopped, or no etcd) is left for the next one after 2 s:
 * a healthy etcd answers in a millisecond, a distant one in some hundred. With TLS after 3 s: there
 * are more round trips, and a member that comes back has a thousand handshakes to compute. */
enum { OPEN_TIMEOUT_MS = 2000, OPEN_TLS_TIMEOUT_MS = 3000 };

/* A lone etcd that restarts is back within a second or two. */
enum { BACKOFF_FIRST_MS = 100, BACKOFF_MAX_MS = 1000 };

/* Where TLS was refused, somebody has to change something first. */
enum { BACKOFF_REFUSED_MAX_MS = 5000 };

/* etcd's --grpc-keepalive-min-time is 5 s; below it GOAWAY too_many_pings follows. A server set
 * higher than our first interval makes it double, up to an hour. */
enum { PING_INTERVAL_MS = 6000, PING_INTERVAL_MAX_MS = 3600 * 1000 };

/* The grpc-status of a member that cannot do anything now: no leader, stopping, cut off. */
enum { STATUS_UNAVAILABLE = 14 };

static const ev_tstamp idle_limit_s = 30.0;

struct etcd_call {
    TAILQ_ENTRY(etcd_call) entry;
    struct etcd_link *link;
    struct etcd_call_config config;
    struct buf request;
    struct grpc_stream *stream; /* NULL until there is a connection */
    int64_t deadline_ms;        /* INT64_MAX = none */
    int64_t sent_ms;
    bool is_waiting_for_token;
    bool is_sent_again; /* for a refused token */
    bool has_message;
    uint64_t token_generation;
    size_t tries_left; /* endpoints to be tried before giving up */
    struct err doom;   /* code not 0: to be ended with it by the next sweep */
};

struct etcd_link {
    struct etcd_link_config config;
    struct ev_loop *loop;
    struct etcd_dialer *dialer; /* its endpoint: in use, or the next to be tried */
    bool is_dialing;            /* waiting for an address */
    struct grpc *grpc;
    bool was_opened;         /* this connection */
    bool has_good_message;   /* on this connection */
    struct err last_failure; /* why there is no connection; code 0 = not tried yet */
    struct backoff backoff;
    int64_t not_before_ms; /* no new connection before */
    uint32_t ping_interval_ms;
    int64_t heard_ms; /* of earlier connections */

    TAILQ_HEAD(, etcd_call) calls;
    size_t call_count;
    int64_t next_deadline_ms; /* when `deadline` fires; INT64_MAX when it does not run */

    ev_timer retry;
    ev_timer deadline;
    ev_timer idle;
};

/* ---- Ends ---- */

static void call_free(struct etcd_call *call)
{
    struct etcd_link *link = call->link;
    TAILQ_REMOVE(&link->calls, call, entry);
    link->call_count--;
    if (call->stream) {
        grpc_stream_cancel(call->stream);
    }
    if (call->config.release) {
        call->config.release(call->config.data);
    }
    buf_fini(&call->request);
    free(call);
    if (link->call_count == 0) {
        ev_timer_stop(link->loop, &link->retry);
        if (!link->grpc) {
            link->is_dialing = false;
            etcd_dialer_cancel(link->dialer);
        }
        ev_timer_set(&link->idle, idle_limit_s, 0.0);
        ev_timer_start(link->loop, &link->idle);
    }
}

/* The callback may start and cancel calls, but not this one. */
static void call_end(struct etcd_call *call, int status, const struct err *err)
{
    call->config.on_end(call->config.data, status, err);
    call_free(call);
}

void etcd_call_cancel(struct etcd_call *call)
{
    call_free(call);
}

/* Ends the doomed calls, one after the other from the start, since a callback may change the list.
 */
static void sweep(struct etcd_link *link)
{
    struct etcd_call *call = TAILQ_FIRST(&link->calls);
    while (call) {
        if (call->doom.code) {
            struct err err = call->doom;
            call->doom.code = 0;
            call_end(call, GRPC_STATUS_NONE, &err);
            call = TAILQ_FIRST(&link->calls);
        } else {
            call = TAILQ_NEXT(call, entry);
        }
    }
}

static const char *endpoint_url(const struct etcd_link *link)
{
    return etcd_dialer_endpoint(link->dialer)->url;
}

/* ---- Streams ---- */

static void on_stream_message(void *data, struct slice message)
{
    struct etcd_call *call = data;
    struct etcd_link *link = call->link;
    if (!link->has_good_message) {
        link->has_good_message = true;
        backoff_reset(&link->backoff);
    }
    call->has_message = true;
    call->config.on_message(call->config.data, message);
}

static void leave_endpoint(struct etcd_link *link, const struct err *reason);

static void submit(struct etcd_call *call);

/* True when the call goes on: etcd has done nothing but refuse its token, so it is sent again. */
static bool is_sent_again(struct etcd_call *call, int status, const struct err *err)
{
    struct etcd_link *link = call->link;
    if (!link->config.auth || call->config.is_tokenless ||
        !etcd_auth_is_refusal(status, err->msg)) {
        return false;
    }
    etcd_auth_refused(link->config.auth, call->token_generation);
    if (call->is_sent_again || call->has_message) {
        return false;
    }
    call->is_sent_again = true;
    if (grpc_is_open(link->grpc)) {
        submit(call);
    }
    return true;
}

static void on_stream_end(void *data, int status, const struct err *err)
{
    struct etcd_call *call = data;
    struct etcd_link *link = call->link;
    call->stream = NULL;
    if (!err) {
        call_end(call, status, NULL);
        return;
    }
    if (is_sent_again(call, status, err)) {
        return;
    }
    struct err wrapped = *err;
    err_wrap(&wrapped, err->code, "etcd at %s", endpoint_url(link));
    if (!link->config.auth && etcd_auth_is_refusal(status, err->msg)) {
        err_wrap(&wrapped, err->code, "etcd wants a user name and a password");
    }
    if (status == STATUS_UNAVAILABLE && link->config.endpoints->count > 1) {
        call->doom = wrapped;
        leave_endpoint(link, &wrapped);
    } else {
        call_end(call, status, &wrapped);
    }
}

static void arm_deadline(struct etcd_link *link, int64_t deadline_ms);

/* False when the call cannot be sent now: it waits for the token, or is doomed. */
static bool take_token(struct etcd_call *call, const char **ret_token)
{
    struct etcd_link *link = call->link;
    *ret_token = NULL;
    if (!link->config.auth || call->config.is_tokenless) {
        return true;
    }
    enum etcd_auth_state state =
        etcd_auth_get(link->config.auth, ret_token, &call->token_generation, &call->doom);
    call->is_waiting_for_token = state == ETCD_AUTH_WAIT;
    if (state == ETCD_AUTH_FAILED) {
        arm_deadline(link, clock_monotonic_ms());
    }
    return state == ETCD_AUTH_READY;
}

static void submit(struct etcd_call *call)
{
    struct grpc_metadata metadata[GRPC_METADATA_MAX];
    size_t metadata_count = 0;
    const char *token;
    if (!take_token(call, &token)) {
        return;
    }
    if (token) {
        metadata[metadata_count++] = (struct grpc_metadata){"token", token};
    }
    if (!call->config.is_leaderless) {
        metadata[metadata_count++] = (struct grpc_metadata){"hasleader", "true"};
    }
    const struct grpc_stream_config config = {
        .path = call->config.path,
        .is_long = call->config.timeout_ms == 0,
        .metadata = metadata,
        .metadata_count = metadata_count,
        .on_message = on_stream_message,
        .on_end = on_stream_end,
        .data = call,
    };
    call->stream = grpc_stream_open(call->link->grpc, &config);
    grpc_stream_send(call->stream, buf_slice(&call->request), !config.is_long);
    call->sent_ms = clock_monotonic_ms();
    if (!call->link->config.auth || call->is_sent_again) {
        buf_fini(&call->request);
    }
}

void etcd_link_auth_settled(struct etcd_link *link, const struct err *err)
{
    struct etcd_call *call;
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!call->is_waiting_for_token || call->doom.code) {
            continue;
        }
        call->is_waiting_for_token = false;
        if (err) {
            call->doom = *err;
            arm_deadline(link, clock_monotonic_ms());
        } else if (link->grpc && grpc_is_open(link->grpc)) {
            submit(call);
        }
    }
}

/* ---- Connection ---- */

static void on_grpc_open(void *data)
{
    struct etcd_link *link = data;
    struct etcd_call *call;
    link->was_opened = true;
    link->last_failure.code = 0;
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!call->stream && !call->doom.code && grpc_is_open(link->grpc)) {
            submit(call);
        }
    }
}

static void connect_when_due(struct etcd_link *link);

/* An endpoint's turn is over: the next one's comes after a while. */
static void turn_failed(struct etcd_link *link, bool was_opened)
{
    struct etcd_call *call;
    bool is_refused = !was_opened && link->last_failure.code == ERR_REFUSED;
    link->backoff.max_ms = is_refused ? BACKOFF_REFUSED_MAX_MS : BACKOFF_MAX_MS;
    link->not_before_ms = clock_monotonic_ms() + backoff_next_ms(&link->backoff, backoff_random());
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!was_opened && --call->tries_left == 0) {
            call->doom = link->last_failure;
        }
    }
    sweep(link);
    connect_when_due(link);
}

static void close_grpc(struct etcd_link *link)
{
    link->heard_ms = etcd_link_heard_ms(link);
    grpc_free(link->grpc);
    link->grpc = NULL;
}

/* The connection stands, but this member is of no use: it has no leader, or answers nothing. The
 * calls that it has end with the reason. */
static void leave_endpoint(struct etcd_link *link, const struct err *reason)
{
    struct etcd_call *call;
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (call->stream && !call->doom.code) {
            call->doom = *reason;
            call->doom.code = ERR_UNAVAILABLE;
        }
        call->stream = NULL; /* goes with the connection */
    }
    link->last_failure = *reason;
    close_grpc(link);
    etcd_dialer_next_endpoint(link->dialer);
    turn_failed(link, true);
}

/* Every call that was sent has ended already. */
static void on_grpc_close(void *data, const struct err *err)
{
    struct etcd_link *link = data;
    link->last_failure = *err;
    err_wrap(&link->last_failure, err->code, "etcd at %s", endpoint_url(link));

    if (grpc_was_closed_for_pings(link->grpc)) {
        link->ping_interval_ms = link->ping_interval_ms > PING_INTERVAL_MAX_MS / 2
                                     ? PING_INTERVAL_MAX_MS
                                     : link->ping_interval_ms * 2;
    }
    close_grpc(link);
    if (link->was_opened || link->call_count == 0) {
        etcd_dialer_next_endpoint(link->dialer);
    } else if (etcd_dialer_next_address(link->dialer)) {
        connect_when_due(link);
        return;
    }
    turn_failed(link, link->was_opened);
}

static void refresh_credentials(struct etcd_link *link)
{
    struct err err;
    enum tls_refresh refresh = tls_client_refresh(link->config.tls, &err);
    if (refresh != TLS_UNCHANGED && link->config.on_credentials) {
        link->config.on_credentials(link->config.data, refresh == TLS_KEPT ? &err : NULL);
    }
}

static void on_address(void *data, const struct addr *address)
{
    struct etcd_link *link = data;
    const struct etcd_endpoint *endpoint = etcd_dialer_endpoint(link->dialer);
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
    link->has_good_message = false;
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

static void connect_now(struct etcd_link *link)
{
    link->is_dialing = true;
    etcd_dialer_find(link->dialer);
}

static void connect_when_due(struct etcd_link *link)
{
    if (link->grpc || link->is_dialing || link->call_count == 0 || ev_is_active(&link->retry)) {
        return;
    }
    int64_t wait_ms = link->not_before_ms - clock_monotonic_ms();
    if (wait_ms <= 0) {
        connect_now(link);
        return;
    }
    ev_timer_set(&link->retry, (double)wait_ms / 1000.0, 0.0);
    ev_timer_start(link->loop, &link->retry);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)loop;
    (void)events;
    connect_when_due(w->data);
}

static void on_idle(struct ev_loop *loop, ev_timer *w, int events)
{
    struct etcd_link *link = w->data;
    (void)loop;
    (void)events;
    close_grpc(link);
    etcd_dialer_cancel(link->dialer);
}

/* ---- Deadlines ---- */

static void arm_deadline(struct etcd_link *link, int64_t deadline_ms)
{
    if (deadline_ms >= link->next_deadline_ms) {
        return;
    }
    int64_t wait_ms = deadline_ms - clock_monotonic_ms();
    link->next_deadline_ms = deadline_ms;
    ev_timer_stop(link->loop, &link->deadline);
    ev_timer_set(&link->deadline, wait_ms > 0 ? (double)wait_ms / 1000.0 : 0.0, 0.0);
    ev_timer_start(link->loop, &link->deadline);
}

/* Nothing at all came since the call was sent: the member or the way to it hangs. */
static bool is_silent(const struct etcd_call *call)
{
    return call->stream && grpc_last_heard_ms(call->link->grpc) < call->sent_ms;
}

static void doom_overdue(struct etcd_call *call)
{
    struct etcd_link *link = call->link;
    if (call->is_waiting_for_token) {
        err_set(&call->doom, ERR_TIMEOUT, "etcd at %s: not authenticated within %u ms",
                endpoint_url(link), call->config.timeout_ms);
    } else if (call->stream) {
        err_set(&call->doom, ERR_TIMEOUT, "etcd at %s: no reply within %u ms", endpoint_url(link),
                call->config.timeout_ms);
    } else if (link->last_failure.code) {
        call->doom = link->last_failure;
    } else {
        err_set(&call->doom, ERR_UNAVAILABLE, "etcd at %s: not connected within %u ms",
                endpoint_url(link), call->config.timeout_ms);
    }
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
    struct etcd_link *link = w->data;
    struct etcd_call *call;
    int64_t now_ms = clock_monotonic_ms();
    int64_t next_ms = INT64_MAX;
    struct err silence = {.code = 0};
    (void)loop;
    (void)events;
    link->next_deadline_ms = INT64_MAX;
    if (link->grpc) {
        grpc_read_pending(link->grpc);
    }
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!call->doom.code && call->deadline_ms <= now_ms) {
            doom_overdue(call);
            if (is_silent(call)) {
                silence = call->doom;
            }
        } else if (call->deadline_ms < next_ms) {
            next_ms = call->deadline_ms;
        }
    }
    arm_deadline(link, next_ms);
    if (silence.code) {
        leave_endpoint(link, &silence);
    } else {
        sweep(link);
    }
}

/* ---- Calls ---- */

struct etcd_call *etcd_link_call(struct etcd_link *link, const struct etcd_call_config *config,
                                 struct buf *request)
{
    struct etcd_call *call = xcalloc(1, sizeof(*call));
    int64_t now_ms = clock_monotonic_ms();
    call->link = link;
    call->config = *config;
    call->request = *request;
    buf_init(request, request->limit); /* its bytes are the call's now */
    call->deadline_ms = config->timeout_ms ? now_ms + config->timeout_ms : INT64_MAX;
    call->tries_left = link->config.endpoints->count;
    TAILQ_INSERT_TAIL(&link->calls, call, entry);
    link->call_count++;
    ev_timer_stop(link->loop, &link->idle);

    if (call->request.failed) {
        err_set(&call->doom, ERR_TOO_LARGE, "request of more than %zu bytes", call->request.limit);
    } else if (link->call_count > ETCD_CALLS_MAX) {
        err_set(&call->doom, ERR_TOO_LARGE, "more than %d calls to etcd at once", ETCD_CALLS_MAX);
    }
    if (call->doom.code) {
        arm_deadline(link, now_ms);
    } else if (link->grpc && grpc_is_open(link->grpc)) {
        arm_deadline(link, call->deadline_ms);
        submit(call);
    } else {
        arm_deadline(link, call->deadline_ms);
        connect_when_due(link);
    }
    return call;
}

struct etcd_link *etcd_link_new(const struct etcd_link_config *config)
{
    struct etcd_link *link = xcalloc(1, sizeof(*link));
    link->loop = config->loop;
    link->config = *config;
    link->dialer = etcd_dialer_new(&(struct etcd_dialer_config){
        .loop = config->loop,
        .endpoints = config->endpoints,
        .look_up = config->look_up,
        .on_address = on_address,
        .on_no_address = on_no_address,
        .data = link,
    });
    link->ping_interval_ms = PING_INTERVAL_MS;
    link->heard_ms = clock_monotonic_ms();
    link->next_deadline_ms = INT64_MAX;
    backoff_init(&link->backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
    TAILQ_INIT(&link->calls);
    ev_init(&link->retry, on_retry);
    ev_init(&link->deadline, on_deadline);
    ev_init(&link->idle, on_idle);
    link->retry.data = link->deadline.data = link->idle.data = link;
    return link;
}

const char *etcd_link_endpoint(const struct etcd_link *link)
{
    return endpoint_url(link);
}

int64_t etcd_link_heard_ms(const struct etcd_link *link)
{
    int64_t heard_ms = link->grpc ? grpc_last_heard_ms(link->grpc) : 0;
    return heard_ms > link->heard_ms ? heard_ms : link->heard_ms;
}

void etcd_link_free(struct etcd_link *link)
{
    while (!TAILQ_EMPTY(&link->calls)) {
        call_free(TAILQ_FIRST(&link->calls));
    }
    ev_timer_stop(link->loop, &link->retry);
    ev_timer_stop(link->loop, &link->deadline);
    ev_timer_stop(link->loop, &link->idle);
    grpc_free(link->grpc);
    etcd_dialer_free(link->dialer);
    free(link);
}
