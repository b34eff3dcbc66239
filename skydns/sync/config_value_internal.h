/* SkyDNS's configuration, `/<prefix>/config`, as the mirror's current, uncommitted sequence has it,
 * and whether that has been told. Part of store_sync; main thread. */
#ifndef SKYDNS_SYNC_CONFIG_VALUE_INTERNAL_H
#define SKYDNS_SYNC_CONFIG_VALUE_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"

struct config_value {
    struct buf text; /* one byte over CONFIG_DOCUMENT_MAX, so that an oversized one shows */
    bool is_there;
    bool is_read; /* in the current full read */
    bool is_changed;
};

/* Nothing is known: the first full read tells it in any case. */
void config_value_init(struct config_value *value);
void config_value_fini(struct config_value *value);

void config_value_put(struct config_value *value, struct slice text);
void config_value_del(struct config_value *value);

/* A full read: the end removes what was not put since the beginning. */
void config_value_begin_read(struct config_value *value);
void config_value_end_read(struct config_value *value);

/* False: as told last. Else *ret_text, ptr NULL if there is none, is borrowed until the next
 * change, and counts as told. */
bool config_value_take_change(struct config_value *value, struct slice *ret_text);

/* Appends it; takes it from there, as told. An empty one is none: it sets nothing. */
void config_value_save(const struct config_value *value, struct buf *out);
bool config_value_is_saved(struct slice saved);
void config_value_load(struct config_value *value, struct slice saved);

#endif
