/* Feeds the inventory from the Kubernetes API: runs a reflector for each kind and namespace, and
 * passes its objects on. Pods, Namespaces and, for client records, Nodes go to client_keys, too,
 * and the ConfigMap to its callback. It logs and counts objects that cannot be understood, and
 * reports an outage while a kind cannot be followed. Created and freed by main(); on the main loop.
 *
 * Nodes and Namespaces are listed as a whole, whatever the label selector, so they need a
 * ClusterRole; of the Namespaces, only those in `namespaces` are passed on. While the server
 * refuses either (401, 403, 404), or the ConfigMap cannot be read, the other kinds go on. Nothing
 * waits for such a kind if it was refused after the Services were listed: a server that has just
 * started may refuse everything. Its keys stay, since no other kind replaces it. The same holds for
 * a kind that is refused in one namespace of several after it was listed in another.
 *
 * Ingresses, Gateways and routes go to a route_table; imports and their slices to an inventory of
 * their own, as Services and slices. Their outages, such as a missing CRD, are logged and counted,
 * and nothing else waits for them. */
#ifndef KUBE2SKY_KUBE_SOURCE_H
#define KUBE2SKY_KUBE_SOURCE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/outage.h"
#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/api/reflector.h"
#include "kube2sky/naming/causes.h"

struct client_keys;
struct external_aliases;
struct kube_source;
struct event_queue;
struct flaw_list;
struct inventory;
struct kube_client;
struct route_rules;

struct kube_source_config {
    struct ev_loop *loop;
    struct kube_client *client; /* both clients outlive the source */
    struct inventory *inventory;
    struct inventory *imports;       /* NULL: none are followed */
    struct client_keys *client_keys; /* NULL: none */
    struct flaw_list *flaws;         /* outlives the source, too */
    struct event_queue *events;      /* gets faults of Ingresses and routes; outlives it; NULL: not
                                      * wanted */
    enum endpoints_mode endpoints_mode;
    bool wants_pods;  /* the inventory gets them; with client records, client_keys does, too */
    bool wants_nodes; /* likewise */
    bool wants_namespaces;
    bool has_client_records; /* client_keys wants pods and Nodes for these */
    const char *const
        *namespaces; /* borrowed until kube_source_free, like the selector; none: all */
    size_t namespace_count;
    const char *label_selector;   /* "": every object */
    const char *namespace_labels; /* "": every Namespace */
    /* Rules for Ingresses and routes; NULL: none are followed. `aliases` gets their names. Both
     * outlive the source. */
    const struct route_rules *route_rules;
    struct external_aliases *aliases;
    /* The ConfigMap; name NULL or "": none. Both borrowed until kube_source_free. */
    const char *config_map_namespace;
    const char *config_map_name;
    /* Called with the map's state, to be owned, or NULL if it does not exist; and when it cannot be
     * read now. */
    void (*config_map)(void *data, struct kube_object *map);
    void (*config_map_lacks)(void *data);
    void *data;
    bool is_dry_run;    /* keys that would be deleted later count now */
    int64_t timeout_ms; /* time until an outage of the API is an error */
};

/* Starts the source. It calls nothing of the inventory's from inside. */
struct kube_source *kube_source_start(const struct kube_source_config *config);

/* Lists the Service's Endpoints or slices, whose content the inventory lacks (inventory.h). Runs no
 * callback. */
void kube_source_want_parts(struct kube_source *kube_source, const char *ns, const char *service);

/* Lists the slices of the namespace's imports again, since the inventory lacks the content of some.
 * Runs no callback. */
void kube_source_want_imports(struct kube_source *kube_source, const char *ns);

/* Requests again, at once, the kinds that the server refuses, since the credentials may have
 * changed; otherwise they wait up to a minute. */
void kube_source_ask_refused(struct kube_source *kube_source);

/* Stops feeding the inventory. */
void kube_source_stop(struct kube_source *kube_source);

void kube_source_free(struct kube_source *kube_source); /* stops it; NULL is fine */

/* ---- Getters; results are borrowed ---- */

/* Returns, while an event is passed on, the object that it is of; NULL: none, or one of the first
 * list. */
const struct cause_object *kube_source_cause(const struct kube_source *kube_source);

const struct outage *kube_source_outage(const struct kube_source *kube_source);

/* Returns whether the kind is listed and watched on its own. Endpoints are, or the slices in their
 * place; pods, Nodes, Namespaces and the ConfigMap if wanted. */
bool kube_source_follows(const struct kube_source *kube_source, enum kube_kind kind);

/* Returns whether such a kind is followed or away: in the namespace that has been away longest, if
 * any. */
const struct outage_source *kube_source_followed(const struct kube_source *kube_source,
                                                 enum kube_kind kind);

/* Returns the resource version up to which the kind is known in this namespace; KUBE_ENDPOINTS
 * stands for the source of endpoints. NULL: it is not followed there, or not now. Borrowed until
 * the loop turns. */
const char *kube_source_version(const struct kube_source *kube_source, enum kube_kind kind,
                                const char *ns);

/* Returns the past outages of such a kind in all namespaces, by their first reason. */
uint64_t kube_source_reconnects(const struct kube_source *kube_source, enum kube_kind kind,
                                enum outage_reason reason);

/* Returns client_keys_left_out, or 0 without client_keys. */
size_t kube_source_left_out(const struct kube_source *kube_source);

/* Returns the number of known objects of the kind. */
size_t kube_source_count(const struct kube_source *kube_source, enum kube_kind kind);

/* Returns a Service, import, Ingress or route; NULL: unknown. */
const struct kube_object *kube_source_find(const struct kube_source *kube_source,
                                           enum kube_kind kind, const char *ns, const char *name);

struct kube_source_counts {
    struct reflector_counts reflector; /* of the kind, as above */
    struct counter skipped; /* counts objects that could not be understood, each time one came */
    struct counter faults;  /* counts parts left out of others, once for each state of an object */
};
const struct kube_source_counts *kube_source_counts(const struct kube_source *kube_source,
                                                    enum kube_kind kind);

#endif
