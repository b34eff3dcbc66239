/* GET /readiness: 503 with what is still missing until everything listed is in etcd for the first
 * time, 200 `ok` from then on, whatever happens later: the records in etcd go on being served.
 * /readiness?strict is 503 besides while etcd or the API has been away for longer than
 * --etcd-mutation-timeout, with the reason. On the main loop. */
#ifndef KUBE2SKY_READINESS_H
#define KUBE2SKY_READINESS_H

#include "common/http_server.h"
#include "common/outage.h"
#include "kube2sky/inventory.h"
#include "kube2sky/reconciler.h"

struct readiness {
    const struct inventory *inventory; /* borrowed, like the next ones */
    const struct reconciler *reconciler;
    const struct outage *etcd;
    const struct outage *api;
};

/* An http_handler; data is the struct readiness. */
void readiness_handle(void *data, const struct http_request *request, struct http_reply *reply);

#endif
