/* The objects behind one owner's keys: inventory fills it, naming reads it. An owner's id
 * is the path of its keys below the domain, "svc/default/web", "pod/default/10-1-0-1" or
 * "node/internal/ec2/ip-10-0-0-1", the labels of a Node's name in reverse. The objects are borrowed
 * until the inventory changes; keeps memory between uses. Single-threaded. */
#ifndef KUBE2SKY_NAMING_OWNER_OBJECTS_H
#define KUBE2SKY_NAMING_OWNER_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct owner_objects {
    /* For a svc/ owner */
    const struct kube_object *service; /* NULL: none */
    const struct kube_object **parts;  /* its Endpoints, or its slices in any order */
    size_t part_count;
    size_t part_cap;
    /* One of these, or the Node below, is garbled or bare, and left out; or a Node may yet be
     * listed above it: its keys may be wanted. */
    bool is_in_doubt;

    /* For a pod/ owner: the address of a pod that has not ended. */
    struct slice pod_ns;   /* ptr NULL: no pod */
    struct slice pod_name; /* as in the owner's id: the address's label */
    struct ip pod_ip;      /* family 0: the pod's address is invalid; pod_name has its text */

    /* For a node/ owner */
    const struct kube_object *node; /* NULL: none */
    const char *node_above; /* the name of another Node, which this one's ends with; "": none */
};

void owner_objects_init(struct owner_objects *objects);
void owner_objects_fini(struct owner_objects *objects);
void owner_objects_clear(struct owner_objects *objects);
void owner_objects_add_part(struct owner_objects *objects, const struct kube_object *part);

/* The addresses that the parts list, each as often as it has records: what naming them costs,
 * however few records come of it. */
size_t owner_objects_work(const struct owner_objects *objects);

#endif
