/* For tests of reflectors: a reflector over a real kube_client, against a scripted API server on
 * the same loop, with the owner's callbacks logged as lines of text. */
#ifndef TESTS_UNIT_KUBE2SKY_API_REFLECTOR_BED_H
#define TESTS_UNIT_KUBE2SKY_API_REFLECTOR_BED_H

#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/reflector.h"
#include "tests/support/from_text.h"
#include "tests/support/http_script.h"
#include "tests/support/unit_test.h"

/* Far more than anything here takes: only ends a hang. */
enum { GUARD_S = 60 };

/* With timeoutSeconds=0 a watch counts as having run its full time, however early it ends. */
static const struct reflector_timing quick UNUSED = {
    .silent_ms = 60000,
    .renew_ms = 60000,
    .open_ms = 60000,
    .retry_first_ms = 1,
    .retry_max_ms = 4,
    .calm_ms = 60000,
    .refused_ms = 60000,
    .probe_ms = 60000,
};

struct fixture {
    struct ev_loop *loop;
    struct http_script *script;
    struct kube_client *client;
    struct reflector *reflector;
    struct reflector_counts counts;
    struct reflector_config config; /* kind and selection; the rest is filled in */
    ev_timer guard;
    struct buf log; /* a line for each callback */
    const char *want;
    size_t connections;
    bool has_event_lists; /* the server is asked for them */
    char *token_path;     /* rewritten with `new` on a reported 401 */
};

/* ---- The owner's callbacks, as lines ---- */

static inline void note(struct fixture *f, const char *format, ...) PRINTF_LIKE(2, 3);
static inline void note(struct fixture *f, const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args); /* truncated ones do not match */
    va_end(args);
    buf_append_str(&f->log, line);
    buf_append_char(&f->log, '\n');
    if (f->log.len >= strlen(f->want)) {
        ev_break(f->loop, EVBREAK_ALL);
    }
}

static inline void on_list_begin(void *data, enum kube_kind kind)
{
    note(data, "begin %s", kube_kind_name(kind));
}

static inline void on_upsert(void *data, struct kube_object *object)
{
    note(data, "upsert %s/%s%s%s", object->ns, object->name, object->is_garbled ? " garbled: " : "",
         object->is_garbled ? object->faults : "");
    kube_object_free(object);
}

static inline void on_remove(void *data, enum kube_kind kind, const char *ns, const char *name,
                             const char *version)
{
    note(data, "remove %s/%s", ns, name);
}

static inline void on_list_end(void *data, enum kube_kind kind)
{
    note(data, "end %s", kube_kind_name(kind));
}

static inline void on_settled(void *data, bool is_settled)
{
    note(data, is_settled ? "settled" : "unsettled");
}

static inline void on_bad(void *data, enum kube_kind kind, const struct err *err)
{
    note(data, "bad: %s", err->msg);
}

static inline void on_went_back(void *data, enum kube_kind kind UNUSED, const struct err *err)
{
    note(data, "went back: %s", err->msg);
}

/* Leaves out the URL, whose port differs each time. */
static inline void on_state(void *data, enum kube_kind kind, const char *resource,
                            const struct err *err)
{
    struct fixture *f = data;
    assert_non_null(resource);
    if (!err) {
        note(f, "state ok");
        return;
    }
    const char *url = http_script_url(f->script);
    const char *at = strstr(err->msg, url);
    note(f, "state %.*s%s", (int)(at ? at - err->msg : 0), err->msg,
         at ? at + strlen(url) : err->msg);
    if (f->token_path && strstr(err->msg, "401")) {
        file_from(f->token_path, "new");
    }
}

/* ---- Running ---- */

static inline void on_guard(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct fixture *f = w->data;
    const char *problem = http_script_problem(f->script);
    fail_msg("stuck after:\n%s\nrequests taken: %zu\n%s", buf_cstr(&f->log),
             http_script_taken(f->script), problem ? problem : "");
}

static inline void start(struct fixture *f, const struct http_step *steps, size_t count,
                         const struct reflector_timing *timing)
{
    f->loop = ev_loop_new(0);
    f->script = http_script_new(f->loop, steps, count);
    ev_timer_init(&f->guard, on_guard, GUARD_S, 0);
    f->guard.data = f;
    ev_timer_start(f->loop, &f->guard);
    buf_init(&f->log, 1 << 20);

    struct err err = {0};
    char *config = NULL;
    struct kube_client_config client_config = {.loop = f->loop,
                                               .kube_master_url = http_script_url(f->script)};
    if (f->token_path) {
        config = xasprintf("%s.config", f->token_path);
        CLEANUP_FREE char *text =
            xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],"
                      " clusters: [{name: k, cluster: {server: '%s'}}],"
                      " users: [{name: u, user: {tokenFile: '%s'}}]}",
                      http_script_url(f->script), f->token_path);
        file_from(config, text);
        client_config.kubecfg_file = config;
    }
    assert_that(kube_client_new(&client_config, &f->client, &err) >= 0, "%s", err.msg);
    if (config) {
        assert_int_equal(unlink(config), 0);
        free(config);
    }
    if (!f->has_event_lists) {
        kube_client_lacks_event_lists(f->client);
    }
    f->config.loop = f->loop;
    f->config.counts = &f->counts;
    f->config.client = f->client;
    f->config.timing = timing;
    f->config.list_begin = on_list_begin;
    f->config.upsert = on_upsert;
    f->config.remove = on_remove;
    f->config.list_end = on_list_end;
    f->config.settled = on_settled;
    f->config.bad = on_bad;
    f->config.state = on_state;
    f->config.data = f;
    f->reflector = reflector_start(&f->config);
    assert_int_equal(f->log.len, 0); /* no callback from inside the call */
}

static inline void finish(struct fixture *f)
{
    f->connections = http_script_connections(f->script);
    reflector_stop(f->reflector);
    kube_client_free(f->client);
    http_script_free(f->script);
    ev_timer_stop(f->loop, &f->guard);
    ev_loop_destroy(f->loop);
    buf_fini(&f->log);
}

/* Runs until the log is as long as wanted and every step was taken; both must match. */
static inline void run_with(struct fixture *f, const struct http_step *steps, size_t count,
                            const struct reflector_timing *timing)
{
    start(f, steps, count, timing);
    do {
        ev_run(f->loop, EVRUN_ONCE);
    } while (!http_script_problem(f->script) &&
             (f->log.len < strlen(f->want) || http_script_taken(f->script) < count));
    assert_that(!http_script_problem(f->script), "%s\nafter:\n%s", http_script_problem(f->script),
                buf_cstr(&f->log));
    assert_that(strcmp(buf_cstr(&f->log), f->want) == 0, "got:\n%swant:\n%s", buf_cstr(&f->log),
                f->want);
    finish(f);
}

static inline void run(const struct http_step *steps, size_t count, const char *want)
{
    struct fixture f = {.want = want};
    run_with(&f, steps, count, &quick);
}

/* ---- Steps ---- */

#define LIST    "GET /api/v1/services?limit=500 "
#define PAGE(t) "GET /api/v1/services?limit=500&continue=" t " "
#define WATCH(v)                                                                                   \
    "GET /api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=0&resourceVersion=" v \
    " "

#define OBJECT(name, version)                                                                 \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\",\"resourceVersion\":\"" version \
    "\"},\"spec\":{}}"
#define BROKEN(name, version)                                                                 \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\",\"resourceVersion\":\"" version \
    "\"},\"spec\":7}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) \
    EVENT("BOOKMARK", "{\"kind\":\"Service\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define STATUS(code, message) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"" message "\",\"code\":" code "}"

static inline struct http_step list_step(const char *request, const char *version,
                                         const char *token, const char *items)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"%s\","
                  "\"continue\":\"%s\"},\"items\":[%s]}\n",
                  version, token, items);
    return (struct http_step){.request = request, .reply = http_reply_body("200 OK", body)};
}

static inline struct http_step error_step(const char *request, const char *status, const char *body)
{
    return (struct http_step){.request = request, .reply = http_reply_body(status, body)};
}

/* lines end with NULL. */
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline struct http_step watch_step(const char *request, enum http_script_stream stream,
                                          const char *const *lines)
{
    return (struct http_step){.request = request, .reply = http_reply_stream(stream, lines)};
}

static inline struct http_step held_watch(const char *request)
{
    return watch_step(request, HTTP_STREAM_GOES_ON, (const char *const[]){NULL});
}

#endif
