#include "tests/support/mirror_bed.h"

#include "common/base/buf.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

struct mirror_bed bed;
struct mirror_owner owner;

static struct etcd *mirror_bed_client(void)
{
    return sync_client(bed.loop, etcd_proc_url(bed.proc), MIRROR_BED_TIMEOUT_MS);
}

int mirror_bed_start(void **state)
{
    bed.loop = ev_loop_new(EVFLAG_AUTO);
    bed.proc = etcd_proc_start();
    return 0;
}

int mirror_bed_stop(void **state)
{
    etcd_proc_free(bed.proc);
    ev_loop_destroy(bed.loop);
    return 0;
}

int mirror_bed_each(void **state)
{
    memset(&owner, 0, sizeof(owner));
    if (bed.proc) {
        bed.etcd = mirror_bed_client();
        bed.writer = mirror_bed_client();
    }
    return 0;
}

int mirror_bed_each_in_new_store(void **state)
{
    if (bed.proc) {
        etcd_proc_kill(bed.proc);
        etcd_proc_wipe(bed.proc);
        etcd_proc_restart(bed.proc);
    }
    return mirror_bed_each(state);
}

int mirror_bed_each_end(void **state)
{
    etcd_free(bed.etcd);
    etcd_free(bed.writer);
    bed.etcd = bed.writer = NULL;
    return 0;
}

/* ---- The owner ---- */

size_t owner_find(size_t from, size_t to, struct slice key)
{
    for (size_t i = from; i < to; i++) {
        if (slice_equal(slice_str(owner.keys[i]), key)) {
            return i;
        }
    }
    return to;
}

static void mirror_bed_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    owner.keeps_old = read->keeps_old;
    owner.cause = read->cause;
    assert_true((read->reason[0] != '\0') == (read->cause == ETCD_MIRROR_OTHER_STORE));
    if (owner.is_full_read) {
        owner.count = owner.full_from; /* drop the abandoned one */
    }
    owner.is_full_read = true;
    owner.full_from = owner.count;
    owner.newest_put = 0;
    owner.full_begins++;
}

static void mirror_bed_on_put(void *data, const struct etcd_kv *kv)
{
    size_t from = owner.is_full_read ? owner.full_from : 0;
    owner.value_bytes += kv->value.len;
    owner.newest_put = kv->mod_revision > owner.newest_put ? kv->mod_revision : owner.newest_put;
    if (owner.between_pages) {
        owner.between_pages();
        owner.between_pages = NULL;
    }
    if (owner_find(from, owner.count, kv->key) < owner.count) {
        assert_false(owner.is_full_read); /* each key comes once per full read */
        return;
    }
    assert_in_range(owner.count, 0, KEYS_MAX - 1);
    assert_in_range(kv->key.len, 1, sizeof(owner.keys[0]) - 1);
    memcpy(owner.keys[owner.count], kv->key.ptr, kv->key.len);
    owner.keys[owner.count++][kv->key.len] = '\0';
}

static void mirror_bed_on_del(void *data, struct slice key, int64_t revision)
{
    size_t i = owner_find(0, owner.count, key);
    assert_false(owner.is_full_read);
    assert_true(revision > owner.revision);
    assert_true(i < owner.count); /* these tests only delete existing keys */
    memmove(owner.keys[i], owner.keys[i + 1], (owner.count - i - 1) * sizeof(owner.keys[0]));
    owner.count--;
}

static void mirror_bed_on_commit(void *data, int64_t revision, bool full)
{
    assert_true(full == owner.is_full_read);
    assert_true(full ? revision >= owner.revision || owner.cause == ETCD_MIRROR_OTHER_STORE
                     : revision > owner.revision);
    if (full) {
        assert_true(owner.newest_put <= revision);
    }
    if (full && owner.keeps_old) {
        for (size_t i = owner.full_from; i-- > 0;) { /* drop the old copies of keys read again */
            if (owner_find(owner.full_from, owner.count, slice_str(owner.keys[i])) < owner.count) {
                memmove(owner.keys[i], owner.keys[i + 1],
                        (owner.count - i - 1) * sizeof(owner.keys[0]));
                owner.count--;
                owner.full_from--;
            }
        }
        owner.fulls++;
    } else if (full) {
        memmove(owner.keys, owner.keys[owner.full_from],
                (owner.count - owner.full_from) * sizeof(owner.keys[0]));
        owner.count -= owner.full_from;
        owner.fulls++;
    } else {
        owner.commits++;
    }
    owner.is_full_read = false;
    owner.revision = revision;
}

static void on_store_key_seen(void *data, struct slice id, bool has_read)
{
    (void)snprintf(owner.store_key, sizeof(owner.store_key), "%.*s", (int)id.len, id.ptr);
    owner.has_read_key = has_read;
    owner.fulls_at_key = owner.fulls;
}

static void mirror_bed_on_state(void *data, const struct err *err)
{
    if (err) {
        owner.downs++;
        owner.down = *err;
    } else {
        owner.ups++;
    }
}

static void mirror_bed_on_caught_up(void *data)
{
    assert_false(owner.is_full_read);
    assert_true(owner.ups > owner.caught_ups); /* once a session, after it is up */
    owner.caught_ups++;
    owner.caught_up_at = owner.revision;
}

struct etcd_mirror *bed_mirror(const char *prefix, int64_t page_size)
{
    const struct etcd_mirror_config config = {
        .prefix = slice_str(prefix),
        .store_key = slice_str("/key/of/store"),
        .keeps_old = owner.want_old,
        .stale_max_ms = owner.stale_max_ms,
        .saved = owner.saved,
        .check_ms = owner.check_ms,
        .page_size = page_size,
        .full_begin = mirror_bed_on_full_begin,
        .put = mirror_bed_on_put,
        .del = mirror_bed_on_del,
        .store_key_seen = on_store_key_seen,
        .commit = mirror_bed_on_commit,
        .state = mirror_bed_on_state,
        .caught_up = mirror_bed_on_caught_up,
    };
    struct etcd_mirror *mirror = etcd_mirror_start(bed.etcd, &config);
    bed.mirror = mirror;
    return mirror;
}

/* ---- Waits and comparisons ---- */

static bool mirror_bed_has_revision(const void *data)
{
    return owner.revision >= owner.want_revision;
}

static bool has_fulls(const void *data)
{
    return owner.fulls >= owner.want_fulls;
}

static bool mirror_bed_has_ups(const void *data)
{
    return owner.ups >= owner.want_ups;
}

bool bed_is_down(const void *data)
{
    return owner.downs > 0;
}

void bed_wait_revision(int64_t revision)
{
    owner.want_revision = revision;
    loop_until(bed.loop, mirror_bed_has_revision, NULL);
}

void bed_wait_fulls(unsigned fulls)
{
    owner.want_fulls = fulls;
    loop_until(bed.loop, has_fulls, NULL);
}

static bool has_store_key(const void *data)
{
    return strcmp(owner.store_key, data) == 0;
}

void bed_wait_store_key(const char *id)
{
    loop_until(bed.loop, has_store_key, id);
}

void bed_wait_ups(unsigned ups)
{
    owner.want_ups = ups;
    loop_until(bed.loop, mirror_bed_has_ups, NULL);
}

static bool mirror_bed_is_caught_up(const void *data)
{
    return etcd_mirror_counts(bed.mirror).is_caught_up;
}

void bed_wait_caught_up(void)
{
    loop_until(bed.loop, mirror_bed_is_caught_up, NULL);
}

/* ---- A new process ---- */

struct buf bed_end(struct etcd_mirror *mirror)
{
    struct buf saved;
    buf_init(&saved, 1 << 20);
    assert_true(etcd_mirror_save(mirror, &saved));
    assert_false(saved.failed);
    assert_true(etcd_mirror_is_saved(buf_slice(&saved)));
    etcd_mirror_stop(mirror);
    etcd_free(bed.etcd);
    bed.etcd = NULL;
    return saved;
}

struct etcd_mirror *bed_start_saved(const char *prefix, const struct buf *saved)
{
    bed.etcd = mirror_bed_client();
    owner.is_full_read = owner.has_read_key = false;
    owner.full_begins = owner.fulls = owner.commits = 0;
    owner.ups = owner.downs = owner.caught_ups = 0;
    owner.saved = buf_slice(saved);
    struct etcd_mirror *mirror = bed_mirror(prefix, 0);
    owner.saved = slice_of(NULL, 0);
    return mirror;
}

struct etcd_mirror *bed_restart(struct etcd_mirror *mirror, const char *prefix)
{
    struct buf saved = bed_end(mirror);
    struct etcd_mirror *next = bed_start_saved(prefix, &saved);
    buf_fini(&saved);
    return next;
}

int64_t bed_put(const char *key)
{
    return sync_put(bed.loop, bed.writer, key, slice_str("v"));
}

struct comparison {
    bool is_done;
    size_t count;
    size_t missing;
};

static void on_compare(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct comparison *c = data;
    assert_null(err);
    c->is_done = true;
    c->count = reply->count;
    for (size_t i = 0; i < reply->count; i++) {
        c->missing += owner_find(0, owner.count, reply->kvs[i].key) == owner.count;
    }
}

static bool is_compared(const void *data)
{
    return ((const struct comparison *)data)->is_done;
}

void bed_expect_same(const char *prefix)
{
    char end[32];
    struct comparison c = {.is_done = false};
    const struct etcd_range range = {.key = slice_str(prefix),
                                     .range_end = etcd_prefix_end(slice_str(prefix), end),
                                     .revision = owner.revision};
    etcd_range(bed.writer, &range, on_compare, &c);
    loop_until(bed.loop, is_compared, &c);
    assert_int_equal(owner.count, c.count);
    assert_int_equal(c.missing, 0);
}

/* ---- While the mirror's loop does not run ---- */

struct aside aside_open(void)
{
    struct aside a = {.loop = ev_loop_new(EVFLAG_AUTO)};
    a.etcd = sync_client(a.loop, etcd_proc_url(bed.proc), MIRROR_BED_TIMEOUT_MS);
    return a;
}

void aside_close(struct aside *a)
{
    etcd_free(a->etcd);
    ev_loop_destroy(a->loop);
}

static bool is_same_revision(int64_t revision, int64_t wanted)
{
    assert_true(revision <= wanted);
    return revision == wanted;
}

void aside_write_up_to(const struct aside *a, const char *key, int64_t revision)
{
    while (!is_same_revision(sync_put(a->loop, a->etcd, key, slice_str("v")), revision)) {
    }
}

/* ---- Keys ---- */

bool owner_has(const char *key)
{
    return owner_find(0, owner.count, slice_str(key)) < owner.count;
}

void bed_lose_etcd(void)
{
    owner.downs = 0;
    etcd_proc_kill(bed.proc);
    loop_until(bed.loop, bed_is_down, NULL);
}

void bed_restart_etcd(void)
{
    bed_lose_etcd();
    etcd_proc_restart(bed.proc);
}

void bed_wipe_etcd(void)
{
    bed_lose_etcd();
    etcd_proc_wipe(bed.proc);
    etcd_proc_restart(bed.proc);
}

void bed_restore_etcd(void)
{
    bed_lose_etcd();
    etcd_proc_restore(bed.proc);
    etcd_proc_restart(bed.proc);
}

void bed_put_store_key(const char *id)
{
    sync_put(bed.loop, bed.writer, "/key/of/store", slice_str(id));
}
