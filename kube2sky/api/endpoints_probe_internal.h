/* Asks, while Endpoints are followed, whether EndpointSlices could be. It requests one object of a
 * list and the start of a watch, in each namespace, since a role may permit one and not the other.
 * It changes nothing that is followed. Owned by a reflector; on the main loop, over kube_client. */
#ifndef KUBE2SKY_API_ENDPOINTS_PROBE_INTERNAL_H
#define KUBE2SKY_API_ENDPOINTS_PROBE_INTERNAL_H

#include <stddef.h>

#include "kube2sky/api/kube_client.h"

struct endpoints_probe;

enum endpoints_probe_result {
    ENDPOINTS_PROBE_PERMITTED,
    ENDPOINTS_PROBE_ABSENT,    /* 404 for the list: the server does not have them */
    ENDPOINTS_PROBE_FORBIDDEN, /* 403; or 404 for the watch after a successful list by another
                                * server */
    ENDPOINTS_PROBE_UNKNOWN,   /* the server cannot be reached or is busy */
};

struct endpoints_probe_config {
    struct kube_client *client; /* outlives it, like the scopes */
    const struct kube_resource *resource;
    const struct kube_scope *scopes;
    size_t scope_count; /* at least one */
    /* Called once, from the loop; stop the probe in it. */
    void (*done)(void *data, enum endpoints_probe_result result);
    void *data;
};

/* Starts a probe. Runs no callback. */
struct endpoints_probe *endpoints_probe_start(const struct endpoints_probe_config *config);

/* Stops the probe: no callback follows. May be called inside `done`. NULL is fine. */
void endpoints_probe_stop(struct endpoints_probe *probe);

#endif
