#include "tests/support/skydns/records.h"

static bool records_stop(void *data, const struct store_node *child)
{
    (void)data;
    (void)child;
    return false;
}

bool records_are_below(const struct store_node *node)
{
    return !store_each_child(node, records_stop, NULL);
}

struct visit {
    records_fn fn;
    void *data;
};

static bool visit_visible(void *data, const struct store_node *child)
{
    const struct visit *visit = data;
    struct slice label = store_node_label(child);
    bool is_hidden = label.len > 0 && label.ptr[0] == '_';
    return is_hidden || records_each_visible(child, visit->fn, visit->data);
}

bool records_each_visible(const struct store_node *node, records_fn fn, void *data)
{
    struct visit visit = {fn, data};
    const struct store_record *record = store_node_record(node);
    return (!record || fn(data, record)) && store_each_child(node, visit_visible, &visit);
}
