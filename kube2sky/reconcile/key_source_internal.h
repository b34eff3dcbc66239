/* Notes what is known of a mirror of keys in etcd (etcd_mirror.h): its callbacks in
 * reconciler_mirror.c set this, whoever plans reads it. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_KEY_SOURCE_INTERNAL_H
#define KUBE2SKY_RECONCILE_KEY_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct etcd_mirror;
struct reconciler;

struct key_source {
    struct reconciler *reconciler;
    struct etcd_mirror *mirror; /* NULL: the keys are another writer's */
    int64_t revision;           /* of the last commit */
    uint32_t generation;        /* of its full reads */
    bool is_mirrored;           /* everything has been read once */
    bool is_following;          /* etcd has confirmed it since the connection was last lost */
    bool is_mid_publication;
    bool is_mid_read;
    bool is_other_store; /* mid read: than the last one's */
    uint64_t reads;
    struct err failure; /* why it does not follow; msg "": none */
};

/* What it has is the content of one revision. */
static inline bool key_source_is_whole(const struct key_source *source)
{
    return source->is_mirrored && !source->is_mid_publication;
}

/* And etcd says so now. */
static inline bool key_source_is_confirmed(const struct key_source *source)
{
    return key_source_is_whole(source) && source->is_following && !source->is_mid_read;
}

#endif
