#include "common/base/cursor.h"

#include "common/base/seeded_hash.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_saved_internal.h"

/* Must rise when the bytes mean something else. */
enum { FORMAT = 1 };

enum {
    HAS_PUT = 1,
    HAS_DEL = 2,
    WANTS_READ = 4,
    IS_HOLDING = 8,
    HAS_LAST = 16,
    HAS_SERIAL = 32,
    FLAGS = 63,
};

/* Bounds each text by an etcd request, as for the evidence (etcd_store_id.c). */
enum { BYTES_MAX = 2 << 20 };

/* Bounds times to a thousand years: sums of it in milliseconds do not overflow. */
static const int64_t time_max_s = (int64_t)1000 * 366 * 86400;

void etcd_saved_append(const struct etcd_saved *saved, struct buf *out)
{
    unsigned flags =
        (saved->put.mod_revision ? HAS_PUT : 0) | (saved->del.mod_revision ? HAS_DEL : 0) |
        (saved->wants_read ? WANTS_READ : 0) | (saved->is_holding ? IS_HOLDING : 0) |
        (saved->last.revision ? HAS_LAST : 0) | (saved->serial.is_there ? HAS_SERIAL : 0);
    buf_append_u8(out, FORMAT);
    buf_append_u8(out, (uint8_t)flags);
    buf_append_u64(out, (uint64_t)saved->revision);
    buf_append_u64(out, (uint64_t)saved->written);
    buf_append_sized(out, saved->id);
    if (flags & HAS_PUT) {
        buf_append_sized(out, saved->put.key);
        buf_append_sized(out, saved->put.value);
        buf_append_u64(out, (uint64_t)saved->put.create_revision);
        buf_append_u64(out, (uint64_t)saved->put.mod_revision);
        buf_append_u64(out, (uint64_t)saved->put.version);
    }
    if (flags & HAS_DEL) {
        buf_append_sized(out, saved->del.key);
        buf_append_u64(out, (uint64_t)saved->del.mod_revision);
    }
    if (flags & HAS_LAST) {
        buf_append_u64(out, (uint64_t)saved->last.revision);
        buf_append_u64(out, saved->last.puts);
        buf_append_u64(out, saved->last.dels);
    }
    if (flags & HAS_SERIAL) {
        buf_append_u64(out, saved->serial.value);
    }
    if (flags & IS_HOLDING) {
        buf_append_u64(out, (uint64_t)saved->held_ms);
        buf_append_u64(out, (uint64_t)saved->saved_s);
        buf_append_sized(out, saved->doubted_id);
    }
}

/* Reads a number from least to most. */
static int64_t etcd_saved_number(struct reader *r, int64_t least, int64_t most)
{
    uint64_t v = reader_u64(r);
    if (v < (uint64_t)least || v > (uint64_t)most) {
        r->failed = true;
        return least;
    }
    return (int64_t)v;
}

static struct slice etcd_saved_text(struct reader *r, size_t least)
{
    struct slice s = reader_sized(r);
    r->failed = r->failed || s.len < least || s.len > BYTES_MAX;
    return s;
}

static struct etcd_kv read_put(struct reader *r, int64_t revision)
{
    struct etcd_kv kv = {.lease = 0};
    kv.key = etcd_saved_text(r, 1);
    kv.value = etcd_saved_text(r, 0);
    kv.create_revision = etcd_saved_number(r, 1, revision);
    kv.mod_revision = etcd_saved_number(r, kv.create_revision, revision);
    kv.version = etcd_saved_number(r, 1, revision);
    return kv;
}

static struct etcd_kv read_del(struct reader *r, int64_t revision)
{
    struct etcd_kv kv = {.lease = 0};
    kv.key = etcd_saved_text(r, 1);
    kv.mod_revision = etcd_saved_number(r, 1, revision);
    return kv;
}

bool etcd_saved_read(struct slice bytes, struct etcd_saved *ret_saved)
{
    struct reader r = reader_of(bytes.ptr, bytes.len);
    struct etcd_saved saved = {.revision = 0};
    uint8_t format = reader_u8(&r);
    uint8_t flags = reader_u8(&r);
    saved.revision = etcd_saved_number(&r, 1, INT64_MAX - 1);
    saved.written = etcd_saved_number(&r, 0, INT64_MAX - 1);
    saved.id = etcd_saved_text(&r, 0);
    if (flags & HAS_PUT) {
        saved.put = read_put(&r, saved.revision);
    }
    if (flags & HAS_DEL) {
        saved.del = read_del(&r, saved.revision);
    }
    if (flags & HAS_LAST) {
        saved.last.revision = etcd_saved_number(&r, 1, saved.revision);
        saved.last.puts = reader_u64(&r);
        saved.last.dels = reader_u64(&r);
    }
    if (flags & HAS_SERIAL) {
        saved.serial.is_there = true;
        saved.serial.value = (uint32_t)etcd_saved_number(&r, 0, UINT32_MAX);
    }
    saved.wants_read = flags & WANTS_READ;
    saved.is_holding = flags & IS_HOLDING;
    if (saved.is_holding) {
        saved.held_ms = etcd_saved_number(&r, 0, time_max_s * 1000);
        saved.saved_s = etcd_saved_number(&r, 0, time_max_s);
        saved.doubted_id = etcd_saved_text(&r, 0);
    }
    *ret_saved = saved;
    return !r.failed && reader_left(&r) == 0 && format == FORMAT && flags <= FLAGS;
}

int64_t etcd_saved_held_ms(const struct etcd_saved *saved, int64_t now_s)
{
    int64_t since_s = now_s - saved->saved_s;
    return saved->held_ms + (since_s > 0 ? since_s * 1000 : 0);
}

bool etcd_mirror_saved_with_key(struct slice bytes, struct slice id, struct buf *out)
{
    struct etcd_saved saved;
    if (!etcd_saved_read(bytes, &saved) || saved.is_holding) {
        return false;
    }
    saved.id = id;
    saved.serial = (struct etcd_serial){.is_there = false}; /* the other domain's */
    etcd_saved_append(&saved, out);
    return true;
}

/* Mixes bytes into a hash. Its key need not be secret: a client that can choose values to collide
 * can write to etcd. */
static uint64_t etcd_saved_mix(uint64_t a, uint64_t b, struct slice bytes)
{
    uint8_t key[SIPHASH_KEY_SIZE];
    for (int i = 0; i < 8; i++) {
        key[i] = (uint8_t)(a >> (8 * i));
        key[8 + i] = (uint8_t)(b >> (8 * i));
    }
    return siphash24(key, bytes);
}

static void etcd_saved_add(struct etcd_digest *digest, const struct etcd_event *event)
{
    const struct etcd_kv *kv = &event->kv;
    if (event->kind == ETCD_EVENT_PUT) {
        uint64_t value =
            etcd_saved_mix((uint64_t)kv->create_revision, (uint64_t)kv->version, kv->value);
        digest->puts += etcd_saved_mix(value, 0, kv->key);
    } else {
        digest->dels += etcd_saved_mix(0, 1, kv->key);
    }
}

struct etcd_digest etcd_digest_of_last(const struct etcd_event *events, size_t count)
{
    struct etcd_digest digest = {.revision = events[count - 1].kv.mod_revision};
    for (size_t i = count; i > 0 && events[i - 1].kv.mod_revision == digest.revision; i--) {
        etcd_saved_add(&digest, &events[i - 1]);
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
        etcd_saved_add(&seen, &events[i]);
    }
    if (seen.puts != known->puts || (seen.dels != known->dels && seen.dels != 0)) {
        return ETCD_DIGEST_OTHER;
    }
    return seen.dels == known->dels ? ETCD_DIGEST_SAME : ETCD_DIGEST_UNCERTAIN;
}
