#include "common/live/live_event.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

/* Casts a node to jansson's value: a node is that under a name of ours. jansson counts references
 * in values that it only reads, so the casts drop const. */
static json_t *live_event_value_of(const struct live_node *node)
{
    union {
        const struct live_node *node;
        json_t *value;
    } both = {.node = node};
    return both.value;
}

static struct live_node *node_of(json_t *value)
{
    return (struct live_node *)value;
}

struct live_node *live_event_parse(struct slice text)
{
    json_t *value = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(value)) {
        json_decref(value);
        return NULL;
    }
    return node_of(value);
}

struct live_node *live_event_share(struct live_node *event)
{
    return node_of(json_incref(live_event_value_of(event)));
}

void live_event_free(struct live_node *event)
{
    json_decref(live_event_value_of(event));
}

void live_event_put(struct live_node *object, const char *name, struct live_node *node)
{
    (void)json_object_set(live_event_value_of(object), name,
                          live_event_value_of(node)); /* fails for names that are no UTF-8 */
}

const struct live_node *live_get(const struct live_node *object, const char *name)
{
    return node_of(json_object_get(live_event_value_of(object), name));
}

const struct live_node *live_find(const struct live_node *node, const char *path)
{
    char name[LIVE_PATH_MAX];
    while (*path && strcmp(path, ".") != 0) {
        size_t len = strcspn(path, "/");
        assert(len < sizeof(name));
        memcpy(name, path, len);
        name[len] = '\0';
        node = live_get(node, name);
        path += len + (path[len] == '/');
    }
    return node;
}

double live_number(const struct live_node *object, const char *name)
{
    return json_number_value(live_event_value_of(live_get(object, name)));
}

double live_value(const struct live_node *node, double absent)
{
    return json_is_number(live_event_value_of(node)) ? json_number_value(live_event_value_of(node))
                                                     : absent;
}

bool live_is_text(const struct live_node *node)
{
    return json_is_string(live_event_value_of(node));
}

bool live_is_object(const struct live_node *node)
{
    return json_is_object(live_event_value_of(node));
}

struct slice live_bytes(const struct live_node *node)
{
    return slice_of(json_string_value(live_event_value_of(node)),
                    json_string_length(live_event_value_of(node)));
}

bool live_is_true(const struct live_node *node)
{
    const json_t *value = live_event_value_of(node);
    return json_is_true(value) || json_number_value(value) > 0 || json_string_length(value) > 0 ||
           json_array_size(value) > 0 || json_object_size(value) > 0;
}

bool live_flag(const struct live_node *object, const char *name)
{
    return json_is_true(live_event_value_of(live_get(object, name)));
}

const char *live_text(const struct live_node *object, const char *name)
{
    const char *text = json_string_value(live_event_value_of(live_get(object, name)));
    return text ? text : "";
}

size_t live_count(const struct live_node *array)
{
    return json_array_size(live_event_value_of(array));
}

const struct live_node *live_at(const struct live_node *array, size_t index)
{
    return node_of(json_array_get(live_event_value_of(array), index));
}

double live_number_at(const struct live_node *array, size_t index)
{
    return json_number_value(live_event_value_of(live_at(array, index)));
}

const char *live_next_name(const struct live_node *object, const char *name)
{
    json_t *value = live_event_value_of(object);
    void *at = name ? json_object_iter_next(value, json_object_iter_at(value, name))
                    : json_object_iter(value);
    return at ? json_object_iter_key(at) : NULL;
}
