/* The figures of one event: JSON, read by name.
 *
 * Figures that are absent, or of another type, read as nothing, so that either side may be newer.
 * Pure; any thread, one at a time. */
#ifndef COMMON_LIVE_LIVE_EVENT_H
#define COMMON_LIVE_LIVE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"

/* Bounds a path of ours, with its NUL. */
enum { LIVE_PATH_MAX = 64 };

/* A value in an event, borrowed from it. NULL: absent; every function accepts it. */
struct live_node;

/* Returns the object, NULL if the text is none. Its owner calls live_event_free. */
struct live_node *live_event_parse(struct slice text);

/* Returns the same event, with another owner. */
struct live_node *live_event_share(struct live_node *event);
void live_event_free(struct live_node *event); /* NULL is fine */

/* Sets a member of an object to another node, which both have then. */
void live_event_put(struct live_node *object, const char *name, struct live_node *node);

const struct live_node *live_get(const struct live_node *object, const char *name);

/* Returns the node at a path of names with `/` between; "." and "": the node itself. */
const struct live_node *live_find(const struct live_node *node, const char *path);

double live_number(const struct live_node *object, const char *name);    /* 0: absent */
bool live_flag(const struct live_node *object, const char *name);        /* false: absent */
const char *live_text(const struct live_node *object, const char *name); /* "": absent */

/* Read the node itself: its number, or `absent`; its text, which may have NULs, or none; whether it
 * is more than nothing: true, a number above 0, a text, array or object with something in it. */
double live_value(const struct live_node *node, double absent);
bool live_is_text(const struct live_node *node);
bool live_is_object(const struct live_node *node);
struct slice live_bytes(const struct live_node *node);
bool live_is_true(const struct live_node *node);

/* Return the items of an array; 0, NULL for anything else. */
size_t live_count(const struct live_node *array);
const struct live_node *live_at(const struct live_node *array, size_t index);

double live_number_at(const struct live_node *array, size_t index); /* of an array of numbers */

/* Returns the names of an object's members, in their order: after NULL the first, after the last
 * NULL. */
const char *live_next_name(const struct live_node *object, const char *name);

#endif
