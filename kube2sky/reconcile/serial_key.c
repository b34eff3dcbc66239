#include "kube2sky/reconcile/serial_key_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/contract.h"

/* Revisions of a lost data set that readers may have seen, and this process has not. */
enum { UNSEEN_MAX = 32 };

/* A domain has at most 255 bytes. */
enum { VERSION_KEY_MAX = 512 };

enum { RETRY_FIRST_MS = 200, RETRY_MAX_MS = 10000, LEADERSHIP_MAX = 512 };

enum state {
    DUE,     /* the key must be read */
    READ,    /* it has been read, and must be written */
    SETTLED, /* done for this data set and this leader */
};

struct serial_key {
    struct serial_key_config config;
    char *key;
    char *store_key;        /* of a second domain, as are the next ones; else NULL */
    char *version_key;      /* "/skydns/local/clusterset/dns-version" */
    char *version;          /* its value */
    int64_t store_revision; /* of the store key as read; 0: absent */
    bool is_other_store;    /* a store key that is there is an earlier data set's */
    enum state state;
    struct etcd_call *call; /* NULL: no request is under way */
    ev_timer retry;         /* runs after a failure */
    struct backoff backoff;
    int64_t mod_revision; /* of the key as read; 0: absent */
    uint32_t base;        /* the key's value */
    bool has_base;        /* the value is a number */
    bool has_last;        /* readers of an earlier data set can have served this serial: */
    uint32_t last;
    uint32_t wanted;       /* the base that is being written */
    struct buf leadership; /* value of the leader's key when this process began to lead */
};

/* ---- etcd's responses ---- */

static void serial_key_fail(struct serial_key *k, const struct err *err)
{
    if (err_is_denial(err->code)) {
        log_warn(k->store_key
                     ? "the store key and the base of zones' serials of a second domain cannot be "
                       "read or written; readers may wait for them"
                     : "the base of zones' serials cannot be read or written; they may go back "
                       "with another data set",
                 LOG_STR("key", k->key), LOG_STR("reason", err->msg));
        k->state = SETTLED;
        return;
    }
    k->state = DUE;
    timer_arm_ms(k->config.loop, &k->retry, backoff_next_ms(&k->backoff, backoff_random()));
}

static void serial_key_on_read(void *data, const struct etcd_range_reply *reply,
                               const struct err *err)
{
    struct serial_key *k = data;
    k->call = NULL;
    if (err) {
        serial_key_fail(k, err);
        return;
    }
    backoff_reset(&k->backoff);
    k->mod_revision = k->store_revision = 0;
    k->has_base = false;
    for (size_t i = 0; i < reply->count; i++) {
        const struct etcd_kv *kv = &reply->kvs[i];
        if (slice_equal(kv->key, slice_str(k->key))) {
            k->mod_revision = kv->mod_revision;
            k->has_base = etcd_serial_base(kv->value, &k->base);
        } else if (k->store_key && slice_equal(kv->key, slice_str(k->store_key))) {
            k->store_revision = kv->mod_revision;
        }
    }
    k->state = READ;
}

/* Notes the write. If another writer was first, or the lead is lost, the key is read again. */
static void serial_key_on_written(void *data, const struct etcd_txn_reply *reply,
                                  const struct err *err)
{
    struct serial_key *k = data;
    k->call = NULL;
    if (err) {
        serial_key_fail(k, err);
        return;
    }
    k->state = reply->succeeded ? SETTLED : DUE;
    if (reply->succeeded) {
        k->has_last = false; /* the new base is after it */
        k->is_other_store = false;
        k->base = k->wanted;
        k->mod_revision = reply->revision;
        k->has_base = true;
        log_info("base of zones' serials written", LOG_STR("key", k->key),
                 LOG_INT("base", (int64_t)k->base));
    }
}

/* ---- Turns ---- */

static void serial_key_read_key(struct serial_key *k)
{
    struct etcd_range range = {.key = slice_str(k->key)};
    if (k->store_key) { /* sorts after the serial: the range ends behind it */
        range.range_end = slice_of(k->store_key, strlen(k->store_key) + 1);
    }
    k->call = etcd_range(k->config.etcd, &range, serial_key_on_read, k);
}

static struct etcd_compare compare_of(const char *key, int64_t revision)
{
    return (struct etcd_compare){
        .target = ETCD_COMPARE_MOD_REVISION, .key = slice_str(key), .revision = revision};
}

static struct etcd_op put_of(const char *key, const char *value)
{
    return (struct etcd_op){.kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str(value)};
}

/* Writes the serial on the mirror's connection. So it lands in the store that was found complete,
 * or not at all: readers trust a store because of it. */
static void write_key(struct serial_key *k, struct etcd_mirror *mirror, uint32_t base,
                      const struct etcd_compare *condition)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%" PRIu32, base); /* fits */
    char id[ETCD_STORE_ID_SIZE];
    struct etcd_compare compares[3] = {compare_of(k->key, k->mod_revision)};
    struct etcd_op ops[3] = {put_of(k->key, text)};
    size_t compare_count = 1, op_count = 1;
    if (condition) {
        compares[compare_count++] = *condition;
    }
    if (k->store_key) {
        ops[op_count++] = put_of(k->version_key, k->version);
    }
    if (k->store_key && (!k->store_revision || k->is_other_store) && etcd_store_id_random(id)) {
        compares[compare_count++] = compare_of(k->store_key, k->store_revision);
        ops[op_count++] = put_of(k->store_key, id);
    }
    const struct etcd_txn txn = {
        .compares = compares, .compare_count = compare_count, .ops = ops, .op_count = op_count};
    k->wanted = base;
    k->call = etcd_mirror_txn(mirror, &txn, serial_key_on_written, k);
}

/* Sets the latest serial that readers can have served from this data set and earlier ones. Returns
 * false if none is known. */
static bool find_reached(const struct serial_key *k, int64_t revision, uint32_t *ret_reached)
{
    int64_t newest = revision > k->mod_revision ? revision : k->mod_revision;
    uint32_t here = k->base + (uint32_t)newest;
    *ret_reached =
        k->has_base && !(k->has_last && serial_base_is_after(k->last, here)) ? here : k->last;
    return k->has_base || k->has_last;
}

/* Starts over when the leader changed: each leader claims its key with another value. */
static void note_leader(struct serial_key *k, const struct etcd_compare *condition)
{
    if (condition && !slice_equal(condition->value, buf_slice(&k->leadership))) {
        buf_clear(&k->leadership);
        buf_append_slice(&k->leadership, condition->value);
        k->state = DUE;
    }
}

bool serial_key_turn(struct serial_key *k, struct etcd_mirror *mirror,
                     const struct etcd_compare *condition)
{
    const int64_t revision = etcd_mirror_counts(mirror).revision;
    uint32_t reached;
    if (k->call || ev_is_active(&k->retry)) {
        return false;
    }
    note_leader(k, condition);
    if (k->state == DUE) {
        serial_key_read_key(k);
    } else if (k->state == READ) {
        bool is_any = find_reached(k, revision, &reached);
        write_key(k, mirror, serial_base_next(clock_wall_s(), revision, is_any ? &reached : NULL),
                  condition);
    }
    return k->state == SETTLED;
}

void serial_key_rewrite(struct serial_key *k)
{
    if (k->call) {
        etcd_call_cancel(STEAL(k->call));
    }
    k->state = DUE;
}

bool serial_key_is_version(const struct serial_key *k, struct slice key)
{
    return k->version_key && slice_equal(slice_str(k->version_key), key);
}

void serial_key_other_store(struct serial_key *k, int64_t revision)
{
    uint32_t reached;
    if (find_reached(k, revision, &reached)) {
        k->last = reached + UNSEEN_MAX;
        k->has_last = true;
    }
    k->has_base = false;
    k->is_other_store = true;
    serial_key_rewrite(k);
}

bool serial_key_is_busy(const struct serial_key *k)
{
    return k->call != NULL;
}

/* ---- Life ---- */

static void serial_key_on_retry(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED,
                                int revents UNUSED)
{
    /* the next turn of the loop goes on */
}

static void init_second(struct serial_key *k)
{
    struct buf key;
    CLEANUP_FREE char *name = xasprintf("dns-version.%s", k->config.domain);
    buf_init(&key, VERSION_KEY_MAX);
    record_key_from_name(slice_str(SKYDNS_TREE), slice_str(name), &key);
    k->version_key = xstrdup(buf_cstr(&key));
    buf_fini(&key);
    k->version = xasprintf("{\"text\":\"%s\"}", k->config.version);
    k->store_key = etcd_store_key(slice_str(k->config.domain));
}

struct serial_key *serial_key_new(const struct serial_key_config *config)
{
    struct serial_key *k = xcalloc(1, sizeof(*k));
    k->config = *config;
    k->key = etcd_writer_key(slice_str(config->domain), "serial");
    if (config->is_second) {
        init_second(k);
    }
    ev_timer_init(&k->retry, serial_key_on_retry, 0., 0.);
    backoff_init(&k->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    buf_init(&k->leadership, LEADERSHIP_MAX);
    return k;
}

void serial_key_free(struct serial_key *k)
{
    if (!k) {
        return;
    }
    if (k->call) {
        etcd_call_cancel(k->call);
    }
    ev_timer_stop(k->config.loop, &k->retry);
    buf_fini(&k->leadership);
    free(k->store_key);
    free(k->version_key);
    free(k->version);
    free(k->key);
    free(k);
}

enum { TICKS_A_SECOND = 16 };
static const int64_t begin_s = 1767225600; /* 2026-01-01 */
static const uint32_t first_tick = UINT32_C(1) << 31;

uint32_t serial_clock(int64_t unix_s)
{
    return first_tick + (uint32_t)((unix_s - begin_s) * TICKS_A_SECOND);
}

bool serial_base_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

uint32_t serial_base_next(int64_t unix_s, int64_t revision, const uint32_t *reached)
{
    uint32_t last = serial_clock(unix_s);
    if (reached && serial_base_is_after(*reached, last)) {
        last = *reached;
    }
    return last - (uint32_t)revision; /* written at a later revision */
}
