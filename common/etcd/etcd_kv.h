/* A key as etcd reports it, and a watch event about one. Plain data: no client, no I/O. */
#ifndef COMMON_ETCD_ETCD_KV_H
#define COMMON_ETCD_ETCD_KV_H

#include <stdint.h>

#include "common/base/slice.h"

/* Holds a key and its value, borrowed from the response or event that carries them. */
struct etcd_kv {
    struct slice key;
    struct slice value;
    int64_t create_revision;
    int64_t mod_revision;
    int64_t version;
    int64_t lease; /* 0 = none */
};

enum etcd_event_kind { ETCD_EVENT_PUT, ETCD_EVENT_DELETE };

struct etcd_event {
    enum etcd_event_kind kind;
    struct etcd_kv kv; /* a delete has only key and mod_revision */
};

#endif
