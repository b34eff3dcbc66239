/* Runs the calls on a link to etcd: tokens, deadlines, ends. */
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_link_state_internal.h"
#include "common/etcd/etcd_unary_internal.h"

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
        etcd_link_unwanted(link);
    }
}

/* Calls the callback, which may start and cancel calls, but not this one. */
static void call_end(struct etcd_call *call, int status, const struct err *err)
{
    call->config.on_end(call->config.data, status, err);
    call_free(call);
}

void etcd_call_cancel(struct etcd_call *call)
{
    call_free(call);
}

/* Ends the doomed calls. Restarts from the head each time: a callback may change the list. */
static void etcd_call_sweep(struct etcd_link *link)
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

/* Dooms a call that never reached etcd, so a refusal is not about its request. */
static void doom_unsent(struct etcd_call *call, const struct err *err)
{
    call->doom = *err;
    call->doom.code = err->code == ERR_REFUSED ? ERR_SHUT_OUT : err->code;
}

void etcd_calls_doom_sent(struct etcd_link *link, const struct err *reason)
{
    struct etcd_call *call;
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (call->stream && !call->doom.code) {
            call->doom = *reason;
            call->doom.code = ERR_UNAVAILABLE;
        }
        call->stream = NULL; /* freed with the connection */
    }
}

void etcd_calls_turn_failed(struct etcd_link *link, bool was_opened)
{
    struct etcd_call *call;
    TAILQ_FOREACH (call, &link->calls, entry) {
        bool is_last = call->config.only_now || (!was_opened && --call->tries_left == 0);
        if (is_last && !call->doom.code) {
            doom_unsent(call, &link->last_failure);
        }
    }
    etcd_call_sweep(link);
}

static void leave_member(struct etcd_call *call, const struct err *reason)
{
    call->doom = *reason;
    etcd_link_leave_member(call->link, reason);
}

/* ---- Streams ---- */

static void on_stream_message(void *data, struct slice message)
{
    struct etcd_call *call = data;
    struct etcd_link *link = call->link;
    struct err err;
    link->answers++;
    call->has_message = true;
    if (call->config.on_message(call->config.data, message, &err) == 0) {
        backoff_reset(&link->backoff); /* the peer sent a valid answer */
        return;
    }
    err_wrap(&err, err.code, "etcd at %s", etcd_link_endpoint(link));
    if (err.code == ERR_PROTOCOL) {
        leave_member(call, &err);
    } else {
        call_end(call, GRPC_STATUS_NONE, &err);
    }
}

static void etcd_call_submit(struct etcd_call *call);

/* Returns true if etcd only refused the call's token: then it is resent and lives on. */
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
    if (etcd_link_is_open(link)) {
        etcd_call_submit(call);
    }
    return true;
}

/* Returns whether the call's end shows that the member can serve nothing now, or speaks no gRPC. */
static bool is_useless(const struct etcd_link *link, int status)
{
    if (!etcd_link_is_open(link)) {
        return false; /* we leave the member anyway */
    }
    /* no leader, stopping, cut off */
    return status <= 0 || status == STATUS_UNAVAILABLE; /* one URL can lead to several members */
}

static void etcd_call_on_stream_end(void *data, int status, const struct err *err)
{
    struct etcd_call *call = data;
    struct etcd_link *link = call->link;
    struct err failure;
    call->stream = NULL;
    link->answers += status >= 0;
    if (!err && (call->has_message || call->config.timeout_ms == 0)) {
        call_end(call, status, NULL);
        return;
    }
    if (err) {
        failure = *err;
        status = etcd_status_of(status, &failure);
    }
    if (err && is_sent_again(call, status, &failure)) {
        return;
    }
    if (!err) {
        err_set(&failure, ERR_PROTOCOL, "no response, though the call succeeded");
    }
    err_wrap(&failure, failure.code, "etcd at %s", etcd_link_endpoint(link));
    if (err && !call->config.is_tokenless && etcd_auth_is_refusal(status, err->msg)) {
        failure.code = ERR_SHUT_OUT;
        if (!link->config.auth) {
            err_wrap(&failure, failure.code, "etcd requires a user name and password");
        }
    }
    if (is_useless(link, status)) {
        leave_member(call, &failure);
    } else {
        call_end(call, status, &failure);
    }
}

static void arm_deadline(struct etcd_link *link, int64_t deadline_ms);

/* Returns false if the call must not be sent now; it then waits for the token or is doomed. */
static bool take_token(struct etcd_call *call, const char **ret_token)
{
    struct etcd_link *link = call->link;
    *ret_token = NULL;
    if (!link->config.auth || call->config.is_tokenless) {
        return true;
    }
    struct err err;
    enum etcd_auth_state state =
        etcd_auth_get(link->config.auth, ret_token, &call->token_generation, &err);
    call->is_waiting_for_token = state == ETCD_AUTH_WAIT;
    if (state == ETCD_AUTH_FAILED) {
        doom_unsent(call, &err);
        arm_deadline(link, clock_monotonic_ms());
    }
    return state == ETCD_AUTH_READY;
}

static void etcd_call_submit(struct etcd_call *call)
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
    metadata[metadata_count++] = (struct grpc_metadata){"hasleader", "true"};
    const struct grpc_stream_config config = {
        .path = call->config.path,
        .is_long = call->config.timeout_ms == 0,
        .metadata = metadata,
        .metadata_count = metadata_count,
        .on_message = on_stream_message,
        .on_end = etcd_call_on_stream_end,
        .data = call,
    };
    call->stream = grpc_stream_open(call->link->grpc, &config);
    grpc_stream_send(call->stream, buf_slice(&call->request), !config.is_long);
    call->answers_before = call->link->answers;
    if (!call->link->config.auth || call->is_sent_again) {
        buf_fini(&call->request);
    }
}

void etcd_calls_submit(struct etcd_link *link)
{
    struct etcd_call *call;
    link->answers = 0;
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!call->stream && !call->doom.code && etcd_link_is_open(link)) {
            etcd_call_submit(call);
        }
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
            doom_unsent(call, err);
            arm_deadline(link, clock_monotonic_ms());
        } else if (etcd_link_is_open(link)) {
            etcd_call_submit(call);
        }
    }
}

/* ---- Deadlines ---- */

static void arm_deadline(struct etcd_link *link, int64_t deadline_ms)
{
    if (deadline_ms >= link->next_deadline_ms) {
        return;
    }
    int64_t wait_ms = deadline_ms - clock_monotonic_ms();
    link->next_deadline_ms = deadline_ms;
    timer_arm_ms(link->loop, &link->deadline, wait_ms);
}

/* Returns whether no call has received anything since this one was sent. Then the member or the
 * path to it hangs, even if it still answers pings. */
static bool is_hung(const struct etcd_call *call)
{
    return call->stream && call->link->answers == call->answers_before;
}

static void doom_overdue(struct etcd_call *call)
{
    const struct etcd_link *link = call->link;
    const char *url = etcd_link_endpoint(link);
    if (call->is_waiting_for_token) {
        err_set(&call->doom, ERR_TIMEOUT, "etcd at %s: not authenticated within %u ms", url,
                call->config.timeout_ms);
    } else if (call->stream) {
        err_set(&call->doom, ERR_TIMEOUT, "etcd at %s: no response within %u ms", url,
                call->config.timeout_ms);
    } else if (link->last_failure.code) {
        doom_unsent(call, &link->last_failure);
    } else {
        err_set(&call->doom, ERR_UNAVAILABLE, "etcd at %s: not connected within %u ms", url,
                call->config.timeout_ms);
    }
}

static void etcd_call_on_deadline(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct etcd_link *link = w->data;
    struct etcd_call *call;
    int64_t now_ms = clock_monotonic_ms();
    int64_t next_ms = INT64_MAX;
    struct err silence = {.code = 0};
    link->next_deadline_ms = INT64_MAX;
    if (link->grpc) {
        grpc_read_pending(link->grpc);
    }
    TAILQ_FOREACH (call, &link->calls, entry) {
        if (!call->doom.code && call->deadline_ms <= now_ms) {
            doom_overdue(call);
            if (is_hung(call)) {
                silence = call->doom;
            }
        } else if (call->deadline_ms < next_ms) {
            next_ms = call->deadline_ms;
        }
    }
    arm_deadline(link, next_ms);
    if (silence.code) {
        etcd_link_leave_member(link, &silence);
    } else {
        etcd_call_sweep(link);
    }
}

/* ---- Starting ---- */

struct etcd_call *etcd_link_call(struct etcd_link *link, const struct etcd_call_config *config,
                                 struct buf *request)
{
    struct etcd_call *call = xcalloc(1, sizeof(*call));
    int64_t now_ms = clock_monotonic_ms();
    bool is_open = etcd_link_is_open(link);
    call->link = link;
    call->config = *config;
    call->request = *request;
    buf_init(request, request->limit); /* the call owns its bytes now */
    call->deadline_ms = config->timeout_ms ? now_ms + config->timeout_ms : INT64_MAX;
    call->tries_left = link->config.endpoints->count;
    TAILQ_INSERT_TAIL(&link->calls, call, entry);
    link->call_count++;

    if (call->request.failed) {
        err_set(&call->doom, ERR_TOO_LARGE, "request of more than %zu bytes", call->request.limit);
    } else if (link->call_count > ETCD_CALLS_MAX) {
        err_set(&call->doom, ERR_TOO_LARGE, "more than %d calls to etcd at once", ETCD_CALLS_MAX);
    } else if (config->only_now && !is_open) {
        err_set(&call->doom, ERR_UNAVAILABLE, "etcd at %s: connection lost",
                etcd_link_endpoint(link));
    }
    arm_deadline(link, call->doom.code ? now_ms : call->deadline_ms);
    if (!call->doom.code && is_open) {
        etcd_call_submit(call);
    }
    etcd_link_wanted(link);
    return call;
}

void etcd_calls_init(struct etcd_link *link)
{
    TAILQ_INIT(&link->calls);
    link->next_deadline_ms = INT64_MAX;
    timer_init(&link->deadline, etcd_call_on_deadline, link);
}

void etcd_calls_fini(struct etcd_link *link)
{
    while (!TAILQ_EMPTY(&link->calls)) {
        call_free(TAILQ_FIRST(&link->calls));
    }
    ev_timer_stop(link->loop, &link->deadline);
}
