/* Holds the reverse names that one owner claims: naming fills it, reverse decides between owners.
 * An address has one name in DNS, so claims are ranked. Pure; reuses memory (see desired.h). */
#ifndef KUBE2SKY_NAMING_CLAIMS_H
#define KUBE2SKY_NAMING_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/slice.h"

/* Ranks claims; smaller is better. */
enum claim_rank {
    CLAIM_CLUSTER_IP, /* a Service's own address */
    CLAIM_HOSTNAME,   /* an endpoint with an explicit hostname */
    CLAIM_HASH,       /* an endpoint under another label: its hash, address or pod's name */
    /* An import only names an address that nothing else does. */
    CLAIM_IMPORT_IP,       /* an import's own address, */
    CLAIM_IMPORT_HOSTNAME, /* and its endpoints, likewise */
    CLAIM_IMPORT_HASH,
};

struct claim {
    struct ip ip;
    enum claim_rank rank;
    struct slice host; /* "web-0.web.default.svc.cluster.local." */
};

/* Compares two claims on one address by rank, then by host in byte order. Returns < 0 if a wins; 0
 * only if both are equal. */
int claim_compare(const struct claim *a, const struct claim *b);

/* Compares addresses in a fixed order: IPv4 before IPv6. */
int claim_compare_ips(const struct ip *a, const struct ip *b);

struct claims {
    struct buf hosts;
    struct claims_item *items;
    size_t count;
    size_t cap;
};

void claims_init(struct claims *claims);
void claims_fini(struct claims *claims);
void claims_clear(struct claims *claims);

/* Copies the claim. */
void claims_add(struct claims *claims, const struct claim *claim);

/* Sorts by address and keeps the best claim on each. */
void claims_seal(struct claims *claims);

/* Returns a claim, borrowed until the next change. */
struct claim claims_get(const struct claims *claims, size_t index);

/* Holds a set of addresses in the order of claim_compare_ips. */
struct ip_list {
    struct ip *ips;
    size_t count;
    size_t cap;
};

void ip_list_fini(struct ip_list *list);
void ip_list_clear(struct ip_list *list); /* does not free memory */

/* Appends, unsorted. */
void ip_list_add(struct ip_list *list, const struct ip *ip);

/* Sorts and removes duplicates. */
void ip_list_seal(struct ip_list *list);

#endif
