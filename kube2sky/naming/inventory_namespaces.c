#include "kube2sky/naming/inventory_namespaces_internal.h"

#include <string.h>

#include "kube2sky/naming/contract.h"

/* The Kubernetes API's limit of a namespace's name. */
enum { NAMESPACE_NAME_MAX = 63 };

static struct slice inventory_namespaces_of(struct slice id)
{
    const char *slash = id.len ? memchr(id.ptr, '/', id.len) : NULL;
    return slice_of(id.ptr, slash ? (size_t)(slash - id.ptr) : id.len);
}

bool inventory_namespaces_has(const struct index *index, struct slice id)
{
    char entry_id[1 + NAMESPACE_NAME_MAX] = "/";
    const struct slice ns = inventory_namespaces_of(id);
    if (!index->selects_namespaces) {
        return true;
    }
    if (ns.len == 0 || ns.len > NAMESPACE_NAME_MAX) {
        return false;
    }
    memcpy(entry_id + 1, ns.ptr, ns.len);
    return index_find(index, KUBE_NAMESPACE, slice_of(entry_id, 1 + ns.len)) != NULL;
}

static bool is_in(struct slice id, const char *ns)
{
    return !ns || slice_equal(inventory_namespaces_of(id), slice_str(ns));
}

void inventory_namespaces_tell(struct index *index, const char *ns)
{
    const struct entry *entry;
    for (size_t at = 0; (entry = key_table_next(&index->kinds[KUBE_SERVICE], &at)); at++) {
        if (is_in(slice_of(entry->id, entry->id_len), ns)) {
            index_tell(index, KUBE_SERVICE, entry);
        }
    }
    struct slice address;
    for (size_t at = 0; index_next_address(index, &at, &address); at++) {
        if (is_in(address, ns)) {
            index_tell_address(index, address);
        }
    }
}
