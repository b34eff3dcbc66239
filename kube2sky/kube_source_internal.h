/* Shares the source's state between kube_source.c and kube_source_refusals.c.
 *
 * The first passes objects on. The second says what waits while the server refuses kinds, what of
 * their last state is still believed, and when they are requested again. On the main loop. */
#ifndef KUBE2SKY_KUBE_SOURCE_INTERNAL_H
#define KUBE2SKY_KUBE_SOURCE_INTERNAL_H

#include "kube2sky/kube_source.h"
#include "kube2sky/naming/route_rules.h"

struct parts_fetch;
struct route_table;

/* Follows a kind in one namespace, or in all: the state of one says nothing of another. */
struct follower {
    struct kube_source *kube_source;
    enum kube_kind kind;
    const char *ns;              /* "": all namespaces, or the kind has none */
    struct inventory *inventory; /* gets the objects, except the ConfigMap */
    struct outage_source followed;
    struct reflector *reflector;
    bool is_listed;     /* it has been listed completely */
    bool is_relist_due; /* `imports_due` lists it again */
    struct err refusal; /* logged since the last list; code 0: none */
};

/* Tracks a kind whose objects say what a client may see: once the server has refused it for
 * `timeout_ms`, its last state is not used any longer. */
struct trust {
    struct kube_source *kube_source;
    enum kube_kind kind;
    const char *lost_line;
    ev_timer timer; /* runs while the kind is refused and its last state is still used */
    bool is_lost;
};

enum { TRUSTED_KINDS = 2 };

struct kube_source {
    struct kube_source_config config;
    struct parts_fetch *parts;
    ev_timer refused;  /* active while a kind is refused */
    bool is_permitted; /* a refused kind has been permitted since refused kinds were last requested
                        * again */
    int64_t asked_again_ms;
    uint64_t credentials_id;
    ev_timer restored; /* fires when the API's storage has gone back: everything is listed again */
    ev_timer imports_due; /* fires when slices of imports must be listed again */
    int64_t imports_listed_ms;
    bool has_cause; /* an event is being passed on */
    struct cause_object cause;
    char cause_ns[CAUSE_TEXT_MAX], cause_name[CAUSE_TEXT_MAX], cause_version[CAUSE_TEXT_MAX];
    struct trust trusts[TRUSTED_KINDS];
    struct outage outage;
    struct outage routes_outage; /* of Ingresses, Gateways, routes and imports: nothing waits for
                                  * those */
    struct route_table *routes;  /* NULL: none are followed */
    const char *gateway_namespaces[ROUTE_RULES_MAX]; /* owned; each once */
    size_t gateway_namespace_count;
    struct follower *followers[KUBE_KIND_COUNT];
    size_t follower_counts[KUBE_KIND_COUNT]; /* 0: the kind is not followed */
    struct kube_source_counts counts[KUBE_KIND_COUNT];
    bool has_config_map; /* it exists */
    bool has_left_out;   /* logged: not all Namespaces' lists have room */
    bool selects_none;   /* logged: no Namespace has the labels */
};

static inline bool is_of_imports(enum kube_kind kind)
{
    return kind == KUBE_IMPORT || kind == KUBE_IMPORT_SLICE;
}

/* ---- kube_source_refusals.c ---- */

void kube_source_refusals_init(struct kube_source *kube_source);
void kube_source_refusals_stop(struct kube_source *kube_source);

/* Notes that a follower's kind can be read, or err: a reflector's `state`. */
void kube_source_on_state(void *data, enum kube_kind kind, const char *resource,
                          const struct err *err);

#endif
