#include "kube2sky/kube_client.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/http_client.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "kube2sky/kube_auth.h"
#include "kube2sky/kube_lines.h"

/* Each kind of object has a line here and its decoder in kube_object.h; nothing else in this file
 * knows one from another. */
static const struct {
    const char *path;
    const char *name;
} kinds[KUBE_KIND_COUNT] = {
    [KUBE_SERVICE] = {"/api/v1/services", "services"},
    [KUBE_ENDPOINTS] = {"/api/v1/endpoints", "endpoints"},
};

/* 500 Services are 1 MB and 500 Endpoints of a thousand addresses each, as many as Kubernetes puts
 * into one, 100 MB; a server that ignores `limit` sends 150,000 Services in this. */
enum { PAGE_BYTES_MAX = 256 * 1024 * 1024 };

/* Three times the longest continue token, which is all that may need escaping, and the rest. */
enum { QUERY_BYTES_MAX = 3 * KUBE_CONTINUE_MAX + 4096 };

/* The API server gives a list 60 s before it answers 504 itself. */
enum { LIST_SILENCE_MS = 65000 };

struct kube_client {
    struct http_client *http;
    struct kube_auth *auth;
    char *user_agent;
};

struct kube_request {
    struct kube_client *client;
    struct http_call *call;
    char *what; /* "GET https://.../api/v1/services", for messages */
    kube_page_cb on_page;
    struct kube_watch_callbacks watch;
    void *data;
    struct kube_lines lines;
    bool is_delivering; /* a callback is running: the request must outlive it */
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

const char *kube_client_server(const struct kube_client *client)
{
    return kube_auth_server(client->auth);
}

const char *kube_kind_name(enum kube_kind kind)
{
    return kinds[kind].name;
}

/* ---- Errors ---- */

static const char *status_text(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized: the credentials are missing, wrong or expired";
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

/* The first line of an answer that is no Status (a proxy's, say), as far as it is worth showing. */
static struct slice first_line(struct slice body)
{
    enum { SHOWN_BYTES = 160 };
    size_t len = 0;
    while (len < body.len && len < SHOWN_BYTES && body.ptr[len] >= ' ' && body.ptr[len] < 0x7f) {
        len++;
    }
    return slice_of(len ? body.ptr : "", len);
}

/* True, and *ret_err set, when the answer is not what was asked for. */
static bool is_error(const struct kube_request *request, const struct http_result *result,
                     struct err *ret_err)
{
    if (result->err.code == 0 && result->status == 200) {
        return false;
    }
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
    err_wrap(ret_err, ret_err->code, "%s", request->what);
    return true;
}

/* ---- Requests ---- */

static void free_request(struct kube_request *request)
{
    kube_lines_fini(&request->lines);
    free(request->what);
    free(request);
}

/* RFC 3986: all but unreserved characters. */
static void append_escaped(struct buf *out, const char *text)
{
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        if (strchr(unreserved, *text)) {
            buf_append_char(out, *text);
        } else {
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

static struct kube_request *new_request(struct kube_client *client, enum kube_kind kind, void *data)
{
    struct kube_request *request = xcalloc(1, sizeof(*request));
    request->client = client;
    request->what = xasprintf("GET %s%s", kube_client_server(client), kinds[kind].path);
    request->data = data;
    kube_lines_init(&request->lines);
    return request;
}

/* Everything but the URL's query and the callbacks is the same for lists and watches. */
static void start(struct kube_request *request, const char *query, struct http_call_config *config)
{
    struct kube_client *client = request->client;
    struct kube_credentials credentials = kube_auth_credentials(client->auth);
    CLEANUP_FREE char *url = xasprintf("%s?%s", request->what + strlen("GET "), query);
    config->url = url;
    config->accept = "application/json";
    config->user_agent = client->user_agent;
    config->bearer_token = credentials.bearer_token;
    config->username = credentials.username;
    config->password = credentials.password;
    config->proxy_url = credentials.proxy_url;
    config->tls = &credentials.tls;
    config->data = request;
    request->call = http_call_start(client->http, config);
}

static void on_list_end(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    struct err err;
    if (result->status == 401) {
        kube_auth_refused(request->client->auth);
    }
    if (is_error(request, result, &err)) {
        request->on_page(request->data, slice_of(NULL, 0), &err);
    } else {
        request->on_page(request->data, result->body, NULL);
    }
    free_request(request);
}

struct kube_request *kube_client_list(struct kube_client *client, enum kube_kind kind,
                                      const char *continue_token, kube_page_cb cb, void *data)
{
    struct kube_request *request = new_request(client, kind, data);
    struct http_call_config config = {
        .silence_ms = LIST_SILENCE_MS, .body_max = PAGE_BYTES_MAX, .on_end = on_list_end};
    struct buf query;
    request->on_page = cb;
    buf_init(&query, QUERY_BYTES_MAX);
    buf_printf(&query, "limit=%d", KUBE_PAGE_OBJECTS);
    if (*continue_token) {
        buf_append_str(&query, "&continue=");
        append_escaped(&query, continue_token);
    }
    start(request, buf_cstr(&query), &config);
    buf_fini(&query);
    return request;
}

/* ---- Watches ---- */

static void on_watch_open(void *data)
{
    struct kube_request *request = data;
    request->is_delivering = true;
    request->watch.on_open(request->data);
    request->is_delivering = false;
    if (request->is_canceled) {
        free_request(request);
    }
}

static void end_watch(struct kube_request *request, const struct err *err)
{
    request->watch.on_end(request->data, err);
    free_request(request);
}

static void on_watch_data(void *data, struct slice bytes)
{
    struct kube_request *request = data;
    struct slice line;
    kube_lines_push(&request->lines, bytes);
    request->is_delivering = true;
    while (!request->is_canceled && kube_lines_next(&request->lines, &line)) {
        request->watch.on_line(request->data, line);
    }
    request->is_delivering = false;
    if (request->is_canceled) {
        free_request(request);
    } else if (request->lines.failed) {
        struct err err = {0};
        err_set(&err, ERR_TOO_LARGE, "%s: an event is longer than %d bytes", request->what,
                KUBE_LINE_MAX);
        http_call_cancel(request->call);
        end_watch(request, &err);
    }
}

static void on_watch_end(void *data, const struct http_result *result)
{
    struct kube_request *request = data;
    struct err err;
    if (result->status == 401) {
        kube_auth_refused(request->client->auth);
    }
    end_watch(request, is_error(request, result, &err) ? &err : NULL);
}

struct kube_request *kube_client_watch(struct kube_client *client, enum kube_kind kind,
                                       const char *resource_version, int timeout_s,
                                       const struct kube_watch_callbacks *callbacks, void *data)
{
    struct kube_request *request = new_request(client, kind, data);
    struct http_call_config config = {
        .on_open = on_watch_open, .on_data = on_watch_data, .on_end = on_watch_end};
    struct buf query;
    request->watch = *callbacks;
    buf_init(&query, QUERY_BYTES_MAX);
    buf_printf(&query,
               "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=", timeout_s);
    append_escaped(&query, resource_version);
    start(request, buf_cstr(&query), &config);
    buf_fini(&query);
    return request;
}

void kube_request_cancel(struct kube_request *request)
{
    http_call_cancel(request->call);
    if (request->is_delivering) {
        request->is_canceled = true; /* freed behind the callback */
    } else {
        free_request(request);
    }
}
