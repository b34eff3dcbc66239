#include "kube2sky/naming/topology_value.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/claims.h"

/* Limits a zone, as Kubernetes limits label values. */
enum { ZONE_MAX = 63 };

struct placed {
    struct ip ip;
    const char *zone;
};

bool topology_value_is_marked(const struct kube_object *service)
{
    return service && !service->is_garbled && service->service.is_headless &&
           service->service.prefers_near && !service->service.publish_not_ready;
}

static bool topology_value_is_zone(const char *zone)
{
    size_t len = strspn(zone, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return len > 0 && len <= ZONE_MAX && zone[len] == '\0';
}

/* Appends the ready addresses of a slice that have a zone; `placed` NULL: only counts them. */
static size_t take_placed(const struct kube_slice *slice, struct placed *placed)
{
    size_t count = 0;
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        const struct kube_slice_endpoint *endpoint = &slice->endpoints[i];
        const char *zone = kube_slice_zone(slice, endpoint);
        for (uint32_t k = 0;
             endpoint->is_ready && topology_value_is_zone(zone) && k < endpoint->address_count;
             k++) {
            struct ip ip;
            if (!ip_parse_sloppy(slice_str(endpoint->addresses[k]), &ip)) {
                continue;
            }
            if (placed) {
                placed[count] = (struct placed){.ip = ip, .zone = zone};
            }
            count++;
        }
    }
    return count;
}

/* Orders by address; of equal ones, in two slices while an endpoint moves, by zone. */
static int topology_value_compare(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int d = claim_compare_ips(&x->ip, &y->ip);
    return d ? d : strcmp(x->zone, y->zone);
}

static size_t take_all_placed(const struct owner_objects *objects, struct placed *placed)
{
    size_t count = 0;
    for (size_t i = 0; i < objects->part_count; i++) {
        const struct kube_object *part = objects->parts[i];
        if (part->kind == KUBE_SLICE && !part->is_garbled &&
            part->slice.address_type != KUBE_FQDN) {
            count += take_placed(&part->slice, placed ? placed + count : NULL);
        }
    }
    return count;
}

enum topology_value topology_value_build(const struct owner_objects *objects, struct buf *out)
{
    buf_clear(out);
    if (!topology_value_is_marked(objects->service)) {
        return TOPOLOGY_VALUE_NONE;
    }
    size_t count = take_all_placed(objects, NULL);
    if (count == 0) {
        return TOPOLOGY_VALUE_NONE;
    }
    struct placed *placed = xcalloc(count, sizeof(*placed));
    (void)take_all_placed(objects, placed); /* `count` */
    qsort(placed, count, sizeof(*placed), topology_value_compare);
    char separator = '{', text[INET6_ADDRSTRLEN];
    for (size_t i = 0; i < count && out->len <= TOPOLOGY_VALUE_MAX; i++) {
        if (i > 0 && ip_equal(&placed[i - 1].ip, &placed[i].ip)) {
            continue;
        }
        buf_append_char(out, separator);
        buf_append_char(out, '"');
        buf_append_str(out, ip_format(&placed[i].ip, text));
        buf_append_str(out, "\":\"");
        buf_append_str(out, placed[i].zone);
        buf_append_char(out, '"');
        separator = ',';
    }
    buf_append_char(out, '}');
    free(placed);
    return out->failed || out->len > TOPOLOGY_VALUE_MAX ? TOPOLOGY_VALUE_TOO_LONG
                                                        : TOPOLOGY_VALUE_WANTED;
}
