/* The external names that objects of the cluster ask for, and who of them has each: a table name ->
 * claims. A Service asks by the annotation dns.kube2sky/aliases, an Ingress or a route by its hosts
 * for the Service that they lead to (ingress_rules.h), the ConfigMap by its `records`.
 *
 * A name that several claim is the ConfigMap's, else that of the oldest Service, else that of the
 * oldest Ingress or route; of the same age, the first by namespace/name. With D for the domain,
 * whoever has app.example.com gets the record
 *
 *     /skydns/com/example/app/<hash>   web.prod.svc.D., without its first label (targetstrip 1)
 *
 * for the Service prod/web that it leads to, where <hash> is that of "prod/web": so a key tells
 * whose it is (ownership_internal.h). What is the ConfigMap's is written by config_map.h's rules.
 *
 * The unit of writing is a Service with all names that lead to it, the owner "alias/prod/web".
 * Pure data, no I/O; single-threaded, owned by the reconciler. */
#ifndef KUBE2SKY_NAMING_EXTERNAL_ALIASES_H
#define KUBE2SKY_NAMING_EXTERNAL_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/override_zones.h"

/* The names of one Service: the API server lets an annotation have 256 KiB. */
enum { EXTERNAL_ALIASES_OBJECT_MAX = 64 };

/* Names that the objects of one namespace claim: all lead to Services of few namespaces, so that
 * those' share of etcd does not bound them. 20,000 take 5 MB. */
enum { EXTERNAL_ALIASES_NAMESPACE_MAX = 20000 };

/* Bytes of a key and its value, at most. */
enum { EXTERNAL_ALIASES_RECORD_BYTES = 768 };

struct external_aliases;

struct external_aliases_config {
    const struct override_zones *zones; /* outlives it */
    const char *domain;                 /* "cluster.local.", lower case; borrowed for good */
    uint32_t ttl_s;
    /* Called when the keys of the owner "alias/prod/web" have changed or have gone; called from
     * inside, and must not call back. */
    void (*changed)(void *data, struct slice owner);
    void *data;
};

/* Owners that are held at once: --ingress and --gateway, 64 times each. */
enum { EXTERNAL_ALIASES_HELD_MAX = 128 };

struct external_aliases *external_aliases_new(const struct external_aliases_config *config);
void external_aliases_free(struct external_aliases *aliases); /* NULL is fine */

/* The smaller one wins. */
enum alias_rank { ALIAS_OF_CONFIG_MAP, ALIAS_OF_SERVICE, ALIAS_OF_ROUTE };

struct alias_owner_object {
    struct slice id;     /* "svc/prod/web", "ingress/prod/shop", "route/prod/shop" */
    struct slice ns;     /* of it; empty: the ConfigMap's, which may use every zone */
    struct slice target; /* "prod/web"; empty: the ConfigMap's */
    int64_t created_s;
    enum alias_rank rank;
};

/* Replaces what the claimant asks for; names as people write them, none: nothing. */
void external_aliases_set(struct external_aliases *aliases,
                          const struct alias_owner_object *owner_object, const struct slice *names,
                          size_t count);

/* The same, of the text of an annotation: names with commas between them. */
void external_aliases_set_text(struct external_aliases *aliases,
                               const struct alias_owner_object *owner_object, struct slice text);

/* Fills both (cleared first, sealed after), the first with at most names_max names: of more, each
 * namespace that asks for them has as many as the others, or all of its own. With keys and values
 * that the owner "alias/prod/web" wants: those it gets; and those that it does not, since another
 * one has the name, or, is_taken, somebody else has keys at the name "/skydns/com/example/app", or
 * that key itself. */
void external_aliases_build(struct external_aliases *aliases, struct slice owner, size_t names_max,
                            bool (*is_taken)(const void *data, struct slice name_key,
                                             struct slice key),
                            const void *data, struct desired *wanted, struct desired *left);

/* The owner that the name leads to now; empty: nobody claims it, or the ConfigMap does, then
 * *ret_is_config is set. Borrowed until the next change. */
struct slice external_aliases_owner(const struct external_aliases *aliases, struct slice name_key,
                                    bool *ret_is_config);

/* A claim of a name that leads, or would lead, to one Service. */
struct alias_view {
    struct slice name; /* as given */
    struct slice key;  /* "/skydns/com/example/app"; empty: it is not allowed */
    struct slice owner_object;
    struct slice winner; /* the one that has it; empty: it is not allowed */
    bool is_won;         /* it leads here */
    const char *label;   /* of the key below */
    enum override_verdict verdict;
};

/* Each claim that leads to the owner "alias/prod/web"; borrowed during the call. */
void external_aliases_each(const struct external_aliases *aliases, struct slice owner,
                           void (*fn)(void *data, const struct alias_view *view), void *data);

/* Holds the owner's names, "alias/prod/web", or ends that; as often as it was held. While they are
 * held, not everything that leads to the Service is known. */
void external_aliases_hold(struct external_aliases *aliases, struct slice owner, bool is_held);
bool external_aliases_is_held(const struct external_aliases *aliases, struct slice owner);

struct external_aliases_counts {
    size_t names;   /* that somebody has */
    size_t taken;   /* claims of names that lead elsewhere */
    size_t refused; /* claims of names that may not be written */
    size_t held;    /* owners whose names are */
};
struct external_aliases_counts external_aliases_count(const struct external_aliases *aliases);

#endif
