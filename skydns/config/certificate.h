/* Holds what clients are shown over TLS: the files of -cert, -key, -client-ca and -tls-ticket-keys.
 * Reads them at the start, and reloads them when one changes. While they cannot be used, those read
 * before stay in force, and the log says why. Logs once a day that the certificate is about to
 * expire, or has: clients refuse it then, and nothing else here would tell. Main thread. */
#ifndef SKYDNS_CONFIG_CERTIFICATE_H
#define SKYDNS_CONFIG_CERTIFICATE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

struct certificate;
struct tls_server;

enum {
    CERTIFICATE_LOOK_S = 5, /* between two looks at the files */
    /* Warns so long before the end. cert-manager and ACME clients renew 30 days before: two weeks
     * later, something is wrong. */
    CERTIFICATE_SOON_S = 14 * 24 * 60 * 60,
    CERTIFICATE_AGAIN_S = 24 * 60 * 60, /* between two lines that say so */
};

/* Reads the files; fails if they cannot be used. Borrows the options' strings. */
int certificate_new(struct ev_loop *loop, const struct options *flags,
                    struct certificate **ret_certificate, struct err *err) MUST_CHECK;
void certificate_free(struct certificate *certificate); /* NULL is fine, as below */

/* Looks at the files now. */
void certificate_reload(struct certificate *certificate);

/* Returns the server for listeners; borrowed. NULL for NULL. */
struct tls_server *certificate_server(const struct certificate *certificate);

/* Returns whether the files have changed and cannot be used. */
bool certificate_is_refused(const struct certificate *certificate);

/* Returns when the certificate expires, Unix time; 0 for NULL. */
int64_t certificate_not_after_s(const struct certificate *certificate);

#endif
