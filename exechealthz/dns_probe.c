#include "exechealthz/dns_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/log.h"
#include "common/base/sockets.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/dns_names.h"
#include "common/tls/tls_client.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/tls_query.h"

enum {
    RESEND_S = 1, /* for lost datagrams; a second is far more than an answer from memory takes */
    /* Fits a short error with a quoted name, or an error of a TLS query. */
    ERROR_MAX = DNAME_TEXT_MAX + 64,
};

struct dns_probe {
    struct ev_loop *loop;
    struct dns_probe_config config;
    ev_timer tick;
    bool tick_missed; /* a tick came during a run */
    unsigned number;  /* of health_actions_add */

    /* Holds the current run: over UDP, or readable.fd is -1; over TLS, or stream is NULL. */
    ev_io readable;
    ev_timer resend;
    struct tls_query *stream;
    ev_timer timeout;
    uint16_t id; /* the query's */
    uint8_t query[DNS_QUERY_MAX];
    size_t query_len;
    int64_t started_us;

    struct dns_probe_counts counts;
    bool has_failed;
    char error[ERROR_MAX]; /* the reason, or that there was no run yet */
    int64_t latency_us;
    int64_t at_ms; /* time of the last result, or the start */
};

/* ---- Results ---- */

/* Rises from 0.25 ms, each twice the one before, as kube-dns' sidecar has them. */
const struct histogram_scale dns_latency_scale = {
    .bound_count = 16,
    .bounds = {250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000,
               1024000, 2048000, 4096000, 8192000},
    .page_unit = 1e3,
    .sum_decimals = -1,
};

static void dns_probe_log_result(const struct dns_probe *probe, bool had_failed)
{
    const char *label = probe->config.target->label;
    log_debug("DNS run ended", LOG_STR("label", label),
              LOG_STR("status", probe->has_failed ? probe->error : ""),
              LOG_INT("duration_us", clock_monotonic_us() - probe->started_us));
    if (probe->has_failed && !had_failed) {
        log_warn("DNS probe failed, reporting unhealthy", LOG_STR("label", label),
                 LOG_STR("error", probe->error));
    } else if (!probe->has_failed && had_failed) {
        log_info("DNS probe succeeded, reporting healthy", LOG_STR("label", label));
    }
    if (!probe->config.settings.is_quiet) {
        log_info("DNS probe run", LOG_STR("label", label),
                 LOG_STR("error", probe->has_failed ? probe->error : "None"),
                 LOG_INT("duration_us", clock_monotonic_us() - probe->started_us));
    }
}

static void dns_probe_record(struct dns_probe *probe, bool has_failed)
{
    bool had_failed = probe->has_failed;
    probe->has_failed = has_failed;
    probe->latency_us = has_failed ? 0 : clock_monotonic_us() - probe->started_us;
    probe->at_ms = clock_monotonic_ms();
    probe->counts.runs++;
    if (has_failed) {
        probe->counts.failures++;
    } else {
        histogram_observe(&probe->counts.latency, &dns_latency_scale, probe->latency_us);
    }
    dns_probe_log_result(probe, had_failed);
    health_actions_note(probe->config.settings.actions, probe->number,
                        has_failed ? probe->error : "");
}

/* ---- One run ---- */

static bool is_running(const struct dns_probe *probe)
{
    return probe->readable.fd >= 0 || probe->stream;
}

static void dns_probe_close(struct dns_probe *probe)
{
    ev_timer_stop(probe->loop, &probe->timeout);
    if (probe->readable.fd >= 0) {
        ev_io_stop(probe->loop, &probe->readable);
        ev_timer_stop(probe->loop, &probe->resend);
        (void)close(probe->readable.fd); /* its content does not matter */
        probe->readable.fd = -1;
    }
    tls_query_free(probe->stream);
    probe->stream = NULL;
}

static void start_run(struct dns_probe *probe);

/* Ends the run, with `error` filled in if it has failed. Starts the next one if its tick came
 * meanwhile. */
static void end_run(struct dns_probe *probe, bool has_failed)
{
    dns_probe_close(probe);
    dns_probe_record(probe, has_failed);
    if (probe->tick_missed) {
        probe->tick_missed = false;
        start_run(probe);
    }
}

static void dns_probe_fail(struct dns_probe *probe, const char *doing, int code)
{
    char server[DNS_SERVER_TEXT_MAX];
    (void)snprintf(probe->error, sizeof(probe->error), "%s %s: %s", doing,
                   dns_target_server(probe->config.target, server), err_code_text(code));
    end_run(probe, true);
}

static void dns_probe_fail_with(struct dns_probe *probe, const char *error)
{
    (void)snprintf(probe->error, sizeof(probe->error), "%s", error); /* ERROR_MAX is enough */
    end_run(probe, true);
}

static void dns_probe_judge(struct dns_probe *probe, const struct dns_reply *reply)
{
    char name[DNAME_TEXT_MAX], rcode[DNS_RCODE_TEXT_MAX];
    bool is_ok = reply->answers > 0 || (reply->is_truncated && reply->rcode == DNS_RCODE_NOERROR);
    if (!is_ok) {
        (void)snprintf(probe->error, sizeof(probe->error), "no RRs for domain \"%s\": %s",
                       dname_to_text(&probe->config.target->question.name, name),
                       dns_rcode_text(reply->rcode, rcode)); /* ERROR_MAX is enough */
    }
    end_run(probe, !is_ok);
}

/* Reads what came for the current run, and ends it. Returns false if that is not its response, and
 * the run goes on. */
static bool dns_probe_take_reply(struct dns_probe *probe, const uint8_t *bytes, size_t len)
{
    struct dns_reply reply;
    switch (dns_reply_read(&probe->config.target->question, probe->id, bytes, len, &reply)) {
    case DNS_REPLY_UNRELATED:
        return false;
    case DNS_REPLY_MALFORMED:
        dns_probe_fail_with(probe, "malformed response");
        break;
    case DNS_REPLY_READ:
        dns_probe_judge(probe, &reply);
        break;
    }
    return true;
}

/* ---- Over UDP ---- */

static void dns_probe_on_readable(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct dns_probe *probe = w->data;
    uint8_t bytes[DNS_REPLY_MAX];
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), 0);
    if (n >= 0) {
        (void)dns_probe_take_reply(probe, bytes, (size_t)n); /* else it waits for the next one */
    } else if (errno != EAGAIN && errno != EINTR) {
        dns_probe_fail(probe, "ask", -errno);
    }
}

/* Sends again. A datagram that cannot be sent counts as lost: it is repeated until the timeout. */
static void on_resend(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct dns_probe *probe = w->data;
    log_debug("no response yet, sending again", LOG_STR("label", probe->config.target->label));
    (void)send(probe->readable.fd, probe->query, probe->query_len, 0);
}

/* Returns the connected socket with the query sent, or -errno. */
static int dns_probe_open_socket(struct dns_probe *probe)
{
    CLEANUP_CLOSE int fd = sockets_connect(&probe->config.target->server, SOCK_DGRAM);
    return fd >= 0 && send(fd, probe->query, probe->query_len, 0) < 0 ? -errno : STEAL_FD(fd);
}

static bool start_datagram(struct dns_probe *probe)
{
    int fd = dns_probe_open_socket(probe);
    if (fd < 0) {
        dns_probe_fail(probe, "send to", fd);
        return false;
    }
    ev_now_update(probe->loop);
    ev_io_set(&probe->readable, fd, EV_READ);
    ev_io_start(probe->loop, &probe->readable);
    ev_timer_set(&probe->resend, RESEND_S, RESEND_S);
    ev_timer_start(probe->loop, &probe->resend);
    return true;
}

/* ---- Over TLS and HTTPS ---- */

static void dns_probe_on_stream_end(void *data, struct slice reply, const struct err *err)
{
    struct dns_probe *probe = data;
    if (err) {
        dns_probe_fail_with(probe, err->msg);
    } else if (!dns_probe_take_reply(probe, (const uint8_t *)reply.ptr, reply.len)) {
        dns_probe_fail_with(probe, "malformed response: not to this query");
    }
}

/* Uses files that have been replaced from now on. */
static void refresh_files(struct dns_probe *probe)
{
    struct err err;
    switch (tls_client_refresh(probe->config.tls, &err)) {
    case TLS_UNCHANGED:
        break;
    case TLS_READ_AGAIN:
        log_info("TLS files reloaded");
        break;
    case TLS_READ_FAILED:
        log_warn("new TLS files cannot be used, keeping the old ones", LOG_STR("error", err.msg));
        break;
    }
}

static bool start_stream(struct dns_probe *probe)
{
    const struct tls_query_config config = {
        .loop = probe->loop,
        .target = probe->config.target,
        .tls = probe->config.tls,
        .message = slice_of(probe->query, probe->query_len),
        .on_end = dns_probe_on_stream_end,
        .data = probe,
    };
    struct err err;
    refresh_files(probe);
    if (tls_query_start(&config, &probe->stream, &err) < 0) {
        dns_probe_fail_with(probe, err.msg);
        return false;
    }
    ev_now_update(probe->loop);
    return true;
}

/* ---- Over any transport ---- */

static void dns_probe_on_timeout(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct dns_probe *probe = w->data;
    dns_probe_fail(probe, probe->stream ? tls_query_doing(probe->stream) : "no response from",
                   ERR_TIMEOUT);
}

static bool write_query(struct dns_probe *probe)
{
    const struct dns_target *target = probe->config.target;
    if (target->protocol == DNS_OVER_HTTPS) {
        probe->id = 0; /* HTTP has its own way to match responses (RFC 8484 4.1) */
    } else if (getrandom(&probe->id, sizeof(probe->id), 0) != sizeof(probe->id)) {
        return false;
    }
    probe->query_len = dns_query_write(&target->question, probe->id, probe->query);
    return true;
}

static void start_run(struct dns_probe *probe)
{
    const struct dns_target *target = probe->config.target;
    char server[DNS_SERVER_TEXT_MAX];
    probe->started_us = clock_monotonic_us();
    log_debug("DNS run started", LOG_STR("label", target->label),
              LOG_STR("server", dns_target_server(target, server)));
    if (!write_query(probe)) {
        dns_probe_fail(probe, "draw an id for", -errno);
    } else if (target->protocol == DNS_OVER_UDP ? start_datagram(probe) : start_stream(probe)) {
        timer_arm_ms(probe->loop, &probe->timeout, probe->config.settings.timeout_ms);
    }
}

static void dns_probe_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct dns_probe *probe = w->data;
    if (is_running(probe)) {
        probe->tick_missed = true;
    } else {
        start_run(probe);
    }
}

/* ---- Lifetime ---- */

struct dns_probe *dns_probe_new(struct ev_loop *loop, const struct dns_probe_config *config)
{
    struct dns_probe *probe = xcalloc(1, sizeof(*probe));
    probe->loop = loop;
    probe->config = *config;
    probe->number = health_actions_add(config->settings.actions, config->target->label);
    probe->has_failed = config->settings.starts_unhealthy;
    (void)snprintf(probe->error, sizeof(probe->error), "waiting for first probe");
    ev_timer_init(&probe->tick, dns_probe_on_tick, 0., (double)config->settings.period_ms / 1000);
    ev_init(&probe->resend, on_resend);
    ev_init(&probe->timeout, dns_probe_on_timeout);
    ev_init(&probe->readable, dns_probe_on_readable);
    probe->readable.fd = -1;
    probe->tick.data = probe->resend.data = probe->timeout.data = probe->readable.data = probe;
    return probe;
}

void dns_probe_start(struct dns_probe *probe)
{
    probe->at_ms = clock_monotonic_ms();
    ev_now_update(probe->loop);
    ev_timer_start(probe->loop, &probe->tick);
}

void dns_probe_free(struct dns_probe *probe)
{
    if (probe) {
        ev_timer_stop(probe->loop, &probe->tick);
        dns_probe_close(probe);
        free(probe);
    }
}

/* ---- For the HTTP handlers ---- */

const struct dns_target *dns_probe_target(const struct dns_probe *probe)
{
    return probe->config.target;
}

const struct dns_probe_counts *dns_probe_counts(const struct dns_probe *probe)
{
    return &probe->counts;
}

bool dns_probe_report(const struct dns_probe *probe, int64_t now_ms, struct buf *reply)
{
    const struct dns_target *target = probe->config.target;
    char server[DNS_SERVER_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    int64_t age_ms = now_ms - probe->at_ms;
    bool is_old = age_ms > probe->config.settings.latency_ms;
    if (!probe->has_failed && !is_old) {
        return true;
    }
    buf_printf(reply, "DNS probe %s of %s, %s: ", target->label, dns_target_server(target, server),
               dns_type_text(target->question.type, type));
    if (probe->has_failed) {
        buf_printf(reply, "%s\n", probe->error);
    } else {
        buf_printf(reply, "Latest result too old to be useful: %lld ms\n", (long long)age_ms);
    }
    return false;
}

bool dns_probe_healthcheck(const struct dns_probe *probe, struct buf *reply)
{
    bool is_ok = !probe->has_failed && probe->counts.runs > 0;
    buf_printf(reply, "{\"IsOk\":%s,\"LatencySeconds\":%.9g,\"Err\":", is_ok ? "true" : "false",
               (double)probe->latency_us / 1e6);
    json_text_string(reply, slice_str(is_ok ? "" : probe->error));
    buf_append_char(reply, '}');
    return is_ok;
}
