#include "common/health/healthcheck.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/sockets.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "common/http/http_fetch.h"

enum {
    TIMEOUT_MS = 4000,
    DNS_TRIES = 4, /* a second each: a datagram may be lost */
    /* Has room for a page with reasons: /readiness?strict has a line for each. */
    REPLY_MAX = 65536,
    SHOWN_MAX = 256, /* of its first line */
};

static int healthcheck_usage(const char *url, struct err *err)
{
    return err_set(
        err, ERR_USAGE,
        "flag -healthcheck: `%s`: expected http://IP:PORT/PATH, http://unix:FILE:/PATH or "
        "udp://IP:PORT",
        url);
}

/* ---- HTTP ---- */

static int check_http(const struct http_fetch *fetch, struct err *err)
{
    struct http_response response;
    http_response_init(&response, REPLY_MAX);
    int r = http_fetch(fetch, &response, err);
    if (r == 0 && response.status != 200) {
        const char *text = buf_cstr(&response.body);
        size_t len = strcspn(text, "\r\n");
        r = err_set(err, ERR_REFUSED, "%s: status %u: %.*s", fetch->target, response.status,
                    (int)(len < SHOWN_MAX ? len : SHOWN_MAX), text);
    }
    http_response_fini(&response);
    return r;
}

/* ---- DNS ---- */

static const uint8_t asked_name[] =
    "\7version\4bind"; /* in class CHAOS: no record, no other server */

static size_t healthcheck_make_query(uint16_t id, uint8_t out[64])
{
    struct writer w = writer_of(out, 64);
    writer_u16(&w, id);
    writer_u16(&w, 0);
    writer_u16(&w, 1); /* a question */
    writer_u16(&w, 0);
    writer_u32(&w, 0);
    writer_bytes(&w, asked_name, sizeof(asked_name)); /* its NUL is the root */
    writer_u16(&w, DNS_TYPE_TXT);
    writer_u16(&w, DNS_CLASS_CH);
    return w.pos;
}

static bool healthcheck_is_reply(const uint8_t *message, ssize_t len, uint16_t id)
{
    return len >= DNS_HEADER_SIZE && message[0] == id >> 8 && message[1] == (id & 0xff) &&
           (message[2] & 0x80);
}

static int udp_failed(const struct addr *server, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    int code = errno == EAGAIN ? ERR_TIMEOUT : -errno;
    return err_set(err, code, "query udp://%s: %s", addr_format(server, text), err_code_text(code));
}

static int check_udp(const struct addr *server, struct err *err)
{
    const struct timeval timeout = {.tv_usec = 999999};
    uint8_t query[64], reply[512];
    uint16_t id = 0;
    CLEANUP_CLOSE int fd = socket(server->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
        connect(fd, &server->sa, server->len) != 0 || getrandom(&id, sizeof(id), 0) < 0) {
        return udp_failed(server, err);
    }
    size_t len = healthcheck_make_query(id, query);
    for (int i = 0; i < DNS_TRIES; i++) {
        ssize_t n = send(fd, query, len, 0) < 0 ? -1 : recv(fd, reply, sizeof(reply), 0);
        if (healthcheck_is_reply(reply, n, id)) {
            return 0;
        }
        if (n < 0 && errno != EAGAIN) {
            break; /* nothing listens there */
        }
        errno = EAGAIN;
    }
    return udp_failed(server, err);
}

/* ---- URLs ---- */

static const char *healthcheck_behind(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);
    return strncmp(url, scheme, len) == 0 ? url + len : NULL;
}

/* Checks the page of a Unix socket: FILE:/PATH. */
static int check_unix(const char *url, const char *text, struct err *err)
{
    const char *path = strstr(text, ":/");
    CLEANUP_FREE char *file = path ? xstrndup(text, (size_t)(path - text)) : NULL;
    if (!file || !unix_socket_path_fits(file) || strpbrk(path, " \t\r\n")) {
        return healthcheck_usage(url, err);
    }
    return check_http(
        &(struct http_fetch){.unix_path = file, .target = path + 1, .timeout_ms = TIMEOUT_MS}, err);
}

int healthcheck_run(const char *url, struct err *err)
{
    const char *unix_text = healthcheck_behind(url, "http://unix:");
    if (unix_text) {
        return check_unix(url, unix_text, err);
    }
    const char *http = healthcheck_behind(url, "http://"), *udp = healthcheck_behind(url, "udp://");
    const char *text = http ? http : udp;
    if (!text) {
        return healthcheck_usage(url, err);
    }
    const char *path = strchr(text, '/');
    char authority[ADDR_TEXT_MAX] = "";
    size_t len = path ? (size_t)(path - text) : strlen(text);
    struct addr server;
    if (len < sizeof(authority)) {
        memcpy(authority, text, len);
    }
    if (addr_parse(authority, &server, NULL) < 0 || (udp && path) ||
        (http && (!path || strpbrk(path, " \t\r\n")))) {
        return healthcheck_usage(url, err);
    }
    const struct http_fetch fetch = {.server = server, .target = path, .timeout_ms = TIMEOUT_MS};
    return http ? check_http(&fetch, err) : check_udp(&server, err);
}

int healthcheck_main(const char *program, const char *url)
{
    struct err err = {0};
    int r = healthcheck_run(url, &err);
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", program, err.msg);
    }
    return r == 0 ? 0 : r == ERR_USAGE ? 2 : 1;
}
