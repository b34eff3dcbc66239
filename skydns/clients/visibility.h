/* Tells which namespaces' names a client may see with -visibility=own: its own, those that
 * everybody may see (-public-namespaces), and those whose Namespace object lists its namespace, or
 * "*". Built by the main thread, published with the configuration (engine_config.h), read by every
 * answering thread; never changed afterwards. */
#ifndef SKYDNS_CLIENTS_VISIBILITY_H
#define SKYDNS_CLIENTS_VISIBILITY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "skydns/clients/client_index.h"

enum {
    VISIBILITY_PUBLIC_MAX = 64,    /* of the flag: a cluster shares a handful of namespaces */
    VISIBILITY_LISTED_MAX = 65536, /* namespaces with the annotation; further ones stay hidden */
    /* Limits the names in one annotation: the namespace stays hidden from further ones. */
    VISIBILITY_NAMES_MAX = 1024,
    /* Limits the pairs of a namespace and one it lists, in all: some 100 MiB at worst. With more,
     * namespaces with the longest lists stay hidden from the rest. */
    VISIBILITY_PAIRS_MAX = 1024 * 1024,
};

/* Names seen by clients without a namespace; same order as the flag's choices. */
enum visibility_unknown { VISIBILITY_UNKNOWN_ALL, VISIBILITY_UNKNOWN_PUBLIC };

#define VISIBILITY_CHOICES         "all|own"
#define VISIBILITY_UNKNOWN_CHOICES "all|public"

/* Namespace with the annotation dns.kube2sky/visible-to, and its text: "team-b,team-c" or "*".
 * Blanks around names do not matter; words that are no namespace's name are ignored. */
struct visible_namespace {
    struct slice ns;
    struct slice text;
};

struct visibility;

/* Makes it; copies everything. Starts with one reference. Main thread. */
struct visibility *visibility_new(enum visibility_unknown unknown, const struct slice *public_names,
                                  size_t public_count, const struct visible_namespace *listed,
                                  size_t listed_count);

/* Add and drop a reference; any thread. The last unref frees. NULL is fine. */
struct visibility *visibility_ref(struct visibility *visibility);
void visibility_unref(struct visibility *visibility);

/* Returns whether anything is hidden from the client; NULL: it has no namespace. Any thread. */
bool visibility_limits(const struct visibility *visibility, const struct client_space *client);

/* Returns whether the client may see the namespace with this lower-case label. Any thread; costs a
 * comparison for its own, else at most two looks into hash tables and a search among the namespaces
 * that list its own. */
bool visibility_shows(const struct visibility *visibility, struct slice ns,
                      const struct client_space *client);

/* Calls fn once for each namespace that a client from whom something is hidden may see, whether or
 * not it exists, in no order, until fn returns false; then returns false. Hidden namespaces add
 * nothing to the cost. */
bool visibility_each(const struct visibility *visibility, const struct client_space *client,
                     bool (*fn)(void *data, struct slice ns), void *data);

#endif
