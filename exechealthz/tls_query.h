/* One DNS query over a TLS connection of its own, as DNS over TLS or over HTTPS, by the target. For
 * dns_probe.c; the loop's thread.
 *
 *     connect ──▶ handshake ──▶ query ──▶ response or error
 *
 * The caller has the timeout: it frees the query, after reading tls_query_doing. The process must
 * ignore SIGPIPE. */
#ifndef EXECHEALTHZ_TLS_QUERY_H
#define EXECHEALTHZ_TLS_QUERY_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/tls/tls_client.h"
#include "exechealthz/dns_target.h"

struct tls_query;

struct tls_query_config {
    struct ev_loop *loop;
    const struct dns_target *target; /* borrowed, as the next, until tls_query_free */
    const struct tls_client *tls;
    struct slice message; /* the DNS query; copied */

    /* Called once, unless the query is freed before. err: NULL for a response, which need not be a
     * DNS message; both are borrowed for the call, which may free the query. */
    void (*on_end)(void *data, struct slice reply, const struct err *err);
    void *data;
};

/* Starts a query; copies config. Errors begin with what failed. */
int tls_query_start(const struct tls_query_config *config, struct tls_query **ret,
                    struct err *err) MUST_CHECK;

/* Closes the connection. NULL is fine. */
void tls_query_free(struct tls_query *query);

/* Returns what it waits for, as the beginning of an error: "connect to", "handshake with", "no
 * reply from". */
const char *tls_query_doing(const struct tls_query *query);

#endif
