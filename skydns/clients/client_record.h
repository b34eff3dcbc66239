/* Describes the pod that has an address: its namespace, name, node and zone, as kube2sky writes
 * them (sync/record_keys_internal.h). Immutable once readers can find it. Namespaces, nodes and
 * zones are interned, so a record takes about 80 bytes. */
#ifndef SKYDNS_CLIENTS_CLIENT_RECORD_H
#define SKYDNS_CLIENTS_CLIENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

/* Namespace that has clients; equal namespaces are one block while it is in use. Immutable. */
struct client_space {
    uint8_t label_len; /* 1 to 63 */
    char label[63];    /* in lower case, as in names */
};

static inline struct slice client_space_label(const struct client_space *space)
{
    return space ? slice_of(space->label, space->label_len) : slice_of("", 0);
}

/* Limits the names of pods and nodes, as Kubernetes does, and of zones. */
enum { CLIENT_NAME_MAX = 253 };

/* Holds an interned name of a node or zone; only the main thread reads `users`. */
struct client_name {
    struct client_name *next; /* among those that go */
    uint32_t users;           /* records */
    uint8_t len;
    char text[];
};

struct client_record {
    const struct client_space *space;
    const struct client_name *node; /* NULL: not known, as the zone */
    const struct client_name *zone;
    union {
        size_t pods;                /* while the index has it: pods of its namespace that have the
                                     * address, by the pods' keys; the main thread's */
        struct client_record *next; /* among those that go */
    };
    struct ip ip;
    bool is_read; /* in the current full read (sync/record_keys_internal.h) */
    uint8_t pod_len;
    char pod[]; /* its name; empty: not known, as of several */
};

/* Says what is known of a client; all empty but the namespace if nothing else is. */
struct client_description {
    struct slice ns; /* 1 to 63 bytes, in lower case */
    struct slice pod;
    struct slice node;
    struct slice zone;
};

/* Describes the record; borrowed from it. Any thread that may hold it. */
static inline struct client_description client_record_describe(const struct client_record *record)
{
    const struct client_name *node = record->node, *zone = record->zone;
    const struct slice none = slice_of("", 0);
    return (struct client_description){
        .ns = client_space_label(record->space),
        .pod = slice_of(record->pod, record->pod_len),
        .node = node ? slice_of(node->text, node->len) : none,
        .zone = zone ? slice_of(zone->text, zone->len) : none,
    };
}

#endif
