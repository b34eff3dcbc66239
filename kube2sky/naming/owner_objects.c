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
    if (objects->part_count == objects->part_cap) {
        objects->part_cap = objects->part_cap ? objects->part_cap * 2 : 4;
        objects->parts =
            xrealloc_array(objects->parts, objects->part_cap, sizeof(objects->parts[0]));
    }
    objects->parts[objects->part_count++] = part;
}
