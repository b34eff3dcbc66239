/* For tests of the inventory: one whose changes and wishes are noted as text, and its objects. */
#ifndef TESTS_UNIT_KUBE2SKY_NAMING_INVENTORY_BED_H
#define TESTS_UNIT_KUBE2SKY_NAMING_INVENTORY_BED_H

#include "common/base/buf.h"
#include "kube2sky/naming/inventory.h"
#include "tests/unit/kube2sky/objects.h"

struct fixture {
    struct inventory *inventory;
    struct owner_objects objects;
    struct buf changed; /* "owner owner " since the last check */
    struct buf wanted;  /* "ns/service ", whose parts are */
    struct buf parts;
};

static inline void note_change(void *data, struct slice owner)
{
    struct fixture *f = data;
    buf_append_slice(&f->changed, owner);
    buf_append_char(&f->changed, ' ');
}

static inline void note_wanted(void *data, const char *ns, const char *service)
{
    struct fixture *f = data;
    buf_printf(&f->wanted, "%s/%s ", ns, service);
}

static inline struct fixture *new_fixture(bool is_narrowed)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    buf_init(&f->changed, 1 << 20);
    buf_init(&f->wanted, 1 << 20);
    buf_init(&f->parts, 1 << 20);
    owner_objects_init(&f->objects);
    f->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = is_narrowed,
        .changed = note_change,
        .parts_wanted = note_wanted,
        .data = f,
    });
    return f;
}

static inline int set_up(void **state)
{
    *state = new_fixture(false);
    return 0;
}

static inline int set_up_narrowed(void **state)
{
    *state = new_fixture(true);
    return 0;
}

/* With slices instead of Endpoints. */
static inline int set_up_slices(void **state)
{
    struct fixture *f = new_fixture(false);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    inventory_free(f->inventory);
    owner_objects_fini(&f->objects);
    buf_fini(&f->changed);
    buf_fini(&f->wanted);
    buf_fini(&f->parts);
    free(f);
    return 0;
}

static inline void assert_changed(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->changed), want);
    buf_clear(&f->changed);
}

static inline void assert_wanted(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->wanted), want);
    buf_clear(&f->wanted);
}

static inline void put_service(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'None'"));
}

static inline void put_cluster_ip(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'10.0.0.7'"));
}

static inline void put_endpoints(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.0.0.1'}]}"));
}

static inline void fill_endpoints(struct fixture *f, const char *ns, const char *name)
{
    inventory_fill(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.0.0.1'}]}"));
}

static inline struct kube_object *slice_of_service(const char *name, const char *service,
                                                   const char *ip)
{
    CLEANUP_FREE char *rest =
        xasprintf("'addressType':'IPv4','endpoints':[{'addresses':['%s']}]", ip);
    return slice_from("default", name, service, rest);
}

static inline void put_slice(struct fixture *f, const char *name, const char *service)
{
    inventory_upsert(f->inventory,
                     slice_from("default", name, service, "'addressType':'IPv4','endpoints':[]"));
}

static inline void put_pod(struct fixture *f, const char *ns, const char *name, const char *status)
{
    inventory_upsert(f->inventory, pod_from(ns, name, status));
}

static inline int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct kube_object *const *)a)->name,
                  (*(const struct kube_object *const *)b)->name);
}

/* Checks an owner's objects: "S web-1 web-2 " for a Service and its parts by name, "P default
 * 10-0-0-1" for a pod's address, or ""; "? " comes first if it is in doubt. */
static inline void assert_has(struct fixture *f, const char *owner, const char *want)
{
    struct owner_objects *objects = &f->objects;
    buf_clear(&f->parts);
    inventory_get(f->inventory, slice_str(owner), objects);
    if (objects->is_in_doubt) {
        buf_append_str(&f->parts, "? ");
    }
    if (objects->service) {
        buf_append_str(&f->parts, "S ");
    }
    if (objects->part_count) {
        qsort(objects->parts, objects->part_count, sizeof(objects->parts[0]), compare_names);
    }
    for (size_t i = 0; i < objects->part_count; i++) {
        buf_printf(&f->parts, "%s ", objects->parts[i]->name);
    }
    if (objects->pod_ns.ptr) {
        char ip[INET6_ADDRSTRLEN];
        buf_printf(&f->parts, "P %.*s %.*s %s", (int)objects->pod_ns.len, objects->pod_ns.ptr,
                   (int)objects->pod_name.len, objects->pod_name.ptr,
                   ip_format(&objects->pod_ip, ip));
    }
    assert_string_equal(buf_cstr(&f->parts), want);
}

static inline void list_services(struct fixture *f, const char *const *names)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    for (; *names; names++) {
        put_service(f, "default", *names);
    }
    inventory_list_end(f->inventory, KUBE_SERVICE);
}

static inline void list_nothing(struct fixture *f, enum kube_kind kind)
{
    inventory_list_begin(f->inventory, kind);
    inventory_list_end(f->inventory, kind);
}

static inline void garble(struct fixture *f, enum kube_kind kind, const char *name,
                          const char *service)
{
    inventory_upsert(f->inventory, garbled_from(kind, "default", name, service));
}

static inline bool may_delete(const struct fixture *f, const char *owner)
{
    return inventory_may_delete(f->inventory, slice_str(owner));
}

#endif
