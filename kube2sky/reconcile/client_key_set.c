#include "kube2sky/reconcile/client_key_set_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

static struct slice key_of(const void *thing)
{
    return client_key_text(thing);
}

void client_key_set_init(struct client_key_set *set)
{
    *set = (struct client_key_set){.table = {.slots = NULL}};
    key_table_init(&set->table, key_of);
}

void client_key_set_fini(struct client_key_set *set)
{
    size_t at = 0;
    for (struct client_key_there *key; (key = key_table_next(&set->table, &at)); at++) {
        free(key);
    }
    key_table_fini(&set->table);
}

struct client_key_there *client_key_find(const struct client_key_set *set, struct slice text)
{
    return key_table_find(&set->table, text);
}

struct client_key_there *client_key_get(struct client_key_set *set, struct slice text)
{
    struct client_key_there *key = client_key_find(set, text);
    if (!key) {
        key = xcalloc(1, sizeof(*key) + text.len);
        key->key_len = (uint16_t)text.len;
        memcpy(key->key, text.ptr, text.len);
        (void)key_table_put(&set->table, key); /* was not there */
    }
    return key;
}

/* ---- Lists ---- */

static void unlink_key(struct client_key_set *set, struct client_key_there *key)
{
    struct client_key_list *list = &set->lists[key->state];
    *(key->previous ? &key->previous->next : &list->first) = key->next;
    *(key->next ? &key->next->previous : &list->last) = key->previous;
    list->count--;
    key->previous = key->next = NULL;
}

static void link_key(struct client_key_set *set, struct client_key_there *key)
{
    struct client_key_list *list = &set->lists[key->state];
    key->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = key;
    list->last = key;
    list->count++;
}

void client_key_move(struct client_key_set *set, struct client_key_there *key,
                     enum client_key_state state)
{
    if (key->state != CLIENT_KEY_SETTLED) {
        unlink_key(set, key);
    }
    key->state = (uint8_t)state;
    if (state != CLIENT_KEY_SETTLED) {
        link_key(set, key);
    } else if (!key->revision) {
        (void)key_table_take(&set->table, client_key_text(key));
        free(key);
    }
}

void client_key_move_all(struct client_key_set *set, enum client_key_state from,
                         enum client_key_state to)
{
    while (set->lists[from].first) {
        client_key_move(set, set->lists[from].first, to);
    }
}

void client_key_set_sweep(struct client_key_set *set, uint32_t generation)
{
    size_t at = 0;
    for (struct client_key_there *key; (key = key_table_next(&set->table, &at)); at++) {
        if (key->revision && key->generation != generation) {
            client_key_set_revision(set, key, 0);
            if (key->state != CLIENT_KEY_SENT) {
                client_key_move(set, key, CLIENT_KEY_CHANGED);
            }
        }
    }
}
