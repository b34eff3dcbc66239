#include "kube2sky/naming/node_names_internal.h"

#include <string.h>
#include <strings.h>

#include "common/dns/dname.h"
#include "kube2sky/naming/contract.h"

enum { INVALID_MARK = '!' };

static void append_reversed(struct slice text, char from, char to, struct buf *out)
{
    do {
        buf_append_lower(out, slice_cut_last(&text, from));
        if (text.len) {
            buf_append_char(out, to);
        }
    } while (text.len);
}

void node_names_append_owner(struct slice name, struct buf *out)
{
    buf_append_str(out, NODE_PREFIX);
    if (dname_is_host(name)) {
        append_reversed(name, '.', '/', out);
    } else {
        buf_append_char(out, INVALID_MARK);
        buf_append_slice(out, name);
    }
}

static void node_names_append_name(struct slice path, struct buf *out)
{
    if (path.len && path.ptr[0] == INVALID_MARK) {
        buf_append_slice(out, slice_skip(path, 1));
    } else {
        append_reversed(path, '/', '.', out);
    }
}

bool node_names_from_owner(struct slice owner, struct buf *out)
{
    size_t prefix_len = strlen(NODE_PREFIX);
    struct buf again;
    buf_clear(out);
    if (!slice_has_prefix(owner, slice_str(NODE_PREFIX))) {
        return false;
    }
    node_names_append_name(slice_skip(owner, prefix_len), out);
    buf_init(&again, NODE_NAME_MAX);
    node_names_append_owner(buf_slice(out), &again);
    bool is_same = slice_equal(buf_slice(&again), owner);
    buf_fini(&again);
    if (!is_same) {
        buf_clear(out);
    }
    return is_same;
}

/* Returns the name without its first label; empty if it has only one. */
static struct slice node_names_above(struct slice name)
{
    (void)slice_cut(&name, '.');
    return name;
}

/* Returns whether the name ends in ".<above>", in any case. */
static bool node_names_is_below(struct slice name, struct slice above)
{
    if (name.len <= above.len + 1 || above.len == 0) {
        return false;
    }
    struct slice end = slice_skip(name, name.len - above.len);
    return end.ptr[-1] == '.' && strncasecmp(end.ptr, above.ptr, above.len) == 0;
}

/* ---- The inventory's Nodes ---- */

/* Length of the prefix of an entry's id without a namespace: "/worker-1". */
enum { ID_PREFIX_LEN = 1 };

static struct slice inventory_nodes_name_of(const struct entry *entry)
{
    return slice_of(entry->id + ID_PREFIX_LEN, (size_t)entry->id_len - ID_PREFIX_LEN);
}

static const struct entry *inventory_nodes_find(const struct index *index, struct slice name)
{
    struct buf id;
    buf_init(&id, NODE_NAME_MAX + ID_PREFIX_LEN);
    buf_append_char(&id, '/');
    buf_append_slice(&id, name);
    const struct entry *entry = index_find(index, KUBE_NODE, buf_slice(&id));
    buf_fini(&id);
    return entry;
}

/* Returns the name of the nearest Node above the name; "" if there is none. */
static const char *find_above(const struct index *index, struct slice name)
{
    const struct entry *entry = NULL;
    for (name = node_names_above(name); name.len && !entry; name = node_names_above(name)) {
        entry = inventory_nodes_find(index, name);
    }
    return entry ? entry->object->name : "";
}

bool inventory_nodes_is_owner(struct slice owner)
{
    return slice_has_prefix(owner, slice_str(NODE_PREFIX));
}

void inventory_nodes_get(const struct index *index, struct slice owner, bool are_known,
                         struct owner_objects *objects)
{
    struct buf name;
    buf_init(&name, NODE_NAME_MAX);
    bool is_name = node_names_from_owner(owner, &name);
    const struct entry *entry = is_name ? inventory_nodes_find(index, buf_slice(&name)) : NULL;
    bool has_dot = node_names_above(buf_slice(&name)).len > 0;
    if (entry && (entry->object->is_garbled || (has_dot && !are_known))) {
        objects->is_in_doubt = true;
    } else if (entry) {
        objects->node = entry->object;
        objects->node_above = find_above(index, buf_slice(&name));
    }
    buf_fini(&name);
}

void inventory_nodes_tell_below(struct index *index, const char *name)
{
    const struct entry *entry;
    for (size_t at = 0; (entry = key_table_next(&index->kinds[KUBE_NODE], &at)); at++) {
        if (node_names_is_below(inventory_nodes_name_of(entry), slice_str(name))) {
            index_tell(index, KUBE_NODE, entry);
        }
    }
}

void inventory_nodes_tell_dotted(struct index *index)
{
    const struct entry *entry;
    for (size_t at = 0; (entry = key_table_next(&index->kinds[KUBE_NODE], &at)); at++) {
        if (memchr(entry->id, '.', entry->id_len)) {
            index_tell(index, KUBE_NODE, entry);
        }
    }
}
