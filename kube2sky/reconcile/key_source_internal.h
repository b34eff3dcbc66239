/* Notes the state of one mirror of keys in etcd (etcd_mirror.h). Its callbacks in
 * reconciler_mirror.c set this, and the planning code reads it. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_KEY_SOURCE_INTERNAL_H
#define KUBE2SKY_RECONCILE_KEY_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct etcd_mirror;
struct reconciler;

struct key_source {
    struct reconciler *reconciler;
    struct etcd_mirror *mirror; /* NULL: the keys belong to another writer */
    int64_t revision;           /* the last commit's */
    int64_t changed;            /* of the latest change of a key that it has shown */
    uint32_t generation;        /* number of the current full read */
    bool is_mirrored;           /* everything has been read once */
    bool is_following;          /* etcd has confirmed it since the connection was last lost, or any
                                   mirror has found another data set */
    bool is_mid_publication;
    bool is_mid_read;
    bool is_other_store; /* in a full read: etcd has another data set than before */
    uint64_t reads;
    struct err failure; /* the reason why it does not follow; msg "": none */
};

/* Notes a change that it has shown. */
static inline void key_source_note(struct key_source *source, int64_t revision)
{
    source->changed = revision > source->changed ? revision : source->changed;
}

/* Returns whether the mirror has the content of exactly one revision. */
static inline bool key_source_is_whole(const struct key_source *source)
{
    return source->is_mirrored && !source->is_mid_publication;
}

/* Returns whether etcd also confirms that content now. */
static inline bool key_source_is_confirmed(const struct key_source *source)
{
    return key_source_is_whole(source) && source->is_following && !source->is_mid_read;
}

/* Returns whether only a person can end the reason why it does not follow. */
static inline bool key_source_is_barred(const struct key_source *source)
{
    const struct err *err = &source->failure;
    return err->msg[0] &&
           (err_is_denial(err->code) || err->code == ERR_NOT_FOUND || err->code == ERR_TOO_LARGE);
}

/* Returns whether nothing is to be expected of it: it follows the data set that etcd has, or is
 * barred. */
static inline bool key_source_is_settled(const struct key_source *source)
{
    return key_source_is_barred(source) || (source->is_mirrored && source->is_following);
}

#endif
