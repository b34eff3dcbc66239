#include "kube2sky/naming/client_keys.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct client_keys {
    struct client_keys_config config;
};

struct client_keys *client_keys_new(const struct client_keys_config *config)
{
    struct client_keys *keys = xcalloc(1, sizeof(*keys));
    keys->config = *config;
    return keys;
}

void client_keys_free(struct client_keys *keys)
{
    free(keys);
}

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind)
{
    (void)keys;
    (void)kind;
}

void client_keys_upsert(struct client_keys *keys, const struct kube_object *object)
{
    (void)keys;
    (void)object;
}

void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name)
{
    (void)keys;
    (void)kind;
    (void)ns;
    (void)name;
}

void client_keys_list_end(struct client_keys *keys, enum kube_kind kind)
{
    (void)keys;
    (void)kind;
}

struct slice client_keys_value(const struct client_keys *keys, struct slice key)
{
    (void)keys;
    (void)key;
    return slice_of(NULL, 0);
}

void client_keys_each(const struct client_keys *keys,
                      void (*fn)(void *data, struct slice key, struct slice value), void *data)
{
    (void)keys;
    (void)fn;
    (void)data;
}

bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part)
{
    (void)keys;
    (void)part;
    return false;
}
