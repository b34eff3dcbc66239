/* Finds, once per configuration, which questions about a domain's names need only the store. The
 * rules are those of the slow path (answer*.c, answer_kube.h).
 *
 * The fast path consults this table and does not itself know about schema, pods, reverse zones or
 * this server's own names. fast_configure makes it on the engine's thread, and it stays unchanged
 * until the next call. Looking up is pure. */
#ifndef SKYDNS_FAST_PLAIN_NAMES_H
#define SKYDNS_FAST_PLAIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/answer/answer_kube.h"
#include "skydns/publish/engine_config.h"

/* The kind of a question. */
enum plain_kind {
    PLAIN_ADDRESS, /* A, AAAA */
    PLAIN_PORT,    /* SRV */
    PLAIN_NO_TYPE, /* a type that no name has records of, while no record has `rr` */
    PLAIN_KINDS,
};

/* The way to answer it. */
enum plain_action {
    PLAIN_NOT,       /* the slow path answers */
    PLAIN_NO_NAME,   /* NXDOMAIN */
    PLAIN_NO_DATA,   /* NODATA */
    PLAIN_IF_ALIAS,  /* NODATA, unless the name is an alias */
    PLAIN_ADDRESSES, /* the addresses at and below the node */
    PLAIN_TARGETS,   /* the records at and below the node, as SRV */
};

/* The actions of a class of names: enum plain_action, in a byte each. */
struct plain_class {
    uint8_t when_absent; /* the store lacks the name */
    uint8_t when_found[PLAIN_KINDS];
};

enum { PLAIN_OWN_MAX = 6 };

/* One domain's table. */
struct plain_names {
    /* By the label in front of the domain, the number of labels, and whether the protocol label
     * begins with `_`. */
    struct plain_class classes[KUBE_TREES][KUBE_DEPTH_MAX + 1][2];
    size_t own_count;
    /* Labels in front of the domain of names that are this server's, in reverse zones, or share a
     * suffix with the SOA's names. */
    struct slice own[PLAIN_OWN_MAX];
    bool is_uniform;        /* names with the same label in front of the domain have one class */
    bool has_domains_below; /* contains other domains: names above those exist */
};

/* Makes a zone's table. The zone is one of the configuration's and borrowed with it. */
void plain_names_make(struct plain_names *names, const struct engine_config *config,
                      const struct engine_zone *zone);

/* Returns whether the key of exactly a reverse name answers PTR questions about it, if its host is
 * a name. */
bool plain_names_have_pointers(const struct engine_config *config);

/* Returns whether names with this label in front of the domain take the slow path. */
static inline bool plain_names_are_own(const struct plain_names *names, struct slice label)
{
    for (size_t i = 0; i < names->own_count; i++) {
        if (slice_equal(names->own[i], label)) {
            return true;
        }
    }
    return false;
}

/* Returns the class of a name with `depth` labels, at least one, in front of the domain. Their
 * length bytes are at these offsets of the name in wire form. No label may be a wildcard. */
static inline const struct plain_class *plain_names_class(const struct plain_names *names,
                                                          const uint8_t *name,
                                                          const uint8_t *offsets, unsigned depth)
{
    static const struct plain_class own = {.when_absent = PLAIN_NOT};
    const uint8_t *at = name + offsets[depth - 1];
    struct slice top = slice_of(at + 1, at[0]);
    enum kube_tree tree = kube_tree_of(top);
    if (tree == KUBE_TREE_OTHER && plain_names_are_own(names, top)) {
        return &own;
    }
    bool is_underscored =
        depth >= KUBE_PROTOCOL_DEPTH && name[offsets[depth - KUBE_PROTOCOL_DEPTH] + 1] == '_';
    return &names->classes[tree][depth < KUBE_DEPTH_MAX ? depth : KUBE_DEPTH_MAX][is_underscored];
}

#endif
