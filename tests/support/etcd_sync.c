#include "tests/support/etcd_sync.h"

#include "tests/support/unit_test.h"

static const ev_tstamp limit_s = 60.0;

struct wait {
    bool (*done)(const void *data);
    const void *data;
    bool is_late;
};

static void etcd_sync_on_limit(struct ev_loop *loop, ev_timer *w, int events)
{
    ((struct wait *)w->data)->is_late = true;
    ev_break(loop, EVBREAK_ALL);
}

/* Before the loop sleeps, and after the client's own prepare watchers. */
static void etcd_sync_on_prepare(struct ev_loop *loop, ev_prepare *w, int events)
{
    const struct wait *wait = w->data;
    if (wait->done(wait->data)) {
        ev_break(loop, EVBREAK_ALL);
    }
}

void loop_until(struct ev_loop *loop, bool (*done)(const void *data), const void *data)
{
    struct wait wait = {.done = done, .data = data};
    ev_timer limit;
    ev_prepare prepare;
    if (done(data)) {
        return;
    }
    ev_now_update(loop);
    ev_timer_init(&limit, etcd_sync_on_limit, limit_s, 0.0);
    ev_prepare_init(&prepare, etcd_sync_on_prepare);
    ev_set_priority(&prepare, EV_MINPRI);
    limit.data = prepare.data = &wait;
    ev_timer_start(loop, &limit);
    ev_prepare_start(loop, &prepare);
    ev_run(loop, 0);
    ev_timer_stop(loop, &limit);
    ev_prepare_stop(loop, &prepare);
    assert_that(!wait.is_late, "timed out after %.0f s", limit_s);
}

struct etcd *sync_client(struct ev_loop *loop, const char *endpoints, uint32_t call_timeout_ms)
{
    const struct etcd_config config = {
        .loop = loop, .endpoints = endpoints, .call_timeout_ms = call_timeout_ms};
    struct etcd *etcd = NULL;
    struct err err;
    assert_that(etcd_new(&config, &etcd, &err) == 0, "%s", err.msg);
    return etcd;
}

struct txn_result {
    bool is_done;
    struct etcd_txn_reply reply;
    struct err err;
};

static void etcd_sync_on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct txn_result *result = data;
    result->is_done = true;
    if (err) {
        result->err = *err;
    } else {
        result->reply = *reply;
    }
}

static bool is_txn_done(const void *data)
{
    return ((const struct txn_result *)data)->is_done;
}

int sync_txn(struct ev_loop *loop, struct etcd *etcd, const struct etcd_txn *txn,
             struct etcd_txn_reply *ret_reply, struct err *err)
{
    struct txn_result result = {.is_done = false};
    etcd_txn(etcd, txn, etcd_sync_on_txn, &result);
    assert_false(result.is_done); /* never from inside the call */
    loop_until(loop, is_txn_done, &result);
    if (err) {
        *err = result.err;
    }
    if (ret_reply) {
        *ret_reply = result.reply;
    }
    return result.err.code;
}

static int64_t etcd_sync_one(struct ev_loop *loop, struct etcd *etcd, const struct etcd_op *ops,
                             size_t count)
{
    const struct etcd_txn txn = {.ops = ops, .op_count = count};
    struct etcd_txn_reply reply;
    struct err err;
    int rc = sync_txn(loop, etcd, &txn, &reply, &err);
    if (rc == ERR_UNAVAILABLE) { /* the connection to an earlier etcd was dead, unnoticed */
        rc = sync_txn(loop, etcd, &txn, &reply, &err);
    }
    assert_that(rc == 0, "txn: %s", err.msg);
    return reply.revision;
}

int64_t sync_put(struct ev_loop *loop, struct etcd *etcd, const char *key, struct slice value)
{
    const struct etcd_op op = {.kind = ETCD_OP_PUT, .key = slice_str(key), .value = value};
    return etcd_sync_one(loop, etcd, &op, 1);
}

int64_t sync_del(struct ev_loop *loop, struct etcd *etcd, const char *key)
{
    const struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = slice_str(key)};
    return etcd_sync_one(loop, etcd, &op, 1);
}

struct got {
    bool is_done;
    char *value;
};

static void on_got(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct got *got = data;
    assert_null(err);
    if (reply->count) {
        got->value = xstrndup(reply->kvs[0].value.ptr, reply->kvs[0].value.len);
    }
    got->is_done = true;
}

static bool is_got(const void *data)
{
    return ((const struct got *)data)->is_done;
}

char *sync_get(struct ev_loop *loop, struct etcd *etcd, const char *key)
{
    const struct etcd_range range = {.key = slice_str(key)};
    struct got got = {.is_done = false};
    etcd_range(etcd, &range, on_got, &got);
    loop_until(loop, is_got, &got);
    return got.value;
}

/* The keys of one page, copied; those beyond its size go to the next page. */
struct page {
    bool is_done;
    size_t count;
    char keys[ETCD_TXN_OPS_MAX][256];
};

static void etcd_sync_on_page(void *data, const struct etcd_range_reply *reply,
                              const struct err *err)
{
    struct page *page = data;
    assert_null(err);
    for (size_t i = 0; i < reply->count; i++) {
        struct slice key = reply->kvs[i].key;
        assert_in_range(key.len, 1, sizeof(page->keys[i]) - 1);
        memcpy(page->keys[i], key.ptr, key.len);
        page->keys[i][key.len] = '\0';
    }
    page->count = reply->count;
    page->is_done = true;
}

static bool is_page_done(const void *data)
{
    return ((const struct page *)data)->is_done;
}

void sync_del_prefix(struct ev_loop *loop, struct etcd *etcd, const char *prefix)
{
    static struct page page;
    char end[256];
    assert_in_range(strlen(prefix), 1, sizeof(end));
    const struct etcd_range range = {
        .key = slice_str(prefix),
        .range_end = etcd_prefix_end(slice_str(prefix), end),
        .limit = ETCD_TXN_OPS_MAX,
        .keys_only = true,
    };
    do {
        struct etcd_op ops[ETCD_TXN_OPS_MAX];
        page.is_done = false;
        etcd_range(etcd, &range, etcd_sync_on_page, &page);
        loop_until(loop, is_page_done, &page);
        for (size_t i = 0; i < page.count; i++) {
            ops[i] = (struct etcd_op){.kind = ETCD_OP_DELETE, .key = slice_str(page.keys[i])};
        }
        if (page.count) {
            (void)etcd_sync_one(loop, etcd, ops, page.count);
        }
    } while (page.count == ETCD_TXN_OPS_MAX);
}

int64_t sync_put_many(struct ev_loop *loop, struct etcd *etcd, const char *prefix, unsigned count,
                      struct slice value)
{
    int64_t revision = 0;
    for (unsigned next = 0; next < count;) {
        struct etcd_op ops[ETCD_TXN_OPS_MAX];
        char keys[ETCD_TXN_OPS_MAX][64];
        size_t n = 0;
        for (; n < ETCD_TXN_OPS_MAX && next < count; n++, next++) {
            int len = snprintf(keys[n], sizeof(keys[n]), "%s%06u", prefix, next);
            assert_in_range(len, 1, sizeof(keys[n]) - 1);
            ops[n] =
                (struct etcd_op){.kind = ETCD_OP_PUT, .key = slice_str(keys[n]), .value = value};
        }
        revision = etcd_sync_one(loop, etcd, ops, n);
    }
    return revision;
}
