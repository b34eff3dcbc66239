/* The figures of one event: JSON, read by name. Whatever is absent, or of another type, reads as
 * nothing, so that either side may be newer. Pure; any thread, one at a time. */
#ifndef COMMON_LIVE_LIVE_EVENT_H
#define COMMON_LIVE_LIVE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"

/* A value in an event, borrowed from it. NULL: absent; every function accepts it. */
struct live_node;

/* The object; NULL if the text is none. Its owner calls live_event_free. */
struct live_node *live_event_parse(struct slice text);

/* The same event, with another owner. */
struct live_node *live_event_share(struct live_node *event);
void live_event_free(struct live_node *event); /* NULL is fine */

const struct live_node *live_get(const struct live_node *object, const char *name);
double live_number(const struct live_node *object, const char *name); /* 0: absent */
double live_number_or(const struct live_node *object, const char *name, double absent);
bool live_flag(const struct live_node *object, const char *name);        /* false: absent */
const char *live_text(const struct live_node *object, const char *name); /* "": absent */

/* Items of an array; 0, NULL for anything else. */
size_t live_count(const struct live_node *array);
const struct live_node *live_at(const struct live_node *array, size_t index);

/* An item of an array of texts, or of numbers. */
double live_number_at(const struct live_node *array, size_t index);
const char *live_text_at(const struct live_node *array, size_t index);

/* Names of an object's members, in their order: after NULL the first, after the last NULL. */
const char *live_next_name(const struct live_node *object, const char *name);

#endif
