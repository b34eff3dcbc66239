#include "kube2sky/api/kube_client.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/seeded_hash.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "common/http/http_client.h"
#include "common/http/http_fetch.h"
#include "kube2sky/api/kube_auth_internal.h"
#include "kube2sky/api/kube_frames_internal.h"

static const struct kube_resource resources[KUBE_KIND_COUNT] = {
    [KUBE_SERVICE] = {KUBE_SERVICE, "/api/v1", "services"},
    [KUBE_ENDPOINTS] = {KUBE_ENDPOINTS, "/api/v1", "endpoints"},
    [KUBE_SLICE] = {KUBE_SLICE, "/apis/discovery.k8s.io/v1", "endpointslices"},
    [KUBE_POD] = {KUBE_POD, "/api/v1", "pods"},
    [KUBE_CONFIG_MAP] = {KUBE_CONFIG_MAP, "/api/v1", "configmaps"},
    [KUBE_NODE] = {KUBE_NODE, "/api/v1", "nodes"},
    [KUBE_NAMESPACE] = {KUBE_NAMESPACE, "/api/v1", "namespaces"},
    [KUBE_INGRESS] = {KUBE_INGRESS, "/apis/networking.k8s.io/v1", "ingresses"},
    [KUBE_GATEWAY] = {KUBE_GATEWAY, "/apis/gateway.networking.k8s.io/v1", "gateways"},
    [KUBE_ROUTE] = {KUBE_ROUTE, "/apis/gateway.networking.k8s.io/v1", "httproutes"},
    [KUBE_IMPORT] = {KUBE_IMPORT, "/apis/multicluster.x-k8s.io/v1alpha1", "serviceimports"},
    [KUBE_IMPORT_SLICE] = {KUBE_IMPORT_SLICE, "/apis/discovery.k8s.io/v1", "endpointslices"},
};

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
#define JSON_TYPE     "application/json"

/* Room for three bytes per character that needs escaping, plus the rest. */
enum { QUERY_BYTES_MAX = 3 * (KUBE_CONTINUE_MAX + KUBE_SELECTOR_MAX + KUBE_VERSION_MAX) + 1024 };

/* Room for two paths, and some words. */
enum { TOLD_BYTES_MAX = 2 * PATH_MAX + 256 };

/* Outlasts the API server, which answers 504 to a list after 60 s. */
enum { LIST_SILENCE_MS = 65000 };

enum {
    EVENT_LIST_MAX_S = 600, /* all pods of a large cluster take seconds */
    EVENT_LISTS_AGAIN_MS = 3600 * 1000,
};

/* The path of a liveness question. Servers answer it without waiting for other requests (flow
 * schema "probes") or etcd, and to every account; a refusal would prove life, too. The response is
 * a word. */
#define QUESTION "/livez?exclude=etcd"
enum { ANSWER_BYTES_MAX = 64 * 1024 };

struct kube_client {
    struct ev_loop *loop;
    struct http_client *http; /* for all lists */
    struct kube_auth *auth;
    char *user_agent;
    int64_t event_lists_from_ms; /* no event list is requested before; 0: none was refused */
};

struct kube_request {
    struct kube_client *client;
    struct http_client *own; /* a watch's own client; NULL: the shared one is used */
    struct http_call *call;
    struct http_call *question; /* NULL: no question is under way */
    void (*answered)(void *data, bool is_there);
    char *what; /* "GET https://.../api/v1/services", for messages */
    const struct kube_resource *resource;
    struct kube_list_callbacks list;
    struct kube_list *objects; /* while a list arrives */
    struct kube_watch_callbacks watch;
    void (*written)(void *data, const struct kube_failure *failure);
    void *data;
    struct kube_frames frames;
    bool is_delivering; /* a callback is running: the request must not be freed */
    bool is_canceled;
};

int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
                    struct err *err)
{
    const struct kube_auth_source source = {
        .kubecfg_file = config->kubecfg_file,
        .kube_master_url = config->kube_master_url,
        .service_account_dir = config->service_account_dir,
    };
    struct kube_auth *auth = NULL;
    int rc = kube_auth_new(&source, &auth, err);
    if (rc < 0) {
        return rc;
    }
    struct kube_client *client = xcalloc(1, sizeof(*client));
    client->auth = auth;
    seeded_hash_init();
    client->loop = config->loop;
    client->http = http_client_new(config->loop);
    client->user_agent = xasprintf("kube2sky/%s", version_string);
    *ret_client = client;
    return 0;
}

void kube_client_free(struct kube_client *client)
{
    if (client) {
        http_client_free(client->http);
        kube_auth_free(client->auth);
        free(client->user_agent);
        free(client);
    }
}

void kube_client_reload(struct kube_client *client)
{
    kube_auth_refused(client->auth);
}

uint64_t kube_client_credentials_id(struct kube_client *client)
{
    struct kube_credentials now = kube_auth_credentials(client->auth);
    struct slice token = slice_str(now.bearer_token ? now.bearer_token : "");
    return seeded_hash64(token) + 3 * seeded_hash64(now.tls.ca) + 5 * seeded_hash64(now.tls.cert);
}

size_t kube_client_files(const struct kube_client *client,
                         const char *ret_paths[KUBE_CLIENT_FILES_MAX])
{
    return kube_auth_files(client->auth, ret_paths, KUBE_CLIENT_FILES_MAX);
}

const char *kube_client_server(const struct kube_client *client)
{
    return kube_auth_server(client->auth);
}

const char *kube_kind_name(enum kube_kind kind)
{
    return kind == KUBE_IMPORT_SLICE ? "imported-endpointslices" : resources[kind].name;
}

const struct kube_resource *kube_resource_of(enum kube_kind kind)
{
    return &resources[kind];
}

/* ---- Errors ---- */

static const char *status_text(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 410:
        return "Gone";
    case 429:
        return "Too Many Requests";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return "unexpected status";
    }
}

static int status_code(int status)
{
    switch (status) {
    case 401:
    case 403:
    case 404:
        return ERR_REFUSED;
    case 410:
        return ERR_COMPACTED;
    case 429:
        return ERR_UNAVAILABLE;
    default:
        return status >= 500 ? ERR_UNAVAILABLE : ERR_PROTOCOL;
    }
}

/* Returns the first line of a response without a Status (from a proxy, for example), truncated. */
static struct slice first_line(struct slice body)
{
    enum { SHOWN_BYTES = 160 };
    size_t len = 0;
    while (len < body.len && len < SHOWN_BYTES && body.ptr[len] >= ' ' && body.ptr[len] < 0x7f) {
        len++;
    }
    return slice_of(len ? body.ptr : "", len);
}

/* Adds the credentials sent or CAs trusted if the server, or we, rejected them. */
static void tell_credentials(const struct kube_client *client, const struct http_result *result,
                             struct buf *out)
{
    if (result->status == 401) {
        buf_append_str(out, "; sent: ");
        kube_auth_tell_identity(client->auth, out);
    } else if (result->err.code == ERR_REFUSED) {
        buf_append_str(out, "; trusted: ");
        kube_auth_tell_trust(client->auth, out);
        buf_append_str(out, "; sent: ");
        kube_auth_tell_identity(client->auth, out);
    }
}

static uint32_t retry_after_ms(const struct http_result *result)
{
    const uint32_t max_s = KUBE_RETRY_AFTER_MAX_MS / 1000;
    if (result->status != 429 && result->status != 503) {
        return 0;
    }
    return (result->retry_after_s < max_s ? result->retry_after_s : max_s) * 1000;
}

/* Returns true, with *ret_failure set, if the response is an error. One that denies our credentials
 * lets them be read again. */
static bool is_failure(const struct kube_request *request, const struct http_result *result,
                       struct kube_failure *ret_failure)
{
    struct err *ret_err = &ret_failure->err;
    struct buf told;
    bool is_done = result->status == 200 || (result->status == 201 && request->written);
    if (result->err.code == 0 && is_done) {
        return false;
    }
    if (result->status == 401) {
        kube_auth_refused(request->client->auth);
    }
    ret_failure->status = result->status;
    ret_failure->retry_after_ms = retry_after_ms(result);
    *ret_err = result->err;
    if (result->err.code == 0) {
        struct kube_status status = {0};
        struct slice said = first_line(result->body);
        if (kube_decode_status(result->body, &status)) {
            said = slice_str(status.message);
        }
        err_set(ret_err, status_code(result->status), "%d %s%s%.*s", result->status,
                status_text(result->status), said.len ? ": " : "", (int)said.len, said.ptr);
        kube_status_fini(&status);
    }
    buf_init(&told, TOLD_BYTES_MAX);
    tell_credentials(request->client, result, &told);
    CLEANUP_FREE char *reason = xasprintf("%s%s", ret_err->msg, buf_cstr(&told));
    err_set(ret_err, ret_err->code, "%s: %s", request->what, reason);
    buf_fini(&told);
    return true;
}

/* ---- Requests ---- */

static void free_request(struct kube_request *request)
{
    http_client_free(request->own);
    kube_frames_fini(&request->frames);
    kube_list_free(request->objects);
    free(request->what);
    free(request);
}

/* Returns `GET <URL>`, without the query. */
static char *what_is_asked(const struct kube_client *client, const struct kube_resource *resource,
                           const struct kube_scope *scope)
{
    struct buf ns;
    buf_init(&ns, 3 * KUBE_SELECTOR_MAX);
    if (*scope->ns) {
        buf_append_str(&ns, "/namespaces/");
        http_fetch_append_value(&ns, scope->ns);
    }
    char *what = xasprintf("GET %s%s%s/%s", kube_client_server(client), resource->group_path,
                           buf_cstr(&ns), resource->name);
    buf_fini(&ns);
    return what;
}

static void append_selector(struct buf *query, const struct kube_scope *scope)
{
    if (*scope->label_selector) {
        buf_append_str(query, "&labelSelector=");
        http_fetch_append_value(query, scope->label_selector);
    }
    if (scope->object) {
        buf_append_str(query, "&fieldSelector=metadata.name%3D");
        http_fetch_append_value(query, scope->object);
    }
}

static struct kube_request *new_request(struct kube_client *client,
                                        const struct kube_resource *resource,
                                        const struct kube_scope *scope, void *data)
{
    struct kube_request *request = xcalloc(1, sizeof(*request));
    request->client = client;
    request->resource = resource;
    request->what = what_is_asked(client, resource, scope);
    request->data = data;
    kube_frames_init(&request->frames, KUBE_JSON);
    return request;
}

static struct http_call *kube_client_call(struct kube_request *request, const char *url,
                                          struct http_call_config *config)
{
    struct kube_client *client = request->client;
    struct kube_credentials credentials = kube_auth_credentials(client->auth);
    config->url = url;
    config->wants_http2 = request->own != NULL;
    config->user_agent = client->user_agent;
    config->bearer_token = credentials.bearer_token;
    config->username = credentials.username;
    config->password = credentials.password;
    config->proxy_url = credentials.proxy_url;
    config->tls = &credentials.tls;
    config->data = request;
    return http_call_start(request->own ? request->own : client->http, config);
}

/* Starts a request: lists and watches differ only in the URL's query and the callbacks. */
static void kube_client_start(struct kube_request *request, const char *query,
                              struct http_call_config *config)
{
    CLEANUP_FREE char *url = xasprintf("%s?%s", request->what + strlen("GET "), query);
    request->call = kube_client_call(request, url, config);
}

static bool has_protobuf(const struct kube_resource *resource)
{
    return (int)resource->kind < (int)KUBE_PROTOBUF_KIND_COUNT;
}

/* Finds the encoding that the response's Content-Type names. */
static int find_encoding(const struct kube_request *request, enum kube_encoding *ret_encoding,
                         struct err *err)
{
    const char *type = http_call_content_type(request->call);
    struct slice media = slice_of(type, strcspn(type, "; "));
    if (slice_equal(media, slice_str(PROTOBUF_TYPE))) {
        *ret_encoding = KUBE_PROTOBUF;
    } else if (slice_equal(media, slice_str(JSON_TYPE))) {
        *ret_encoding = KUBE_JSON;
    } else {
        return err_set(err, ERR_PROTOCOL,
                       "%s: the response's Content-Type is `%.100s`: expected " PROTOBUF_TYPE
                       " or " JSON_TYPE,
                       request->what, type);
    }
    return 0;
}

static void kube_client_end_list(struct kube_request *request, struct kube_list_meta *meta,
                                 const struct kube_failure *failure)
{
    request->list.on_end(request->data, meta, failure);
    free_request(request);
}

/* Ends a callback, which may have cancelled the request. */
static void end_delivery(struct kube_request *request)
{
    request->is_delivering = false;
    if (request->is_canceled) {
        free_request(request);
    }
}

static void on_list_object(void *data, struct kube_object *object)
{
    struct kube_request *request = data;
    if (request->list.on_object && !request->is_canceled) {
        request->list.on_object(request->data, object);
    } else {
        kube_object_free(object);
    }
}

static void on_list_bad_object(void *data, const struct err *err)
{
    struct kube_request *request = data;
    if (request->list.on_bad && !request->is_canceled) {
        request->list.on_bad(request->data, err);
    }
}

static void kube_client_on_list_open(void *data)
{
    struct kube_request *request = data;
    enum kube_encoding encoding;
    struct kube_failure failure = {.status = 200};
    if (find_encoding(request, &encoding, &failure.err) < 0) {
        http_call_cancel(request->call);
        kube_client_end_list(request, NULL, &failure);
        return;
    }
    request->objects = kube_list_new(encoding, request->resource->kind, on_list_object,
                                     on_list_bad_object, request);
    if (request->list.on_open) {
        request->is_delivering = true;
        request->list.on_open(request->data);
        end_delivery(request);
    }
}

/* Ends a response that is no list. */
static void end_bad_list(struct kube_request *request, struct kube_failure *bad)
{
    err_wrap(&bad->err, bad->err.code, "%s", request->resource->name);
    kube_client_end_list(request, NULL, bad);
}

static void on_list_data(void *data, struct slice bytes)
{
    struct kube_request *request = data;
    struct kube_failure bad = {0};
    request->is_delivering = true;
    int r = kube_list_push(request->objects, bytes, &bad.err);
    request->is_delivering = false;
    if (request->is_canceled) {
        free_request(request);
    } else if (r < 0) {
        http_call_cancel(request->call);
        end_bad_list(request, &bad);
    }
}

static void kube_client_on_list_end(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    struct kube_failure failure = {0};
    if (is_failure(request, result, &failure)) {
        kube_client_end_list(request, NULL, &failure);
        return;
    }
    struct kube_list_meta meta = {0};
    if (kube_list_end(request->objects, &meta, &failure.err) < 0) {
        end_bad_list(request, &failure);
    } else {
        kube_client_end_list(request, &meta, NULL);
        kube_list_meta_fini(&meta);
    }
}

static const char *accepted_list(const struct kube_resource *resource)
{
    return has_protobuf(resource) ? PROTOBUF_TYPE ", " JSON_TYPE : JSON_TYPE;
}

struct kube_request *kube_client_list(struct kube_client *client,
                                      const struct kube_resource *resource,
                                      const struct kube_scope *scope, int limit,
                                      const char *continue_token,
                                      const struct kube_list_callbacks *callbacks, void *data)
{
    struct kube_request *request = new_request(client, resource, scope, data);
    struct http_call_config config = {.accept = accepted_list(resource),
                                      .silence_ms = LIST_SILENCE_MS,
                                      .on_open = kube_client_on_list_open,
                                      .on_data = on_list_data,
                                      .on_end = kube_client_on_list_end};
    struct buf query;
    request->list = *callbacks;
    buf_init(&query, QUERY_BYTES_MAX);
    buf_printf(&query, "limit=%d", limit);
    append_selector(&query, scope);
    if (*continue_token) {
        buf_append_str(&query, "&continue=");
        http_fetch_append_value(&query, continue_token);
    }
    kube_client_start(request, buf_cstr(&query), &config);
    buf_fini(&query);
    return request;
}

/* ---- Watches ---- */

static void end_watch(struct kube_request *request, const struct kube_failure *failure)
{
    request->watch.on_end(request->data, failure);
    free_request(request);
}

static void kube_client_on_watch_open(void *data)
{
    struct kube_request *request = data;
    struct kube_failure failure = {.status = 200};
    if (find_encoding(request, &request->frames.encoding, &failure.err) < 0) {
        http_call_cancel(request->call);
        end_watch(request, &failure);
        return;
    }
    request->is_delivering = true;
    request->watch.on_open(request->data);
    end_delivery(request);
}

static void on_watch_data(void *data, struct slice bytes)
{
    struct kube_request *request = data;
    struct slice frame;
    kube_frames_push(&request->frames, bytes);
    request->is_delivering = true;
    while (!request->is_canceled && kube_frames_next(&request->frames, &frame)) {
        request->watch.on_frame(request->data, request->frames.encoding, frame);
    }
    request->is_delivering = false;
    if (request->is_canceled) {
        free_request(request);
    } else if (request->frames.failed) {
        struct kube_failure failure = {.status = 200};
        err_set(&failure.err, ERR_TOO_LARGE, "%s: an event is longer than %d bytes", request->what,
                KUBE_FRAME_MAX);
        http_call_cancel(request->call);
        end_watch(request, &failure);
    }
}

static void kube_client_on_watch_end(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    struct kube_failure failure = {0};
    end_watch(request, is_failure(request, result, &failure) ? &failure : NULL);
}

static void start_watch(struct kube_request *request, const char *query, uint32_t silence_ms,
                        const struct kube_watch_callbacks *callbacks)
{
    struct http_call_config config = {.accept = has_protobuf(request->resource) ? PROTOBUF_TYPE
                                                    ";stream=watch, " JSON_TYPE
                                                                                : JSON_TYPE,
                                      .silence_ms = silence_ms,
                                      .on_open = kube_client_on_watch_open,
                                      .on_data = on_watch_data,
                                      .on_end = kube_client_on_watch_end};
    request->watch = *callbacks;
    kube_client_start(request, query, &config);
}

struct kube_request *kube_client_watch(struct kube_client *client,
                                       const struct kube_resource *resource,
                                       const struct kube_scope *scope, const char *resource_version,
                                       int timeout_s, const struct kube_watch_callbacks *callbacks,
                                       void *data)
{
    struct kube_request *request = new_request(client, resource, scope, data);
    struct buf query;
    request->own = http_client_new(client->loop);
    buf_init(&query, QUERY_BYTES_MAX);
    buf_printf(&query,
               "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=", timeout_s);
    http_fetch_append_value(&query, resource_version);
    append_selector(&query, scope);
    start_watch(request, buf_cstr(&query), 0, callbacks);
    buf_fini(&query);
    return request;
}

struct kube_request *kube_client_list_events(struct kube_client *client,
                                             const struct kube_resource *resource,
                                             const struct kube_scope *scope,
                                             const struct kube_watch_callbacks *callbacks,
                                             void *data)
{
    struct kube_request *request = new_request(client, resource, scope, data);
    struct buf query;
    buf_init(&query, QUERY_BYTES_MAX);
    buf_printf(&query,
               "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
               "&allowWatchBookmarks=true&timeoutSeconds=%d",
               EVENT_LIST_MAX_S);
    append_selector(&query, scope);
    start_watch(request, buf_cstr(&query), LIST_SILENCE_MS, callbacks);
    buf_fini(&query);
    return request;
}

bool kube_client_has_event_lists(const struct kube_client *client)
{
    return clock_monotonic_ms() >= client->event_lists_from_ms;
}

void kube_client_lacks_event_lists(struct kube_client *client)
{
    client->event_lists_from_ms = clock_monotonic_ms() + EVENT_LISTS_AGAIN_MS;
}

/* ---- Writes ---- */

static void on_write_end(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    struct kube_failure failure = {0};
    request->written(request->data, is_failure(request, result, &failure) ? &failure : NULL);
    free_request(request);
}

struct kube_request *kube_client_write(struct kube_client *client, const struct kube_write *write,
                                       void (*on_end)(void *data,
                                                      const struct kube_failure *failure),
                                       void *data)
{
    bool is_new = write->verb == KUBE_CREATE;
    const char *method = is_new ? "POST" : "PATCH";
    struct kube_request *request = xcalloc(1, sizeof(*request));
    struct http_call_config config = {.method = method,
                                      .body = write->json,
                                      .content_type =
                                          is_new ? JSON_TYPE : "application/merge-patch+json",
                                      .accept = JSON_TYPE,
                                      .silence_ms = LIST_SILENCE_MS,
                                      .body_max = ANSWER_BYTES_MAX,
                                      .on_end = on_write_end};
    request->client = client;
    request->what = xasprintf("%s %s%s", method, kube_client_server(client), write->path);
    request->written = on_end;
    request->data = data;
    kube_frames_init(&request->frames, KUBE_JSON);
    request->call = kube_client_call(request, request->what + strlen(method) + 1, &config);
    return request;
}

/* ---- Questions ---- */

static void kube_client_on_answer(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    request->question = NULL;
    request->answered(request->data, result->err.code == 0 && result->was_shared);
}

bool kube_request_ask(struct kube_request *watch, void (*answered)(void *data, bool is_there))
{
    struct http_call_config config = {.body_max = ANSWER_BYTES_MAX,
                                      .on_end = kube_client_on_answer};
    if (!http_call_has_http2(watch->call)) {
        return false;
    }
    assert(!watch->question);
    CLEANUP_FREE char *url = xasprintf("%s" QUESTION, kube_client_server(watch->client));
    watch->answered = answered;
    watch->question = kube_client_call(watch, url, &config);
    return true;
}

void kube_request_cancel(struct kube_request *request)
{
    http_call_cancel(request->call);
    if (request->question) {
        http_call_cancel(request->question);
    }
    if (request->is_delivering) {
        request->is_canceled = true; /* is freed after the callback */
    } else {
        free_request(request);
    }
}
