#include "kube2sky/naming/owner_objects.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

void owner_objects_init(struct owner_objects *objects)
{
    *objects = (struct owner_objects){.service = NULL};
}

void owner_objects_fini(struct owner_objects *objects)
{
    free(objects->parts);
    owner_objects_init(objects);
}

void owner_objects_clear(struct owner_objects *objects)
{
    *objects = (struct owner_objects){.parts = objects->parts, .part_cap = objects->part_cap};
}

void owner_objects_add_part(struct owner_objects *objects, const struct kube_object *part)
{
    objects->parts = xgrow_array(objects->parts, objects->part_count, &objects->part_cap,
                                 sizeof(*objects->parts));
    objects->parts[objects->part_count++] = part;
}

static size_t slice_work(const struct kube_slice *slice)
{
    size_t addresses = slice->endpoint_count;
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        addresses += slice->endpoints[i].address_count;
    }
    return addresses * (1 + slice->port_count);
}

static size_t endpoints_work(const struct kube_endpoints *endpoints)
{
    size_t work = 0;
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        const struct kube_subset *subset = &endpoints->subsets[i];
        work += subset->address_count * (1 + subset->port_count);
    }
    return work;
}

size_t owner_objects_work(const struct owner_objects *objects)
{
    size_t work = 0;
    for (size_t i = 0; i < objects->part_count; i++) {
        const struct kube_object *part = objects->parts[i];
        work +=
            part->kind == KUBE_SLICE ? slice_work(&part->slice) : endpoints_work(&part->endpoints);
    }
    return work;
}
