/* What kube2sky says about itself over HTTP (--healthz-address, --healthz-port):
 *
 *     /healthz           200: the loop turns. The loop itself answers, so one that hangs does not
 *     /readiness         503 with what is missing until everything listed is in etcd for the first
 *                        time, then 200 for good: the records in etcd go on being served
 *     /readiness?strict  503 besides, with the reason, while etcd or the API has been away for
 *                        longer than --etcd-mutation-timeout
 *     /metrics           metrics_table.h
 *     /plan              plan_page.h
 *
 * Made by main(); on the main loop. */
#ifndef KUBE2SKY_STATUS_H
#define KUBE2SKY_STATUS_H

#include <ev.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "kube2sky/metrics_table.h"

struct status;

/* Listens; at `::` to every address, IPv4 too. One that cannot be had: an error that names the
 * flag. The sources are borrowed, and filled in before the loop runs. */
int status_new(struct ev_loop *loop, const struct addr *address, struct metrics_sources *sources,
               struct status **ret_status, struct err *err) MUST_CHECK;

/* What has to be there before the first 200, and why it is not; one line without its end, appended.
 */
void status_explain_missing(const struct metrics_sources *sources, struct buf *out);

/* Before what it tells about. NULL is fine. */
void status_free(struct status *status);

#endif
