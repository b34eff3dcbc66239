/* Holds a set of addresses in the order of claim_compare_ips. Plain data. */
#ifndef KUBE2SKY_NAMING_IP_LIST_H
#define KUBE2SKY_NAMING_IP_LIST_H

#include <stddef.h>

#include "common/base/addr.h"

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
