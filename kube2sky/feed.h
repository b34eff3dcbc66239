/* Keeps the inventory fed from the Kubernetes API: a reflector for each kind, what it says carried
 * into the inventory, what cannot be understood logged and counted, and an outage told while a kind
 * cannot be followed. Made and ended by main(); on the main loop. */
#ifndef KUBE2SKY_FEED_H
#define KUBE2SKY_FEED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/outage.h"
#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/api/reflector.h"

struct feed;
struct inventory;
struct kube_client;

struct feed_config {
    struct ev_loop *loop;
    struct kube_client *client; /* both outlive the feed */
    struct inventory *inventory;
    enum endpoints_mode endpoints_mode;
    bool wants_pods;
    const char *const *namespaces; /* borrowed until feed_free, like the selector; none: all */
    size_t namespace_count;
    const char *label_selector; /* "": every object */
    int64_t patience_ms;        /* until the API being away is an error */
};

/* Nothing is told to the inventory from inside it. */
struct feed *feed_start(const struct feed_config *config);

/* The inventory hears nothing more. */
void feed_stop(struct feed *feed);

void feed_free(struct feed *feed); /* stops it; NULL is fine */

/* ---- What others ask; borrowed ---- */

const struct outage *feed_outage(const struct feed *feed);

/* Is the kind one that is listed and watched for itself? Endpoints are, with the slices that may
 * come in their place; pods when they are wanted. */
bool feed_follows(const struct feed *feed, enum kube_kind kind);

/* Whether such a kind is there. */
const struct outage_source *feed_followed(const struct feed *feed, enum kube_kind kind);

struct feed_counts {
    uint64_t lists;   /* of such a kind: read to their end */
    uint64_t watches; /* of such a kind: that the server accepted */
    uint64_t skipped; /* objects of any kind that could not be understood, each time one came */
};
struct feed_counts feed_get_counts(const struct feed *feed, enum kube_kind kind);

#endif
