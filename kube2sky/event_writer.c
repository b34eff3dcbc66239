#include "kube2sky/event_writer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/utc_time.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/reconcile/reconciler.h"

#define EVENTS_GROUP "events.k8s.io/v1"

enum {
    /* A name has 253 bytes: an object's, a point and 16 digits. */
    EVENT_OBJECT_NAME_MAX = 236,
    /* The API's limit of reportingInstance is 128. */
    EVENT_HOST_MAX = 100,
    /* An event with its note, escaped. */
    EVENT_JSON_MAX = 64 * 1024,
    EVENT_PATH_MAX = 1024,
    /* How soon the lead is looked at again. */
    EVENT_LEAD_MS = 1000,
    EVENT_BACKOFF_FIRST_MS = 1000,
    EVENT_BACKOFF_MAX_MS = 60 * 1000,
};

struct event_writer {
    struct event_writer_config config;
    char host[EVENT_HOST_MAX + 1];
    ev_prepare turn;
    ev_timer timer;
    int64_t not_before_ms; /* the backoff */
    struct backoff backoff;
    struct kube_request *request; /* NULL: none is under way */
    uint64_t event;               /* which it writes */
    bool is_created;              /* it changes the series of an event */
    int64_t written_ms;           /* the last success; 0: none */
    bool is_refusal_told;
    bool is_failure_told;
    uint64_t written;
    uint64_t failures;
};

/* ---- An event's texts ---- */

static uint64_t hash_event_text(uint64_t hash, struct slice text)
{
    for (size_t i = 0; i <= text.len; i++) { /* FNV-1a 64, with an end */
        hash = (hash ^ (i < text.len ? (uint8_t)text.ptr[i] : 0)) * 0x100000001b3;
    }
    return hash;
}

/* Returns what distinguishes the events of one object's name: the same for every process. */
static uint64_t identify_event(const struct event_write *write, const char *uid)
{
    uint64_t hash = 0xcbf29ce484222325;
    hash = hash_event_text(hash, slice_str(uid));
    hash = hash_event_text(hash, slice_str(event_reason_name(write->reason)));
    hash = hash_event_text(hash, slice_str(write->note));
    return hash ? hash : 1;
}

/* Appends "web.0123456789abcdef": a DNS name, as the API wants it. */
static void append_event_name(const char *object, uint64_t event, struct buf *out)
{
    size_t len = strlen(object);
    len = len < EVENT_OBJECT_NAME_MAX ? len : EVENT_OBJECT_NAME_MAX;
    while (len > 0 && (object[len - 1] == '.' || object[len - 1] == '-')) {
        len--;
    }
    buf_append(out, object, len);
    buf_printf(out, ".%016" PRIx64, event);
}

/* Appends the wall clock's time of a monotonic one, as a field. */
static void append_event_time(const char *name, int64_t at_ms, struct buf *out)
{
    int64_t ago_ms = clock_monotonic_ms() - at_ms;
    json_text_open(out, name, '"');
    utc_time_append(clock_wall_ns() / 1000 - ago_ms * 1000, out);
    buf_append_char(out, '"');
}

static void append_event_series(const struct event_write *write, struct buf *out)
{
    json_text_open(out, "series", '{');
    json_text_number_field(out, "count", write->count > 1 ? write->count : 2);
    append_event_time("lastObservedTime", write->last_ms, out);
    buf_append_char(out, '}');
}

static void append_regarding(const struct event_write *write, const struct kube_object *object,
                             struct buf *out)
{
    bool is_service = write->object.kind == KUBE_SERVICE;
    bool is_ingress = write->object.kind == KUBE_INGRESS;
    json_text_open(out, "regarding", '{');
    json_text_string_field(out, "apiVersion",
                           is_service   ? "v1"
                           : is_ingress ? "networking.k8s.io/v1"
                                        : "gateway.networking.k8s.io/v1");
    json_text_string_field(out, "kind",
                           is_service   ? "Service"
                           : is_ingress ? "Ingress"
                                        : "HTTPRoute");
    json_text_string_field(out, "namespace", object->ns);
    json_text_string_field(out, "name", object->name);
    json_text_string_field(out, "uid", kube_object_uid(object));
    buf_append_char(out, '}');
}

static void append_new_event(const struct event_writer *writer, const struct event_write *write,
                             const struct kube_object *object, uint64_t event, struct buf *out)
{
    char *instance = xasprintf("kube2sky-%s", writer->host);
    buf_append_char(out, '{');
    json_text_string_field(out, "apiVersion", EVENTS_GROUP);
    json_text_string_field(out, "kind", "Event");
    json_text_open(out, "metadata", '{');
    json_text_string_field(out, "namespace", object->ns);
    json_text_open(out, "name", '"');
    append_event_name(object->name, event, out);
    buf_append_str(out, "\"}");
    append_event_time("eventTime", write->found_ms, out);
    if (write->count > 1) {
        append_event_series(write, out);
    }
    json_text_string_field(out, "type", "Warning");
    json_text_string_field(out, "reason", event_reason_name(write->reason));
    json_text_string_field(out, "action", "WriteRecords");
    json_text_string_field(out, "reportingController", "kube2sky");
    json_text_string_field(out, "reportingInstance", instance);
    append_regarding(write, object, out);
    json_text_string_field(out, "note", write->note);
    buf_append_char(out, '}');
    free(instance);
}

/* ---- Outcomes ---- */

/* Returns whether the namespace takes no new objects, or is gone: that is no lack of permission. */
static bool is_namespace_ending(const struct err *err)
{
    return strstr(err->msg, "being terminated") || strstr(err->msg, ": namespaces \"");
}

/* Pauses all namespaces, too, unless another one's events were permitted lately, or the refusal is
 * the namespace's own: its quota is used up. */
static enum event_outcome refuse_event(struct event_writer *writer, const struct err *err,
                                       int64_t now_ms)
{
    bool is_permitted_elsewhere =
        writer->written_ms && now_ms - writer->written_ms < EVENT_REFUSED_MS;
    if (!writer->is_refusal_told) {
        log_warn("events are refused, trying again rarely", LOG_STR("error", err->msg),
                 LOG_INT("retry_s", EVENT_REFUSED_MS / 1000));
    }
    writer->is_refusal_told = true;
    if (!is_permitted_elsewhere && !strstr(err->msg, "exceeded quota")) {
        writer->not_before_ms = now_ms + EVENT_REFUSED_MS;
    }
    return EVENT_REFUSED;
}

static enum event_outcome delay_event(struct event_writer *writer,
                                      const struct kube_failure *failure, int64_t now_ms)
{
    uint32_t wait_ms = backoff_next_ms(&writer->backoff, backoff_random());
    if (!writer->is_failure_told) {
        log_warn("events cannot be written, retrying", LOG_STR("error", failure->err.msg));
    }
    writer->is_failure_told = true;
    wait_ms = wait_ms > failure->retry_after_ms ? wait_ms : failure->retry_after_ms;
    writer->not_before_ms = now_ms + wait_ms;
    return EVENT_FAILED;
}

/* Logs an event that the server does not want as it is: it has a fault of ours. */
static enum event_outcome reject_event(const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    if (log_limit_pass(&limit)) {
        log_warn("event is not accepted, left out", LOG_STR("error", err->msg));
    }
    return EVENT_USELESS;
}

static enum event_outcome judge_failure(struct event_writer *writer,
                                        const struct kube_failure *failure, int64_t now_ms)
{
    enum { UNAUTHORIZED = 401, CONFLICT = 409, NOT_FOUND = 404 };
    if (failure->status == CONFLICT && !writer->is_created) {
        return EVENT_EXISTS;
    }
    if (failure->status == NOT_FOUND && writer->is_created) {
        return EVENT_MISSING;
    }
    if (failure->err.code == ERR_REFUSED && is_namespace_ending(&failure->err)) {
        return EVENT_USELESS;
    }
    writer->failures++;
    if (failure->err.code == ERR_REFUSED && failure->status != UNAUTHORIZED) {
        return refuse_event(writer, &failure->err, now_ms);
    }
    bool is_unwanted = failure->status >= 400 && failure->status < 500 &&
                       failure->err.code == ERR_PROTOCOL && failure->status != CONFLICT;
    return is_unwanted ? reject_event(&failure->err) : delay_event(writer, failure, now_ms);
}

static void note_event_success(struct event_writer *writer, int64_t now_ms)
{
    if (writer->is_refusal_told || writer->is_failure_told) {
        log_info("events are written again");
    }
    writer->is_refusal_told = false;
    writer->is_failure_told = false;
    writer->written_ms = now_ms;
    writer->written++;
    backoff_reset(&writer->backoff);
}

static void set_event_timer(struct event_writer *writer);

static void on_event_end(void *data, const struct kube_failure *failure)
{
    struct event_writer *writer = data;
    int64_t now_ms = clock_monotonic_ms();
    enum event_outcome outcome = EVENT_WRITTEN;
    writer->request = NULL;
    if (failure) {
        outcome = judge_failure(writer, failure, now_ms);
    } else {
        note_event_success(writer, now_ms);
    }
    event_queue_done(writer->config.queue, outcome, writer->event, now_ms);
    set_event_timer(writer);
}

/* ---- Turns ---- */

/* Begins the write. Returns false if its object is gone. */
static bool begin_event_write(struct event_writer *writer, const struct event_write *write)
{
    char *ns = xstrndup(write->object.ns.ptr, write->object.ns.len);
    char *name = xstrndup(write->object.name.ptr, write->object.name.len);
    const struct kube_object *object =
        kube_source_find(writer->config.kube_source, write->object.kind, ns, name);
    bool is_known = object && *kube_object_uid(object);
    if (is_known) {
        struct buf path, json;
        uint64_t event = identify_event(write, kube_object_uid(object));
        buf_init(&path, EVENT_PATH_MAX);
        buf_init(&json, EVENT_JSON_MAX);
        writer->event = event;
        writer->is_created = write->is_created && write->event == event;
        buf_printf(&path, "/apis/" EVENTS_GROUP "/namespaces/%s/events", object->ns);
        if (writer->is_created) {
            buf_append_char(&path, '/');
            append_event_name(object->name, event, &path);
            buf_append_char(&json, '{');
            append_event_series(write, &json);
            buf_append_char(&json, '}');
        } else {
            append_new_event(writer, write, object, event, &json);
        }
        writer->request = kube_client_write(
            writer->config.client,
            &(struct kube_write){.verb = writer->is_created ? KUBE_MERGE : KUBE_CREATE,
                                 .path = buf_cstr(&path),
                                 .json = buf_slice(&json)},
            on_event_end, writer);
        buf_fini(&path);
        buf_fini(&json);
    }
    free(ns);
    free(name);
    return is_known;
}

static void write_next_event(struct event_writer *writer)
{
    struct event_write write;
    int64_t now_ms = clock_monotonic_ms();
    while (!writer->request && now_ms >= writer->not_before_ms &&
           reconciler_is_leading(writer->config.reconciler) &&
           event_queue_next(writer->config.queue, now_ms, &write)) {
        if (!begin_event_write(writer, &write)) {
            event_queue_done(writer->config.queue, EVENT_USELESS, 0, now_ms);
        }
    }
}

/* Sets the timer to the next write that may begin, if no request is under way. */
static void set_event_timer(struct event_writer *writer)
{
    ev_timer_stop(writer->config.loop, &writer->timer);
    if (writer->request) {
        return;
    }
    int64_t now_ms = clock_monotonic_ms();
    int64_t wait_ms = event_queue_wait_ms(writer->config.queue, now_ms);
    if (wait_ms < 0) {
        return;
    }
    if (now_ms + wait_ms < writer->not_before_ms) {
        wait_ms = writer->not_before_ms - now_ms;
    }
    if (!reconciler_is_leading(writer->config.reconciler) && wait_ms < EVENT_LEAD_MS) {
        wait_ms = EVENT_LEAD_MS;
    }
    ev_now_update(writer->config.loop);
    timer_arm_ms(writer->config.loop, &writer->timer, wait_ms);
}

static void on_event_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    write_next_event(timer->data);
    set_event_timer(timer->data);
}

/* Looks for new faults before the loop sleeps, once the reconciler has worked. */
static void on_event_turn(struct ev_loop *loop UNUSED, ev_prepare *prepare, int revents UNUSED)
{
    struct event_writer *writer = prepare->data;
    if (event_queue_take_news(writer->config.queue)) {
        set_event_timer(writer);
    }
}

struct event_writer *event_writer_start(const struct event_writer_config *config)
{
    struct event_writer *writer = xcalloc(1, sizeof(*writer));
    writer->config = *config;
    if (gethostname(writer->host, sizeof(writer->host)) < 0) {
        writer->host[0] = '\0'; /* longer than our limit: it is there cut, or not at all */
    }
    writer->host[EVENT_HOST_MAX] = '\0';
    backoff_init(&writer->backoff, EVENT_BACKOFF_FIRST_MS, EVENT_BACKOFF_MAX_MS);
    timer_init(&writer->timer, on_event_timer, writer);
    ev_prepare_init(&writer->turn, on_event_turn);
    writer->turn.data = writer;
    ev_prepare_start(config->loop, &writer->turn);
    return writer;
}

void event_writer_free(struct event_writer *writer)
{
    if (!writer) {
        return;
    }
    ev_prepare_stop(writer->config.loop, &writer->turn);
    ev_timer_stop(writer->config.loop, &writer->timer);
    if (writer->request) {
        kube_request_cancel(writer->request);
    }
    free(writer);
}

struct event_writer_counts event_writer_count(const struct event_writer *writer)
{
    return (struct event_writer_counts){.queue = event_queue_count(writer->config.queue),
                                        .written = writer->written,
                                        .failures = writer->failures};
}
