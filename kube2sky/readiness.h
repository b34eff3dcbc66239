/* GET /readiness: 503 with what is still missing until everything listed is in etcd for the first
 * time, 200 `ok` from then on, whatever happens later: the records in etcd go on being served. On
 * the main loop. */
#ifndef KUBE2SKY_READINESS_H
#define KUBE2SKY_READINESS_H

#include "common/err.h"
#include "common/http_server.h"
#include "kube2sky/inventory.h"
#include "kube2sky/kube_object.h"
#include "kube2sky/reconciler.h"

struct readiness {
    const struct inventory *inventory; /* borrowed, like the next one */
    const struct reconciler *reconciler;
    struct err api[KUBE_KIND_COUNT]; /* what is wrong with listing or watching; code 0 = nothing */
};

/* The reflectors' state callback: err NULL = the watch runs. */
void readiness_api_state(struct readiness *readiness, enum kube_kind kind, const struct err *err);

/* An http_handler; data is the struct readiness. */
void readiness_handle(void *data, const struct http_request *request, struct http_reply *reply);

#endif
