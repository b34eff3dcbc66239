/* Decides which object gets each external name, from the claims of all: a table name -> claims.
 * A Service claims names by the annotation dns.kube2sky/aliases, an Ingress or a route by its
 * hosts, for the Service that it leads to (route_rules.h), and the ConfigMap by its `records`.
 *
 * If several claim a name, the ConfigMap wins, else the oldest Service, else the oldest Ingress or
 * route; of the same age, the first by namespace/name. If the winner of app.example.com leads to
 * the Service prod/web, etcd gets, with D for the domain,
 *
 *     /skydns/com/example/app/<hash>   host web.prod.svc.D., targetstrip 1
 *
 * where <hash> is that of "prod/web": so a key tells whose it is (ownership_internal.h), and
 * targetstrip takes the hash off the name. The ConfigMap's names are written by config_map.h's
 * rules.
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

/* Bounds the names that one Service may claim: an annotation may have 256 KiB. */
enum { EXTERNAL_ALIASES_OBJECT_MAX = 64 };

/* Bounds the names that the objects of one namespace claim. An owner's share of etcd does not bound
 * them: Ingresses of all namespaces lead to the same few Services. 20,000 take 5 MB. */
enum { EXTERNAL_ALIASES_NAMESPACE_MAX = 20000 };

/* Bytes of a key and its value, at most. */
enum { EXTERNAL_ALIASES_RECORD_BYTES = 768 };

struct external_aliases;

struct external_aliases_config {
    const struct override_zones *zones; /* outlives it */
    const char *domain;                 /* "cluster.local.", lower case; borrowed for good */
    uint32_t ttl_s;
    /* Reports that the owner "alias/prod/web" wants other keys than before, or none. Called inside
     * the functions below; must not call them. */
    void (*changed)(void *data, struct slice owner);
    /* Reports that the owner object "ingress/prod/shop" claims nothing more; likewise. NULL: not
     * wanted. */
    void (*unclaimed)(void *data, struct slice owner_object);
    void *data;
};

/* Bounds the owners held at once: one for each rule of --ingress and --gateway, 64 of each. */
enum { EXTERNAL_ALIASES_HELD_MAX = 128 };

struct external_aliases *external_aliases_new(const struct external_aliases_config *config);
void external_aliases_free(struct external_aliases *aliases); /* NULL is fine */

/* Ranks claims: the smaller one wins. */
enum alias_rank { ALIAS_OF_CONFIG_MAP, ALIAS_OF_SERVICE, ALIAS_OF_ROUTE };

struct alias_owner_object {
    struct slice id;     /* "svc/prod/web", "ingress/prod/shop", "route/prod/shop" */
    struct slice ns;     /* the object's; empty for the ConfigMap, which may use every zone */
    struct slice target; /* "prod/web"; empty for the ConfigMap */
    int64_t created_s;
    enum alias_rank rank;
};

/* Replaces all claims of the owner object. Names are as people write them, and count once each;
 * count 0 ends its claims. */
void external_aliases_set(struct external_aliases *aliases,
                          const struct alias_owner_object *owner_object, const struct slice *names,
                          size_t count);

/* Does the same with the text of an annotation: names with commas between them. */
void external_aliases_set_text(struct external_aliases *aliases,
                               const struct alias_owner_object *owner_object, struct slice text);

/* Reports the owner of the names that lead to the Service "prod/web" as changed, if there are any:
 * whether it may have them can have changed. */
void external_aliases_tell(struct external_aliases *aliases, struct slice target);

/* Fills both sets (cleared first, sealed after) with keys and values of the owner "alias/prod/web":
 * `wanted` with those to be written, `left` with the others that lead to it. A key is left if
 * another object has the name, if is_taken says so (somebody else has keys at name_key,
 * "/skydns/com/example/app", or has the key itself), or beyond names_max. Then the namespaces whose
 * objects claim names share names_max evenly, except that none gets more than it claims. */
void external_aliases_build(struct external_aliases *aliases, struct slice owner, size_t names_max,
                            bool (*is_taken)(const void *data, struct slice name_key,
                                             struct slice key),
                            const void *data, struct desired *wanted, struct desired *left);

/* Returns the owner that the name leads to now; empty: nobody claims it, or the ConfigMap does:
 * then *ret_is_config is set. Borrowed until the next change. */
struct slice external_aliases_owner(const struct external_aliases *aliases, struct slice name_key,
                                    bool *ret_is_config);

/* A claim of a name that leads, or would lead, to one Service. */
struct alias_view {
    struct slice name; /* as given */
    struct slice key;  /* "/skydns/com/example/app"; empty: it is not allowed */
    struct slice owner_object;
    struct slice winner; /* the object that has the name; empty: it is not allowed */
    bool is_won;         /* the name leads to this Service */
    const char *label;   /* the record's last label, below `key` */
    enum override_verdict verdict;
};

/* Calls fn for each claim that leads to the owner "alias/prod/web"; borrowed during the call. */
void external_aliases_each(const struct external_aliases *aliases, struct slice owner,
                           void (*fn)(void *data, const struct alias_view *view), void *data);

/* Holds the names of the owner "alias/prod/web", so that none is removed, until is_held = false has
 * come as often as true. They are held while not everything that leads to the Service is known. */
void external_aliases_hold(struct external_aliases *aliases, struct slice owner, bool is_held);
bool external_aliases_is_held(const struct external_aliases *aliases, struct slice owner);

struct external_aliases_counts {
    size_t names;   /* names with a winner */
    size_t taken;   /* claims whose name leads to another Service */
    size_t refused; /* claims of names that may not be written */
    size_t held;    /* owners whose names are held, once for each hold */
};
struct external_aliases_counts external_aliases_count(const struct external_aliases *aliases);

#endif
