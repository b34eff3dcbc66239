/* The pods' keys in the store, which say whose client an address is:
 *
 *     /skydns/local/cluster/pod/<namespace>/<address with dashes>/<hash>  {"host":"10.1.0.5"}
 *
 *     names put and deleted --store before, store after--> client_index
 *
 * Follows the store as stub_keys does, but by the names that changed: what a pod's key said in the
 * version before is taken back, what it says now is added. So a change costs the same whatever else
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
    /* Names of one version, of 60 bytes each: the mirror commits less at once. More, and all pods
     * are gone through, which costs no more then. */
    CLIENT_PODS_NOTED_MAX = 16384,
};

struct client_pods_domain {
    struct dname pods; /* pod.<domain>; len 0: the name is too long for keys below it */
    bool is_known;     /* which addresses its pods share with nodes; until then, all identify
                          nobody */
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

/* Lower case. Nothing is known of them; all pods are to be read. */
void client_pods_set_domains(struct client_pods *pods, const struct dname *domains, size_t count);

/* A name has or had a record that the version followed next may lack, have or have changed. Costs a
 * comparison for each domain. */
void client_pods_note(struct client_pods *pods, const struct dname *name);

/* All pods are to be read from the version that comes next. */
void client_pods_read_again(struct client_pods *pods);

/* Whether client_pods_follow would not do. */
bool client_pods_is_to_read(const struct client_pods *pods);

/* Before the version is published, so that the one before is still whole. */
void client_pods_follow(struct client_pods *pods, const struct store *store);

/* Adds all pods of the version to the index, which has none. Names noted stay so. */
void client_pods_read(struct client_pods *pods, const struct store *store);

#endif
