/* Serves kube2sky's HTTP pages (--healthz-address, --healthz-port):
 *
 *     /healthz           200: the loop runs. The loop itself answers, so a hung one does not
 *     /readiness         503 with what is missing until everything listed is in etcd for the first
 *                        time, then always 200: the records in etcd are still served
 *     /readiness?strict  also 503, with the reason, while etcd or the API has been away for
 *                        longer than --etcd-mutation-timeout
 *     /metrics           metrics_table.h
 *     /plan              plan_page.h
 *     /explain           explain.h
 *     /wait              service_wait.h
 *     / /live            live.h
 *
 * Created by main(); on the main loop. */
#ifndef KUBE2SKY_STATUS_H
#define KUBE2SKY_STATUS_H

#include <ev.h>
#include <stdbool.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "kube2sky/metrics_table.h"

struct status;

struct status_config {
    struct ev_loop *loop;
    struct addr address;             /* `::`: all addresses, IPv4 too */
    const char *http_hosts;          /* see http_admission.h; borrowed, as are the sources */
    struct metrics_sources *sources; /* set before the loop runs */
};

/* Listens. Errors name the flag. */
int status_new(const struct status_config *config, struct status **ret_status,
               struct err *err) MUST_CHECK;

/* Returns whether /readiness is 200; if not, appends the reason as one line without newline. */
bool status_is_ready(const struct metrics_sources *sources, bool is_strict, struct buf *out);

/* Appends what is missing before the first 200, as one line without newline. */
void status_explain_missing(const struct metrics_sources *sources, struct buf *out);

/* Stops serving; call it before its sources are freed. NULL is fine. */
void status_free(struct status *status);

#endif
