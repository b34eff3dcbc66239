#include "skydns/past/past_range_internal.h"

#include "common/base/err.h"
#include "common/etcd/etcd.h"

enum { SMALLER = 4 };

void past_range_init(struct past_range *range, const struct past_range_config *config)
{
    *range = (struct past_range){.config = *config};
    buf_init(&range->from, PAST_KEY_MAX);
    buf_init(&range->end, PAST_KEY_MAX);
}

void past_range_fini(struct past_range *range)
{
    if (range->call) {
        etcd_call_cancel(range->call);
        range->call = NULL;
    }
    buf_fini(&range->from);
    buf_fini(&range->end);
}

static void ask_past_page(struct past_range *range);

static size_t page_bytes(const struct etcd_range_reply *reply)
{
    size_t bytes = 0;
    for (size_t i = 0; i < reply->count; i++) {
        bytes += reply->kvs[i].key.len + reply->kvs[i].value.len;
    }
    return bytes;
}

/* Returns how many keys like those of this page, which has some, the next one may have. */
static int64_t next_limit(const struct etcd_range_reply *reply)
{
    const size_t fit = PAST_PAGE_BYTES * reply->count / (page_bytes(reply) + 1);
    return fit < 1 ? 1 : fit > PAST_PAGE_KEYS ? PAST_PAGE_KEYS : (int64_t)fit;
}

/* Takes the page from what is left. Returns false if it is more. */
static bool spend_budget(struct past_budget *budget, const struct etcd_range_reply *reply)
{
    const size_t bytes = page_bytes(reply);
    if (reply->count > budget->keys || bytes > budget->bytes) {
        return false;
    }
    budget->keys -= reply->count;
    budget->bytes -= bytes;
    return true;
}

static void fail_page(struct past_range *range, const struct err *err)
{
    if (err->code == ERR_TOO_LARGE && range->limit > 1) {
        range->limit = range->limit > SMALLER ? range->limit / SMALLER : 1;
        ask_past_page(range);
        return;
    }
    range->config.done(range->config.data, err);
}

static void on_page(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct past_range *range = data;
    range->call = NULL;
    if (err) {
        fail_page(range, err);
        return;
    }
    if (!spend_budget(range->config.budget, reply)) {
        struct err over;
        err_set(&over, ERR_TOO_LARGE, "more than %d keys, or %d MiB of them", PAST_KEYS_MAX,
                PAST_BYTES_MAX >> 20);
        range->config.done(range->config.data, &over);
        return;
    }
    const bool has_more = reply->more && reply->count > 0;
    if (has_more) {
        range->limit = range->fixed_limit > 0 ? range->fixed_limit : next_limit(reply);
        buf_clear(&range->from);
        buf_append_slice(&range->from, reply->kvs[reply->count - 1].key);
        buf_append_char(&range->from, '\0');
    }
    const bool is_wanted =
        range->config.page(range->config.data, reply->kvs, reply->count, reply->revision);
    if (has_more && is_wanted) {
        ask_past_page(range);
    } else {
        range->config.done(range->config.data, NULL);
    }
}

static void ask_past_page(struct past_range *range)
{
    const struct etcd_range request = {
        .key = buf_slice(&range->from),
        .range_end = buf_slice(&range->end),
        .limit = range->limit,
        .revision = range->config.revision,
        .keys_only = range->config.is_keys_only,
    };
    range->call = etcd_range(range->config.etcd, &request, on_page, range);
}

void past_range_read(struct past_range *range, struct slice key, bool is_below, int64_t page_keys)
{
    buf_clear(&range->from);
    buf_clear(&range->end);
    buf_append_slice(&range->from, key);
    if (is_below) {
        buf_append_slice(&range->end, key);
        buf_append_char(&range->from, '/');
        buf_append_char(&range->end, '/' + 1);
    }
    range->fixed_limit = page_keys;
    range->limit = page_keys > 0 ? page_keys : PAST_FIRST_KEYS;
    ask_past_page(range);
}
