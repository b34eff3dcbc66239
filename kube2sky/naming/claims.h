/* The reverse names one owner asks for: naming fills it, reverse decides between owners. An address
 * has one name in DNS, so a claim says how good it is. Pure; memory is kept between uses (see
 * desired.h). */
#ifndef KUBE2SKY_NAMING_CLAIMS_H
#define KUBE2SKY_NAMING_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/slice.h"

/* Smaller is better. */
enum claim_rank {
    CLAIM_CLUSTER_IP, /* a Service's own address */
    CLAIM_HOSTNAME,   /* an endpoint that was given a hostname */
    CLAIM_HASH,       /* an endpoint under its hash label */
};

struct claim {
    struct ip ip;
    enum claim_rank rank;
    struct slice host; /* "web-0.web.default.svc.cluster.local." */
};

/* Which of two claims on one address is better: < 0 when a is. By rank, then the smallest host in
 * byte order; 0 only when they say the same. */
int claim_compare(const struct claim *a, const struct claim *b);

/* Any order of addresses, the same always: IPv4 before IPv6. */
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

/* Copies. The caller stays below DESIRED_MAX. */
void claims_add(struct claims *claims, const struct claim *claim);

/* Sorts by address; of several claims on one the best stays. */
void claims_seal(struct claims *claims);

/* Borrowed until the next change. */
struct claim claims_get(const struct claims *claims, size_t index);

#endif
