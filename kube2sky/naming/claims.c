#include "kube2sky/naming/claims.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/run_sort_internal.h"

struct claims_item {
    struct ip ip;
    uint8_t rank;
    uint16_t host_len;
    uint32_t host_at; /* offset into hosts */
};

/* Offsets have 32 bits; there are no more hosts than records. */
enum { HOSTS_MAX = DESIRED_BYTES_MAX };

int claim_compare(const struct claim *a, const struct claim *b)
{
    return a->rank != b->rank ? (int)a->rank - (int)b->rank : slice_compare(a->host, b->host);
}

int claim_compare_ips(const struct ip *a, const struct ip *b)
{
    int d = (int)a->family_bytes - (int)b->family_bytes;
    return d ? d : memcmp(a->bytes, b->bytes, a->family_bytes);
}

void claims_init(struct claims *claims)
{
    *claims = (struct claims){.items = NULL};
    buf_init(&claims->hosts, HOSTS_MAX);
}

void claims_fini(struct claims *claims)
{
    buf_fini(&claims->hosts);
    free(claims->items);
    *claims = (struct claims){.items = NULL};
}

void claims_clear(struct claims *claims)
{
    if (claims->hosts.cap > DESIRED_KEPT_BYTES) {
        claims_fini(claims);
        claims_init(claims);
    }
    buf_clear(&claims->hosts);
    claims->count = 0;
}

void claims_add(struct claims *claims, const struct claim *claim)
{
    claims->items =
        xgrow_array(claims->items, claims->count, &claims->cap, sizeof(struct claims_item));
    claims->items[claims->count++] = (struct claims_item){
        .ip = claim->ip,
        .rank = (uint8_t)claim->rank,
        .host_len = (uint16_t)claim->host.len,
        .host_at = (uint32_t)claims->hosts.len,
    };
    buf_append_slice(&claims->hosts, claim->host);
}

static struct claim claims_claim_of(const struct claims *claims, const struct claims_item *item)
{
    return (struct claim){
        .ip = item->ip,
        .rank = item->rank,
        .host = slice_of(claims->hosts.data + item->host_at, item->host_len),
    };
}

static int claims_compare_items(const void *a, const void *b, void *claims)
{
    struct claim x = claims_claim_of(claims, a), y = claims_claim_of(claims, b);
    int d = claim_compare_ips(&x.ip, &y.ip);
    return d ? d : claim_compare(&x, &y);
}

void claims_seal(struct claims *claims)
{
    size_t kept = 0;
    run_sort(claims->items, claims->count, sizeof(struct claims_item), claims_compare_items,
             claims);
    for (size_t i = 0; i < claims->count; i++) {
        if (kept == 0 ||
            claim_compare_ips(&claims->items[kept - 1].ip, &claims->items[i].ip) != 0) {
            claims->items[kept++] = claims->items[i];
        }
    }
    claims->count = kept;
}

struct claim claims_get(const struct claims *claims, size_t index)
{
    return claims_claim_of(claims, &claims->items[index]);
}

/* ---- Addresses ---- */

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
    list->ips = xgrow_array(list->ips, list->count, &list->cap, sizeof(*list->ips));
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
