/* Holds the keys and values that one owner should have in etcd: naming fills it, plan compares it
 * with etcd. Pure; reuses memory of ordinary size. */
#ifndef KUBE2SKY_NAMING_DESIRED_H
#define KUBE2SKY_NAMING_DESIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Default limit of records per owner: 20,000 endpoints with four named ports. A DNS message holds a
 * fiftieth of that. Without a limit, one Endpoints object of the API's 1.5 MB could make 100
 * million keys, its addresses times its ports. */
enum { DESIRED_MAX = 100000 };

/* Limits keys and values of one owner together, whatever the limit on records: offsets have 32
 * bits. */
enum { DESIRED_BYTES_MAX = 256 * 1024 * 1024 };

/* Limits the memory that is reused, here and in claims, so that one Service with 20,000 endpoints
 * does not fix the size of the process. */
enum { DESIRED_KEPT_BYTES = 1024 * 1024 };

struct desired {
    struct buf bytes; /* key, value, key, value, ... */
    size_t bytes_max;
    bool is_beyond; /* a record was left out for that since the last clearing */
    struct desired_item *items;
    size_t count;
    size_t cap;
};

struct desired_record {
    struct slice key;
    struct slice value;
};

void desired_init(struct desired *desired);
void desired_fini(struct desired *desired);
void desired_clear(struct desired *desired);

/* Copies both. */
void desired_add(struct desired *desired, struct slice key, struct slice value);

/* Sorts by key and removes duplicates. Before that, desired_get uses the order of addition. */
void desired_seal(struct desired *desired);

/* Returns a record, borrowed until the next change. */
struct desired_record desired_get(const struct desired *desired, size_t index);

#endif
