#include "skydns/config/certificate.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/utc_time.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_server.h"

enum stage { FINE, SOON, OVER };

struct certificate {
    struct ev_loop *loop;
    const char *file;
    struct tls_server *server;
    bool is_refused;
    enum stage told; /* what the log says */
    int64_t told_ms; /* clock_monotonic_ms */
    ev_timer look;
};

static enum stage certificate_stage_of(const struct certificate *c)
{
    int64_t left_s = tls_server_not_after_s(c->server) - clock_wall_s();
    return left_s <= 0 ? OVER : left_s <= CERTIFICATE_SOON_S ? SOON : FINE;
}

static void tell_stage(struct certificate *c)
{
    char ends[UTC_TIME_TEXT_MAX];
    int64_t now_ms = clock_monotonic_ms();
    enum stage stage = certificate_stage_of(c);
    if (stage == c->told && now_ms - c->told_ms < (int64_t)CERTIFICATE_AGAIN_S * 1000) {
        return;
    }
    c->told = stage;
    c->told_ms = now_ms;
    utc_time_text_s(tls_server_not_after_s(c->server), ends);
    if (stage == OVER) {
        log_error("the certificate has expired, clients refuse it", LOG_STR("file", c->file),
                  LOG_STR("ended", ends));
    } else if (stage == SOON) {
        log_warn("the certificate expires soon", LOG_STR("file", c->file), LOG_STR("ends", ends));
    }
}

void certificate_reload(struct certificate *certificate)
{
    struct certificate *c = certificate;
    struct err err = {0};
    char ends[UTC_TIME_TEXT_MAX];
    if (!c) {
        return;
    }
    switch ((enum tls_refresh)tls_server_refresh(c->server, &err)) {
    case TLS_READ_AGAIN:
        c->is_refused = false;
        c->told = FINE; /* of the new one, nothing is told yet */
        log_info("certificate reloaded", LOG_STR("file", c->file),
                 LOG_STR("ends", utc_time_text_s(tls_server_not_after_s(c->server), ends)));
        break;
    case TLS_READ_FAILED:
        c->is_refused = true;
        log_error("cannot use the changed files for TLS, keeping their last good content",
                  LOG_STR("error", err.msg));
        break;
    case TLS_UNCHANGED:
        break;
    }
    tell_stage(c);
}

static void certificate_on_check(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    certificate_reload(timer->data);
}

int certificate_new(struct ev_loop *loop, const struct options *flags,
                    struct certificate **ret_certificate, struct err *err)
{
    const struct tls_server_files files = {
        .cert = flags->cert,
        .key = flags->key,
        .client_ca = flags->client_ca,
        .ticket_keys = flags->ticket_keys,
    };
    struct tls_server *server;
    int r = tls_server_new(&files, &server, err);
    if (r < 0) {
        return err_wrap(err, r, "-cert, -key, -client-ca, -tls-ticket-keys");
    }
    struct certificate *c = xcalloc(1, sizeof(*c));
    *c = (struct certificate){.loop = loop, .file = flags->cert, .server = server};
    timer_init_every(&c->look, certificate_on_check, c, CERTIFICATE_LOOK_S);
    ev_timer_start(loop, &c->look);
    tell_stage(c);
    *ret_certificate = c;
    return 0;
}

void certificate_free(struct certificate *certificate)
{
    if (certificate) {
        ev_timer_stop(certificate->loop, &certificate->look);
        tls_server_free(certificate->server);
        free(certificate);
    }
}

struct tls_server *certificate_server(const struct certificate *certificate)
{
    return certificate ? certificate->server : NULL;
}

bool certificate_is_refused(const struct certificate *certificate)
{
    return certificate && certificate->is_refused;
}

int64_t certificate_not_after_s(const struct certificate *certificate)
{
    return certificate ? tls_server_not_after_s(certificate->server) : 0;
}
