#include "common/etcd/etcd_digest_internal.h"

#include "common/base/siphash.h"

/* The hash's key need not be secret: who can choose values to collide can write to etcd. */
static uint64_t mix(uint64_t a, uint64_t b, struct slice bytes)
{
    uint8_t key[SIPHASH_KEY_SIZE];
    for (int i = 0; i < 8; i++) {
        key[i] = (uint8_t)(a >> (8 * i));
        key[8 + i] = (uint8_t)(b >> (8 * i));
    }
    return siphash24(key, bytes);
}

static void add(struct etcd_digest *digest, const struct etcd_event *event)
{
    const struct etcd_kv *kv = &event->kv;
    if (event->kind == ETCD_EVENT_PUT) {
        uint64_t value = mix((uint64_t)kv->create_revision, (uint64_t)kv->version, kv->value);
        digest->puts += mix(value, 0, kv->key);
    } else {
        digest->dels += mix(0, 1, kv->key);
    }
}

struct etcd_digest etcd_digest_of_last(const struct etcd_event *events, size_t count)
{
    struct etcd_digest digest = {.revision = events[count - 1].kv.mod_revision};
    for (size_t i = count; i > 0 && events[i - 1].kv.mod_revision == digest.revision; i--) {
        add(&digest, &events[i - 1]);
    }
    return digest;
}

enum etcd_digest_verdict etcd_digest_check(const struct etcd_digest *known, int64_t upto,
                                           const struct etcd_event *events, size_t count)
{
    struct etcd_digest seen = {.revision = known->revision};
    for (size_t i = 0; i < count && events[i].kv.mod_revision <= upto; i++) {
        if (events[i].kv.mod_revision != known->revision) {
            return ETCD_DIGEST_OTHER; /* nothing changed between the two */
        }
        add(&seen, &events[i]);
    }
    if (seen.puts != known->puts || (seen.dels != known->dels && seen.dels != 0)) {
        return ETCD_DIGEST_OTHER;
    }
    return seen.dels == known->dels ? ETCD_DIGEST_SAME : ETCD_DIGEST_UNCERTAIN;
}
