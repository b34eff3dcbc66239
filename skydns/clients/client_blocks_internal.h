/* Makes the blocks that an index's words point to, of namespaces and records, and interns the texts
 * of these. Readers may hold them: what is no longer used is retired with the next commit. Part of
 * client_index.c; main thread. */
#ifndef SKYDNS_CLIENTS_CLIENT_BLOCKS_INTERNAL_H
#define SKYDNS_CLIENTS_CLIENT_BLOCKS_INTERNAL_H

#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "skydns/clients/client_index.h"

/* The contents of an index: the one shown, and one being filled. */
enum { OLD_AND_NEW = 2 };

struct space {
    struct client_space shown;
    size_t pods[OLD_AND_NEW]; /* that have it, by content; */
    size_t records;           /* if none of these is left, it goes */
    struct space *next;       /* among those that go */
};

/* Returns the namespace of a record, which is the first member of its block. */
static inline struct space *client_space_of(const struct client_record *record)
{
    return (struct space *)(uintptr_t)record->space;
}

struct client_blocks {
    struct key_table spaces;
    struct key_table names; /* of nodes and zones */
    size_t record_count;
    size_t record_bytes;
    struct space *gone; /* since the last commit, as are the next two */
    struct client_record *gone_records;
    struct client_name *gone_names;
};

void client_blocks_init(struct client_blocks *blocks);
void client_blocks_fini(struct client_blocks *blocks); /* with those that go: no reader is left */

/* Returns the namespace's block, which is new if it was unknown. */
struct space *client_blocks_space(struct client_blocks *blocks, struct slice label);

/* Let a namespace go if it has no pods and records; and all such. */
void client_blocks_let_go(struct client_blocks *blocks, struct space *space);
void client_blocks_let_go_unused(struct client_blocks *blocks);

/* Stops counting what a content that is left out says of namespaces. */
void client_blocks_forget_pods(struct client_blocks *blocks, unsigned content);

/* Return the name's block for one more user, NULL for an empty text; and for one user less. */
const struct client_name *client_blocks_use_name(struct client_blocks *blocks, struct slice text);
void client_blocks_stop_using(struct client_blocks *blocks, const struct client_name *used);

/* Do what client_index_new_record and client_index_drop_record say. */
struct client_record *client_blocks_new_record(struct client_blocks *blocks, const struct ip *ip,
                                               const struct client_description *description);
void client_blocks_drop_record(struct client_blocks *blocks, struct client_record *record);

/* Retires those that go. */
void client_blocks_retire(struct client_blocks *blocks, const struct client_index_config *config);

size_t client_blocks_bytes(const struct client_blocks *blocks); /* of memory, about */

#endif
