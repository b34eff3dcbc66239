#include "common/http_client.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/addr.h"
#include "common/buf.h"
#include "common/xalloc.h"

enum {
    CONNECT_TIMEOUT_MS = 10000, /* with name look-up and TLS handshake; far away is 1 s */
    /* One read's worth: a page of a list in some tens of callbacks, 64 KiB held by each call. */
    RECEIVE_BUFFER_BYTES = 64 * 1024,
    /* A dead peer is noticed after 15 + 3 * 5 = 30 s, idle or with data in flight. */
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
    KEEPALIVE_PROBES = 3,
    UNACKED_MS = 30000,
};

struct http_client {
    struct ev_loop *loop;
    CURLM *multi;
    ev_timer timer;
    struct http_call *calls; /* doubly linked, newest first */
    bool is_in_curl;         /* libcurl is running: handles may not be removed now */
};

/* The watcher of one of libcurl's sockets. */
struct socket_watch {
    ev_io io;
    struct http_client *client;
};

struct http_call {
    struct http_client *client;
    struct http_call *next;
    struct http_call *prev;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char curl_message[CURL_ERROR_SIZE];
    ev_timer silence; /* repeat = silence_ms; 0 = never started */
    uint32_t silence_ms;
    struct buf body;
    size_t body_max;
    bool is_added; /* libcurl has it */
    bool is_canceled;
    void (*on_open)(void *data);
    void (*on_data)(void *data, struct slice bytes);
    void (*on_end)(void *data, const struct http_result *result);
    void *data;
};

/* ---- The end of a call ---- */

static void unlink_call(struct http_call *call)
{
    if (call->prev) {
        call->prev->next = call->next;
    } else {
        call->client->calls = call->next;
    }
    if (call->next) {
        call->next->prev = call->prev;
    }
}

static void free_call(struct http_call *call)
{
    ev_timer_stop(call->client->loop, &call->silence);
    unlink_call(call);
    if (call->is_added) {
        (void)curl_multi_remove_handle(call->client->multi, call->easy); /* it is in there */
    }
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    buf_fini(&call->body);
    free(call);
}

static int status_of(const struct http_call *call)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status); /* 0 = none yet */
    return (int)status;
}

static const char *system_reason(const struct http_call *call, const char *otherwise)
{
    long number = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number); /* 0 = not known */
    return number > 0 ? strerror((int)number) : otherwise;
}

/* libcurl's own message where it is about certificates; elsewhere ours, since it puts times and
 * byte counts into its own, and the same failure should read the same each time. */
static void explain(const struct http_call *call, CURLcode code, struct err *err)
{
    const char *said = *call->curl_message ? call->curl_message : curl_easy_strerror(code);
    switch (code) {
    case CURLE_OK:
        break;
    case CURLE_COULDNT_CONNECT:
        err_set(err, ERR_UNAVAILABLE, "cannot connect: %s",
                system_reason(call, "no address answers"));
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        err_set(err, ERR_UNAVAILABLE, "cannot connect: the host name is not found");
        break;
    case CURLE_OPERATION_TIMEDOUT:
        err_set(err, ERR_TIMEOUT, "no connection within %d s", CONNECT_TIMEOUT_MS / 1000);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        err_set(err, ERR_UNAVAILABLE, "the connection was closed in the middle of the answer");
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        err_set(err, ERR_UNAVAILABLE, "the connection was lost: %s",
                system_reason(call, curl_easy_strerror(code)));
        break;
    case CURLE_WRITE_ERROR:
        err_set(err, ERR_TOO_LARGE, "the answer is longer than %zu bytes", call->body_max);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        err_set(err, ERR_REFUSED, "TLS: %s", said);
        break;
    default:
        err_set(err, ERR_PROTOCOL, "%s", said);
        break;
    }
}

static void finish(struct http_call *call, const struct err *err)
{
    if (!call->is_canceled) {
        struct http_result result = {
            .status = status_of(call), .body = buf_slice(&call->body), .err = *err};
        call->on_end(call->data, &result);
    }
    free_call(call);
}

static void add_to_curl(struct http_call *call)
{
    call->is_added = true;
    (void)curl_multi_add_handle(call->client->multi, call->easy); /* it is in no other */
}

/* What was cancelled or started while libcurl was running, and what has ended. on_end may start
 * calls and cancel others; libcurl forgets the message of a handle that is removed. */
static void after_curl(struct http_client *client)
{
    int left;
    CURLMsg *message;
    for (struct http_call *call = client->calls, *next; call; call = next) {
        next = call->next;
        if (call->is_canceled) {
            free_call(call);
        } else if (!call->is_added) {
            add_to_curl(call);
        }
    }
    while ((message = curl_multi_info_read(client->multi, &left))) {
        char *owner = NULL;
        struct err err = {0};
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner); /* set at start */
        struct http_call *call = (struct http_call *)(void *)owner;
        explain(call, message->data.result, &err);
        finish(call, &err);
    }
}

static void run_curl(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    client->is_in_curl = true;
    (void)curl_multi_socket_action(client->multi, fd, events, &running); /* each call has its own */
    client->is_in_curl = false;
    after_curl(client);
}

/* ---- libcurl on the loop ---- */

static void on_socket_ready(struct ev_loop *loop, ev_io *w, int revents)
{
    struct socket_watch *watch = w->data;
    (void)loop;
    run_curl(watch->client, w->fd,
             (revents & EV_READ ? CURL_CSELECT_IN : 0) |
                 (revents & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    run_curl(w->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_want_timer(CURLM *multi, long timeout_ms, void *user)
{
    struct http_client *client = user;
    (void)multi;
    ev_timer_stop(client->loop, &client->timer);
    if (timeout_ms >= 0) {
        ev_timer_set(&client->timer, (double)timeout_ms / 1000, 0);
        ev_timer_start(client->loop, &client->timer);
    }
    return 0;
}

static int on_want_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    struct http_client *client = user;
    struct socket_watch *watch = socket_user;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch) {
            ev_io_stop(client->loop, &watch->io);
            free(watch);
            (void)curl_multi_assign(client->multi, fd, NULL); /* the socket is known */
        }
        return 0;
    }
    if (!watch) {
        watch = xcalloc(1, sizeof(*watch));
        watch->client = client;
        ev_io_init(&watch->io, on_socket_ready, fd, 0);
        watch->io.data = watch;
        (void)curl_multi_assign(client->multi, fd, watch); /* the socket is known */
    }
    ev_io_stop(client->loop, &watch->io);
    ev_io_set(&watch->io, fd,
              (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));
    ev_io_start(client->loop, &watch->io);
    return 0;
}

static int on_new_socket(void *user, curl_socket_t fd, curlsocktype purpose)
{
    static const struct {
        int option, value;
    } options[] = {
        {TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {TCP_KEEPCNT, KEEPALIVE_PROBES},
        {TCP_USER_TIMEOUT, UNACKED_MS},
    };
    const int on = 1;
    (void)user;
    (void)purpose;
    /* Without them a dead peer is noticed later: no reason to do without the connection. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        (void)setsockopt(fd, IPPROTO_TCP, options[i].option, &options[i].value,
                         sizeof(options[i].value));
    }
    return CURL_SOCKOPT_OK;
}

struct http_client *http_client_new(struct ev_loop *loop)
{
    struct http_client *client = xcalloc(1, sizeof(*client));
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, xrealloc, xstrdup, xcalloc) ||
        !(client->multi = curl_multi_init())) {
        xalloc_out_of_memory(); /* the only way either fails */
    }
    client->loop = loop;
    ev_timer_init(&client->timer, on_timer, 0, 0);
    client->timer.data = client;
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_want_socket);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_want_timer);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client) {
        return;
    }
    while (client->calls) {
        free_call(client->calls);
    }
    (void)curl_multi_cleanup(client->multi); /* no handle is left in it */
    ev_timer_stop(client->loop, &client->timer);
    curl_global_cleanup();
    free(client);
}

/* ---- The answer ---- */

static void hear(struct http_call *call)
{
    if (call->silence_ms) {
        ev_timer_again(call->client->loop, &call->silence);
    }
}

/* After the sockets of the same turn of the loop: a byte that has come while the process was
 * stopped counts. */
static void on_silence(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct http_call *call = w->data;
    struct err err = {0};
    (void)loop;
    (void)revents;
    err_set(&err, ERR_TIMEOUT, "nothing heard for %u s", (unsigned)(call->silence_ms / 1000));
    finish(call, &err);
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    struct http_call *call = user;
    size_t len = size * count;
    hear(call);
    bool is_last = len <= 2 && (len == 0 || line[0] == '\r' || line[0] == '\n');
    if (is_last && call->on_open && !call->is_canceled && status_of(call) == 200) {
        call->on_open(call->data);
    }
    return call->is_canceled ? 0 : len;
}

/* Returning less than len makes libcurl end the call with CURLE_WRITE_ERROR. */
static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct http_call *call = user;
    size_t len = size * count;
    bool is_success = status_of(call) == 200;
    if (call->is_canceled) {
        return 0;
    }
    hear(call);
    if (is_success && call->on_data) {
        call->on_data(call->data, slice_of(bytes, len));
        return call->is_canceled ? 0 : len;
    }
    call->body.limit = is_success ? call->body_max : HTTP_ERROR_BODY_MAX;
    buf_append(&call->body, bytes, len);
    return is_success && call->body.failed ? 0 : len;
}

/* ---- The request ---- */

/* Setting an option fails only without memory, or for a string of 8 MB, which no caller has. */
static void require(CURLcode code)
{
    if (code != CURLE_OK) {
        xalloc_out_of_memory();
    }
}

static void add_header(struct http_call *call, const char *name, const char *value)
{
    if (value) {
        char *line = xasprintf("%s: %s", name, value);
        call->headers = curl_slist_append(call->headers, line);
        free(line);
    }
}

static void set_blob(CURL *easy, CURLoption option, struct slice text)
{
    char *bytes = xstrndup(text.ptr, text.len);
    struct curl_blob blob = {.data = bytes, .len = text.len, .flags = CURL_BLOB_COPY};
    require(curl_easy_setopt(easy, option, &blob));
    free(bytes);
}

static char *url_part(const char *url, CURLUPart part)
{
    CURLU *parsed = curl_url();
    char *text = NULL;
    if (!parsed || curl_url_set(parsed, CURLUPART_URL, url, 0) ||
        curl_url_get(parsed, part, &text, CURLU_DEFAULT_PORT)) {
        text = NULL;
    }
    curl_url_cleanup(parsed);
    return text;
}

/* libcurl takes the name to verify from the URL: so the URL gets that name, the connection goes to
 * the real host, and the Host header says what it would have said. Returns the URL (owned). */
static char *rename_host(struct http_call *call, const char *url, const char *server_name)
{
    CURLU *parsed = curl_url();
    char *host = url_part(url, CURLUPART_HOST);
    char *port = url_part(url, CURLUPART_PORT);
    char *renamed = NULL;
    if (!parsed || !host || !port || curl_url_set(parsed, CURLUPART_URL, url, 0) ||
        curl_url_set(parsed, CURLUPART_HOST, server_name, 0) ||
        curl_url_get(parsed, CURLUPART_URL, &renamed, 0)) {
        renamed = xstrdup(url); /* no URL: libcurl says so when it runs */
    } else {
        char *to = xasprintf("::%s:%s", host, port);
        char *authority = xasprintf("%s:%s", host, port);
        call->connect_to = curl_slist_append(NULL, to);
        add_header(call, "Host", authority);
        require(curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to));
        free(authority);
        free(to);
    }
    curl_url_cleanup(parsed);
    free(host);
    free(port);
    return renamed;
}

static void set_tls(struct http_call *call, const struct http_tls *tls)
{
    CURL *easy = call->easy;
    require(curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2));
    if (!tls) {
        return;
    }
    if (tls->ca.len) {
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca);
        /* Else the system's folder of authorities is trusted beside it. */
        require(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL));
    }
    if (tls->cert.len) {
        set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key);
    }
    if (tls->is_unverified) {
        require(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L));
        require(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L));
    }
}

static void set_url(struct http_call *call, const struct http_call_config *config)
{
    const char *server_name = config->tls ? config->tls->server_name : NULL;
    if (server_name && *server_name) {
        char *url = rename_host(call, config->url, server_name);
        require(curl_easy_setopt(call->easy, CURLOPT_URL, url));
        free(url);
    } else {
        require(curl_easy_setopt(call->easy, CURLOPT_URL, config->url));
    }
}

static bool is_loopback(const char *url)
{
    char *host = url_part(url, CURLUPART_HOST);
    struct slice name = slice_str(host ? host : "");
    struct ip ip = {0};
    if (name.len > 2 && name.ptr[0] == '[') {
        name = slice_of(name.ptr + 1, name.len - 2);
    }
    bool result = slice_equal(name, slice_str("localhost"));
    if (ip_parse(name, &ip)) {
        result = ip.family_bytes == 4 ? ip.bytes[0] == 127
                                      : memcmp(ip.bytes, &in6addr_loopback, 16) == 0;
    }
    free(host);
    return result;
}

static void set_proxy(struct http_call *call, const struct http_call_config *config)
{
    if (config->proxy_url) {
        require(curl_easy_setopt(call->easy, CURLOPT_PROXY, config->proxy_url));
    } else if (is_loopback(config->url)) {
        require(curl_easy_setopt(call->easy, CURLOPT_PROXY, ""));
    }
    require(curl_easy_setopt(call->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L));
}

static void set_credentials(struct http_call *call, const struct http_call_config *config)
{
    if (config->bearer_token) {
        char *value = xasprintf("Bearer %s", config->bearer_token);
        add_header(call, "Authorization", value);
        free(value);
    } else if (config->username) {
        require(curl_easy_setopt(call->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC));
        require(curl_easy_setopt(call->easy, CURLOPT_USERNAME, config->username));
        require(curl_easy_setopt(call->easy, CURLOPT_PASSWORD,
                                 config->password ? config->password : ""));
    }
}

static void set_transfer(struct http_call *call)
{
    CURL *easy = call->easy;
    require(curl_easy_setopt(easy, CURLOPT_PRIVATE, call));
    require(curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_message));
    require(curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https"));
    require(curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1));
    require(curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER_BYTES));
    require(curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS));
    /* A look-up that hangs is left to its thread when the call ends, not waited for. */
    require(curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L));
    require(curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket));
    require(curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header));
    require(curl_easy_setopt(easy, CURLOPT_HEADERDATA, call));
    require(curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body));
    require(curl_easy_setopt(easy, CURLOPT_WRITEDATA, call));
}

struct http_call *http_call_start(struct http_client *client, const struct http_call_config *config)
{
    struct http_call *call = xcalloc(1, sizeof(*call));
    call->client = client;
    call->easy = curl_easy_init();
    call->silence_ms = config->silence_ms;
    call->body_max = config->body_max;
    call->on_open = config->on_open;
    call->on_data = config->on_data;
    call->on_end = config->on_end;
    call->data = config->data;
    buf_init(&call->body, config->body_max);
    if (!call->easy) {
        xalloc_out_of_memory();
    }
    set_transfer(call);
    set_url(call, config);
    set_proxy(call, config);
    set_tls(call, config->tls);
    set_credentials(call, config);
    add_header(call, "Accept", config->accept);
    add_header(call, "User-Agent", config->user_agent);
    require(curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers));

    call->next = client->calls;
    if (call->next) {
        call->next->prev = call;
    }
    client->calls = call;
    ev_timer_init(&call->silence, on_silence, 0, (double)config->silence_ms / 1000);
    ev_set_priority(&call->silence, EV_MINPRI);
    call->silence.data = call;
    hear(call);
    if (!client->is_in_curl) {
        add_to_curl(call); /* else after_curl does */
    }
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call->client->is_in_curl) {
        call->is_canceled = true; /* after_curl frees it */
        ev_timer_stop(call->client->loop, &call->silence);
    } else {
        free_call(call);
    }
}

int http_url_base(const char *text, char **ret_url, struct err *err)
{
    char *scheme = url_part(text, CURLUPART_SCHEME);
    char *host = url_part(text, CURLUPART_HOST);
    char *user = url_part(text, CURLUPART_USER);
    char *query = url_part(text, CURLUPART_QUERY);
    const char *authority = strstr(text, "://");
    /* libcurl takes a third slash for a slip; here it is a host that was left out. */
    bool ok = scheme && host && *host && !user && !query && authority && authority[3] != '/' &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    free(scheme);
    free(host);
    free(user);
    free(query);
    if (!ok) {
        return err_set(err, ERR_USAGE,
                       "`%s` is no URL of a server; expected http://HOST:PORT or "
                       "https://HOST:PORT, without user or query",
                       text);
    }
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '/') {
        len--;
    }
    *ret_url = xstrndup(text, len);
    return 0;
}
