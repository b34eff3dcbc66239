#include "common/http/http_transfer_internal.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/http/http_url.h"

enum {
    CONNECT_TIMEOUT_MS = 10000, /* with name lookup and TLS handshake; 1 s to a distant server */
    /* Sizes a read: a list page takes a few dozen callbacks, and each call holds 64 KiB. */
    RECEIVE_BUFFER_BYTES = 64 * 1024,
    /* Detect a dead peer after 15 + 3 * 5 = 30 s, idle or with data in flight. */
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
    KEEPALIVE_PROBES = 3,
    UNACKED_MS = 30000,
};

_Static_assert(HTTP_TRANSFER_MESSAGE_BYTES >= CURL_ERROR_SIZE, "libcurl fills in as much");

/* Requires that an option is set: that fails only for lack of memory or for a string of 8 MB, which
 * no caller passes. */
static void http_transfer_require(CURLcode code)
{
    if (code != CURLE_OK) {
        xalloc_out_of_memory();
    }
}

static int on_new_socket(void *user UNUSED, curl_socket_t fd, curlsocktype purpose UNUSED)
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
    /* Failure is ignored: a dead peer is then detected later, which is no reason to give up the
     * connection. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        (void)setsockopt(fd, IPPROTO_TCP, options[i].option, &options[i].value,
                         sizeof(options[i].value));
    }
    return CURL_SOCKOPT_OK;
}

static void add_header(struct http_transfer *transfer, const char *name, const char *value)
{
    if (value) {
        CLEANUP_FREE char *line = xasprintf("%s: %s", name, value);
        transfer->headers = curl_slist_append(transfer->headers, line);
    }
}

/* ---- Where to connect ---- */

/* Gives the URL the name that is verified, since libcurl takes it from there. The connection goes
 * to the real host, and the Host header has the original name. */
static void rename_host(struct http_transfer *transfer, const char *url, const char *server_name)
{
    CLEANUP_FREE char *authority = http_url_authority(url);
    CLEANUP_FREE char *renamed = http_url_with_host(url, server_name);
    if (!authority || !renamed) {
        http_transfer_require(
            curl_easy_setopt(transfer->easy, CURLOPT_URL, url)); /* fails when it runs */
        return;
    }
    CLEANUP_FREE char *to = xasprintf("::%s", authority);
    transfer->connect_to = curl_slist_append(NULL, to);
    add_header(transfer, "Host", authority);
    http_transfer_require(
        curl_easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, transfer->connect_to));
    http_transfer_require(curl_easy_setopt(transfer->easy, CURLOPT_URL, renamed));
}

static void set_url(struct http_transfer *transfer, const struct http_call_config *config)
{
    const char *server_name = config->tls ? config->tls->server_name : NULL;
    if (server_name && *server_name && http_url_is_https(config->url)) {
        rename_host(transfer, config->url, server_name);
    } else {
        http_transfer_require(curl_easy_setopt(transfer->easy, CURLOPT_URL, config->url));
    }
}

static void set_proxy(struct http_transfer *transfer, const struct http_call_config *config)
{
    CURL *easy = transfer->easy;
    if (config->proxy_url) {
        transfer->proxy = http_url_shown(config->proxy_url);
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROXY, config->proxy_url));
        http_transfer_require(
            curl_easy_setopt(easy, CURLOPT_NOPROXY, "")); /* else the environment's */
    } else if (http_url_is_loopback(config->url)) {
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROXY, ""));
    }
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L));
    /* Withholds the server's headers from the proxy. */
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE));
}

/* ---- Credentials ---- */

static void set_blob(CURL *easy, CURLoption option, struct slice text)
{
    CLEANUP_FREE char *bytes = xstrndup(text.ptr, text.len);
    struct curl_blob blob = {.data = bytes, .len = text.len, .flags = CURL_BLOB_COPY};
    http_transfer_require(curl_easy_setopt(easy, option, &blob));
}

/* Verifies the server and, with the same CAs, a proxy reached over TLS. */
static void set_verification(CURL *easy, const struct http_tls *tls)
{
    if (tls->ca.len) {
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca);
        set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, tls->ca);
        /* Otherwise the system's CA directory is trusted as well. */
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, NULL));
    }
    if (tls->is_unverified) {
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 0L));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 0L));
    }
}

static void set_tls(CURL *easy, const struct http_tls *tls)
{
    http_transfer_require(
        curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2));
    http_transfer_require(
        curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2));
    if (tls) {
        set_verification(easy, tls);
    }
    if (tls && tls->cert.len) {
        set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key);
        /* An encrypted key fails instead of prompting on the terminal. */
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_KEYPASSWD, ""));
    }
}

static void set_credentials(struct http_transfer *transfer, const struct http_call_config *config)
{
    CURL *easy = transfer->easy;
    if (config->bearer_token) {
        CLEANUP_FREE char *value = xasprintf("Bearer %s", config->bearer_token);
        add_header(transfer, "Authorization", value);
    } else if (config->username) {
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_USERNAME, config->username));
        http_transfer_require(
            curl_easy_setopt(easy, CURLOPT_PASSWORD, config->password ? config->password : ""));
    }
}

static void set_transport(struct http_transfer *transfer, struct http_call *call)
{
    CURL *easy = transfer->easy;
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_PRIVATE, call));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->message));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https"));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER_BYTES));
    http_transfer_require(
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS));
    /* Leaves a hanging lookup to its thread when the call ends. */
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_client_on_header));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_HEADERDATA, call));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_client_on_body));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_WRITEDATA, call));
}

/* Sets the HTTP version. With HTTP/2, PIPEWAIT waits for a connection that can be shared, if one is
 * being opened. */
static void http_transfer_set_version(CURL *easy, bool wants_http2)
{
    long version = wants_http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1;
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version));
    http_transfer_require(curl_easy_setopt(easy, CURLOPT_PIPEWAIT, wants_http2 ? 1L : 0L));
}

/* Sets the method and the body, which is sent at once: no server of the API needs to be asked first
 * whether it wants so few bytes. */
static void set_method(struct http_transfer *transfer, const struct http_call_config *config)
{
    CURL *easy = transfer->easy;
    if (config->method) {
        http_transfer_require(
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)config->body.len));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, config->body.ptr));
        http_transfer_require(curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, config->method));
        add_header(transfer, "Content-Type", config->content_type);
        transfer->headers = curl_slist_append(transfer->headers, "Expect:");
    }
}

void http_transfer_init(struct http_transfer *transfer, const struct http_call_config *config,
                        struct http_call *call)
{
    *transfer = (struct http_transfer){.easy = curl_easy_init()};
    if (!transfer->easy) {
        xalloc_out_of_memory();
    }
    set_transport(transfer, call);
    http_transfer_set_version(transfer->easy, config->wants_http2);
    set_url(transfer, config);
    set_proxy(transfer, config);
    set_tls(transfer->easy, config->tls);
    set_credentials(transfer, config);
    set_method(transfer, config);
    add_header(transfer, "Accept", config->accept);
    add_header(transfer, "User-Agent", config->user_agent);
    http_transfer_require(curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers));
}

void http_transfer_fini(struct http_transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->connect_to);
    free(transfer->proxy);
}

int http_transfer_status(const struct http_transfer *transfer)
{
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status); /* 0 = none yet */
    return (int)status;
}

bool http_transfer_has_http2(const struct http_transfer *transfer)
{
    long version = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version); /* 0 = none yet */
    return version == CURL_HTTP_VERSION_2_0;
}

bool http_transfer_was_shared(const struct http_transfer *transfer)
{
    long connects = 1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects); /* is known */
    return connects == 0;
}

int http_transfer_socket(const struct http_transfer *transfer)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &fd); /* bad = none */
    return fd;
}

uint32_t http_transfer_retry_after_s(const struct http_transfer *transfer)
{
    curl_off_t wait_s = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &wait_s); /* 0 = none */
    return wait_s > 0 && wait_s <= RETRY_AFTER_MAX_S ? (uint32_t)wait_s : 0;
}

/* ---- Why it failed ---- */

static const char *system_reason(const struct http_transfer *transfer, const char *otherwise)
{
    long number = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &number); /* 0 = not known */
    return number > 0 ? strerror((int)number) : otherwise;
}

/* Explains that the proxy refused the CONNECT. */
static bool explain_proxy_answer(const struct http_transfer *transfer, struct err *err)
{
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &status); /* 0 = none */
    if (status < 300) {
        return false;
    }
    err_set(err, ERR_UNAVAILABLE, "the proxy%s%s answered %ld instead of connecting",
            transfer->proxy ? " " : "", transfer->proxy ? transfer->proxy : "", status);
    return true;
}

/* Returns OpenSSL's reason, without its number and libcurl's wrapping; NULL: TLS did not fail. With
 * TLS 1.3 the server's verdict on our certificate arrives with the first response. */
static const char *tls_reason(const char *message, char out[HTTP_TRANSFER_MESSAGE_BYTES])
{
    static const char library[] = "SSL routines::";
    const char *reason = strstr(message, library);
    if (!reason) {
        return NULL;
    }
    reason += strlen(library);
    size_t len = strcspn(reason, ",");
    memcpy(out, reason, len);
    out[len] = '\0';
    return out;
}

static void explain_tls(const char *message, struct err *err)
{
    char reason[HTTP_TRANSFER_MESSAGE_BYTES];
    const char *why = tls_reason(message, reason);
    bool is_plain = why && (strcmp(why, "wrong version number") == 0 ||
                            strcmp(why, "packet length too long") == 0);
    if (is_plain) {
        err_set(err, ERR_REFUSED, "TLS: the response is not TLS (%s); is it http:// there?", why);
    } else {
        err_set(err, ERR_REFUSED, "TLS: %s", why ? why : message);
    }
}

static void explain_connect(const struct http_transfer *transfer, const char *why, struct err *err)
{
    if (transfer->proxy) {
        err_set(err, ERR_UNAVAILABLE, "cannot connect to the proxy %s: %s", transfer->proxy, why);
    } else {
        err_set(err, ERR_UNAVAILABLE, "cannot connect: %s", why);
    }
}

static void explain_loss(const struct http_transfer *transfer, CURLcode code, const char *said,
                         struct err *err)
{
    char reason[HTTP_TRANSFER_MESSAGE_BYTES];
    if (explain_proxy_answer(transfer, err)) {
        return;
    }
    if (tls_reason(said, reason)) {
        explain_tls(said, err);
        return;
    }
    err_set(err, ERR_UNAVAILABLE, "connection lost: %s",
            system_reason(transfer, curl_easy_strerror(code)));
}

/* Uses libcurl's message for certificate errors, and ours elsewhere. libcurl's contain times and
 * byte counts, and the same failure should read the same each time. */
void http_transfer_explain(const struct http_transfer *transfer, int curl_code, size_t body_max,
                           struct err *err)
{
    CURLcode code = (CURLcode)curl_code;
    const char *said = *transfer->message ? transfer->message : curl_easy_strerror(code);
    switch (code) {
    case CURLE_OK:
        break;
    case CURLE_COULDNT_CONNECT:
        explain_connect(transfer, system_reason(transfer, "no address answers"), err);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        err_set(err, ERR_UNAVAILABLE, "cannot connect: host name not found");
        break;
    case CURLE_COULDNT_RESOLVE_PROXY:
        explain_connect(transfer, "host name not found", err);
        break;
    case CURLE_PROXY: /* SOCKS */
        explain_connect(transfer, said, err);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        err_set(err, ERR_TIMEOUT, "no connection within %d s%s%s", CONNECT_TIMEOUT_MS / 1000,
                transfer->proxy ? " through the proxy " : "",
                transfer->proxy ? transfer->proxy : "");
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        err_set(err, ERR_UNAVAILABLE, "connection closed in the middle of the response");
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        explain_loss(transfer, code, said, err);
        break;
    case CURLE_WRITE_ERROR:
        err_set(err, ERR_TOO_LARGE, "response longer than %zu bytes", body_max);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        explain_tls(said, err);
        break;
    default:
        err_set(err, ERR_PROTOCOL, "%s", said);
        break;
    }
}
