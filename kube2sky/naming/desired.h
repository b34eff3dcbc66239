/* The keys one owner should have in etcd and what they should say: naming fills it, plan compares
 * it with what is there. Pure; memory is kept between uses, as far as it is of ordinary size. */
#ifndef KUBE2SKY_NAMING_DESIRED_H
#define KUBE2SKY_NAMING_DESIRED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

/* As many records as one owner may have: 20,000 endpoints with four named ports. A DNS message
 * holds a fiftieth of it. Without a limit one Endpoints object of the API's 1.5 MB, its addresses
 * times its ports, would be 100 million keys. */
enum { DESIRED_MAX = 100000 };

/* As much as is kept between uses, here and in claims: one Service of 20,000 endpoints must not set
 * the size of the process for good. */
enum { DESIRED_KEPT_BYTES = 1024 * 1024 };

struct desired {
    struct buf bytes; /* key, value, key, value, ... */
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

/* Copies both. The caller stays below DESIRED_MAX. */
void desired_add(struct desired *desired, struct slice key, struct slice value);

/* Sorts by key; of a key added twice one stays. Before it desired_get is in order of addition. */
void desired_seal(struct desired *desired);

/* Borrowed until the next change. */
struct desired_record desired_get(const struct desired *desired, size_t index);

#endif
