/* Reads the pods' keys in the record store, which say whose client an address is:
 *
 *     /skydns/local/cluster/pod/<namespace>/<address with dashes>/<hash>  {"host":"10.1.0.5"}
 *
 *     names put and deleted --store before, store after--> client_index
 *
 * Follows versions as stub_keys does, but by the names that changed: takes back what a pod's key
 * said in the version before, and adds what it says now. So a change costs the same whatever else
 * there is. Owned by clients.c; main thread. */
#ifndef SKYDNS_SYNC_CLIENT_PODS_INTERNAL_H
#define SKYDNS_SYNC_CLIENT_PODS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"

struct client_index;
struct store;

enum {
    /* Limits the names of one version, of 60 bytes each: the mirror commits less at once. With
     * more, all pods are gone through, which costs no more then. */
    CLIENT_PODS_NOTED_MAX = 16384,
};

struct client_pods_domain {
    struct dname pods; /* pod.<domain>; len 0: the name is too long for keys below it */
    bool is_known;     /* which addresses its pods share with nodes; before that, no address
                          identifies a client */
};

struct client_pods {
    struct client_index *index; /* borrowed */
    const struct store *store;  /* the version followed last; NULL: none, or all is to be read */
    size_t domain_count;
    struct client_pods_domain domains[ENGINE_ZONES_MAX];
    size_t noted_count;
    struct buf noted; /* wire names, one behind the other; those noted twice are there twice */
};

void client_pods_init(struct client_pods *pods, struct client_index *index);
void client_pods_fini(struct client_pods *pods);

/* Sets the domains, in lower case. Nothing is known of them until all pods are read. */
void client_pods_set_domains(struct client_pods *pods, const struct dname *domains, size_t count);

/* Notes a name whose record may be missing, new or changed in the version followed next. Costs a
 * comparison for each domain. */
void client_pods_note(struct client_pods *pods, const struct dname *name);

/* Makes the next version's pods be read in full. */
void client_pods_read_again(struct client_pods *pods);

/* Returns true if all pods must be read: client_pods_follow would not be enough. */
bool client_pods_is_to_read(const struct client_pods *pods);

/* Follows a version. Call before it is published, so that the one before is still whole. */
void client_pods_follow(struct client_pods *pods, const struct store *store);

/* Adds all pods of the version to the index, which has none. Noted names stay noted. */
void client_pods_read(struct client_pods *pods, const struct store *store);

#endif
