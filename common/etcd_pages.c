#include "common/etcd_pages.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/etcd_link.h"
#include "common/xalloc.h"

enum { PAGE_SIZE_DEFAULT = 10000 };

/* As many of the largest keys that etcd takes (1.5 MiB a request) fit into a message of ours. */
enum { PAGE_SIZE_LEAST = 16 };

/* A page may be as large as this part of what was read already: not more beside it than it. */
enum { PAGE_SHARE = 2 };

/* An etcd key may be as long as a request, 1.5 MiB; one byte more makes the next. */
enum { KEY_MAX = (2 << 20) + 1 };

struct etcd_pages {
    struct etcd_pages_config config;
    int64_t page_size; /* the smallest, or the only one */
    bool is_fixed;

    struct etcd_call *call;
    bool is_going_on; /* unless the page's taker cancels */
    int64_t revision; /* 0: the first page says it */
    int64_t limit;    /* of the page asked for */
    int64_t keys_read;
    struct buf key; /* where the page starts */
};

static void on_page(void *data, const struct etcd_range_reply *reply, const struct err *err);

static void ask(struct etcd_pages *p)
{
    int64_t share = p->is_fixed ? 0 : p->keys_read / PAGE_SHARE;
    p->limit = share > p->page_size ? share : p->page_size;
    const struct etcd_range range = {
        .key = buf_slice(&p->key),
        .range_end = p->config.range_end,
        .limit = p->limit,
        .revision = p->revision,
    };
    p->call = etcd_watch_range(p->config.etcd, &range, true, on_page, p);
}

static void on_page(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_pages *p = data;
    p->call = NULL;
    if (err) {
        p->config.failed(p->config.data, err);
        return;
    }
    p->is_going_on = reply->more && reply->count > 0;
    if (p->is_going_on) {
        p->revision = p->revision ? p->revision : reply->revision;
        p->keys_read += (int64_t)reply->count;
        buf_clear(&p->key);
        buf_append_slice(&p->key, reply->kvs[reply->count - 1].key);
        buf_append_char(&p->key, '\0');
        ask(p); /* etcd finds the next page while this one is taken in */
    }
    p->config.page(p->config.data, reply);
}

void etcd_pages_reset(struct etcd_pages *pages)
{
    pages->is_fixed = pages->config.page_size > 0;
    pages->page_size = pages->is_fixed ? pages->config.page_size : PAGE_SIZE_DEFAULT;
}

struct etcd_pages *etcd_pages_new(const struct etcd_pages_config *config)
{
    struct etcd_pages *pages = xcalloc(1, sizeof(*pages));
    pages->config = *config;
    buf_init(&pages->key, KEY_MAX);
    etcd_pages_reset(pages);
    return pages;
}

void etcd_pages_free(struct etcd_pages *pages)
{
    if (pages) {
        etcd_pages_cancel(pages);
        buf_fini(&pages->key);
        free(pages);
    }
}

void etcd_pages_read(struct etcd_pages *pages, int64_t revision)
{
    etcd_pages_cancel(pages);
    pages->revision = revision;
    pages->keys_read = 0;
    buf_clear(&pages->key);
    buf_append_slice(&pages->key, pages->config.first_key);
    ask(pages);
}

void etcd_pages_cancel(struct etcd_pages *pages)
{
    pages->is_going_on = false;
    if (pages->call) {
        etcd_call_cancel(pages->call);
        pages->call = NULL;
    }
}

bool etcd_pages_shrink(struct etcd_pages *pages)
{
    if (pages->limit <= PAGE_SIZE_LEAST) {
        return false;
    }
    pages->page_size = pages->limit / 2;
    pages->is_fixed = true;
    return true;
}
