#include "kube2sky/naming/ip_list.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "kube2sky/naming/claims.h"

void ip_list_fini(struct ip_list *list)
{
    free(list->ips);
    *list = (struct ip_list){.ips = NULL};
}

void ip_list_clear(struct ip_list *list)
{
    list->count = 0;
}

void ip_list_add(struct ip_list *list, const struct ip *ip)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 4;
        list->ips = xrealloc_array(list->ips, list->cap, sizeof(*list->ips));
    }
    list->ips[list->count++] = *ip;
}

static int ip_list_compare(const void *a, const void *b)
{
    return claim_compare_ips(a, b);
}

void ip_list_seal(struct ip_list *list)
{
    size_t kept = 0;
    if (list->count > 1) {
        qsort(list->ips, list->count, sizeof(*list->ips), ip_list_compare);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || claim_compare_ips(&list->ips[kept - 1], &list->ips[i]) != 0) {
            list->ips[kept++] = list->ips[i];
        }
    }
    list->count = kept;
}
