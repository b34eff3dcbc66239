#include "common/etcd/etcd_pages_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/grpc/grpc.h"

/* Reads so many keys at first. A Service's keys take at most 250 bytes each; at 640, a page would
 * fill a message. */
enum { PAGE_SIZE_DEFAULT = 50000 };

/* Bounds a page from below: so many of the largest keys that etcd accepts (1.5 MiB a request) fit
 * our message limit. */
enum { PAGE_SIZE_LEAST = 16 };

/* Limits a page to a quarter below the message limit, because the next keys may be longer than
 * those of the last page. A key's overhead: revisions of four bytes, a lease of nine, tags and
 * lengths. */
enum { PAGE_BYTES_MAX = GRPC_RECEIVE_MAX / 4 * 3, KEY_OVERHEAD = 32 };

/* Bounds a key, which may be as long as a request, 1.5 MiB; one more byte makes its successor. */
enum { KEY_MAX = (2 << 20) + 1 };

/* Leaves pages unbounded when fewer are to go: scanning the rest of the index for each costs etcd
 * little. */
enum { BOUND_PAGES_MIN = 4 };

/* Takes so many bytes of a key for a number: from the first in which keys differ, or one before it
 * where the number would have no room. */
enum { BOUND_DIGITS = sizeof(uint64_t), BOUND_BASE = 256 };

/* Behind a gap, a page reaches so many times as far as the one before. Most of the 256 values of a
 * byte are in no key, which makes gaps of some ten times a page, rarely of a thousand times. After
 * GAPS_MAX pages in gaps the next has no end. */
enum { GAP_FACTOR = 4, GAPS_MAX = 12 };

/* Bounds the factor on the client's timeout for a call: 80 s for 5 s, for millions of keys on a
 * busy machine. */
enum { TIMEOUT_MAX = 16 };

struct etcd_pages {
    struct etcd_pages_config config;
    uint32_t timeout;  /* times that timeout, for a page */
    int64_t page_size; /* the minimum, or the fixed size */
    bool is_fixed;

    struct etcd_call *call;
    int64_t revision; /* 0: the first page's */
    int64_t limit;    /* of the page requested */
    struct buf key;   /* where the page starts */
    struct buf bound; /* where it ends at the latest; empty: at the range's end */
    int64_t left;     /* keys from its start to the range's end; negative: not known yet */
    struct etcd_density density; /* of the last page that is a measure */
    unsigned gaps;               /* pages that ended in a gap since then */

    /* Hold the page received and receive the next, in turn. */
    struct arena arenas[2];
    unsigned asked_into;

    /* Delays the page received until the request for the next is sent. */
    ev_prepare give;
    bool has_page;
    struct etcd_range_reply page;
};

static void drop_pages(struct etcd_pages *p)
{
    ev_clear_pending(etcd_loop(p->config.etcd), &p->give);
    p->has_page = false;
    arena_fini(&p->arenas[0]);
    arena_fini(&p->arenas[1]);
}

/* Delivers the page; the callback may cancel, read again or free. */
static void give_page(struct etcd_pages *p)
{
    ev_clear_pending(etcd_loop(p->config.etcd), &p->give);
    if (p->has_page) {
        const struct etcd_range_reply page = p->page;
        struct arena arena = p->arenas[1 - p->asked_into];
        arena_init(&p->arenas[1 - p->asked_into], ETCD_DECODED_MAX);
        p->has_page = false;
        p->config.page(p->config.data, &page);
        arena_fini(&arena);
    }
}

static void on_give(struct ev_loop *loop UNUSED, ev_prepare *give, int revents UNUSED)
{
    give_page(give->data);
}

static void etcd_pages_on_page(void *data, const struct etcd_range_reply *reply,
                               const struct err *err);

static void etcd_pages_ask(struct etcd_pages *p)
{
    const struct etcd_range range = {
        .key = buf_slice(&p->key),
        .range_end = p->bound.len ? buf_slice(&p->bound) : p->config.range_end,
        .limit = p->limit,
        .revision = p->revision,
    };
    uint32_t timeout_ms = p->timeout * etcd_call_timeout_ms(p->config.etcd);
    struct arena *arena = &p->arenas[p->asked_into];
    p->call =
        etcd_watch_range_into(p->config.etcd, &range, timeout_ms, arena, etcd_pages_on_page, p);
}

/* Returns how many keys like those of this page fit a message. */
static int64_t etcd_pages_page_limit(const struct etcd_range_reply *reply)
{
    size_t bytes = 0;
    for (size_t i = 0; i < reply->count; i++) {
        bytes += reply->kvs[i].key.len + reply->kvs[i].value.len + KEY_OVERHEAD;
    }
    return (int64_t)(PAGE_BYTES_MAX / (bytes / reply->count));
}

int64_t etcd_pages_next_size(int64_t least, const struct etcd_range_reply *page)
{
    assert(page->count > 0);
    int64_t count = (int64_t)page->count, fit = etcd_pages_page_limit(page);
    int64_t half = page->total > count ? (page->total - count) / 2 : 0;
    int64_t size = half > least ? half : least;
    size = size < fit ? size : fit;
    return size > PAGE_SIZE_LEAST ? size : PAGE_SIZE_LEAST;
}

static uint64_t digits_at(struct slice key, size_t at)
{
    uint64_t number = 0;
    for (size_t i = at; i < at + BOUND_DIGITS; i++) {
        number = number << 8 | (i < key.len ? (uint8_t)key.ptr[i] : 0);
    }
    return number;
}

struct etcd_density etcd_pages_density(const struct etcd_range_reply *page)
{
    assert(page->count > 1);
    struct slice first = page->kvs[0].key, last = page->kvs[page->count - 1].key;
    size_t same = 0; /* they differ */
    while (same < first.len && same < last.len && first.ptr[same] == last.ptr[same]) {
        same++;
    }
    uint64_t spread = digits_at(last, same) - digits_at(first, same);
    return (struct etcd_density){.at = same, .step = (double)spread / (double)(page->count - 1)};
}

bool etcd_pages_bound(const struct etcd_density *density, struct slice start, double want,
                      struct buf *bound)
{
    size_t at = density->at;
    double step = density->step * want;
    buf_clear(bound);
    while (at > start.len || step >= (double)(UINT64_MAX - digits_at(start, at))) {
        if (at == 0) {
            return false;
        }
        at--;
        step /= BOUND_BASE;
    }
    uint64_t number = digits_at(start, at) + (uint64_t)step + 1;
    buf_append_slice(bound, slice_of(start.ptr, at));
    buf_append_u64(bound, number);
    return true;
}

/* Bounds the page that starts at the key. */
static void set_bound(struct etcd_pages *p)
{
    double want = 2 * (double)p->limit;
    for (unsigned i = 0; i < p->gaps; i++) {
        want *= GAP_FACTOR;
    }
    if (p->density.step == 0 || p->gaps > GAPS_MAX || p->left <= BOUND_PAGES_MIN * p->limit ||
        !etcd_pages_bound(&p->density, buf_slice(&p->key), want, &p->bound) ||
        slice_compare(buf_slice(&p->bound), p->config.range_end) >= 0) {
        buf_clear(&p->bound);
    }
}

/* Bounds the next page. A page that did not fill a quarter of its limit is no measure: it ended in
 * a gap, whose width only etcd knows. */
static void bound_next(struct etcd_pages *p, const struct etcd_range_reply *page)
{
    if (page->count > 1 && (int64_t)page->count >= p->limit / 4) {
        p->density = etcd_pages_density(page);
        p->gaps = 0;
    } else {
        p->gaps++;
    }
    p->limit = p->is_fixed ? p->page_size : etcd_pages_next_size(p->page_size, page);
    set_bound(p);
}

/* Sets where the next page starts: behind the last key of this one, or, with all of its part
 * received, where that part ended. */
static void start_next(struct etcd_pages *p, const struct etcd_range_reply *reply)
{
    buf_clear(&p->key);
    if (reply->more) {
        buf_append_slice(&p->key, reply->kvs[reply->count - 1].key);
        buf_append_char(&p->key, '\0');
    } else {
        buf_append_slice(&p->key, buf_slice(&p->bound));
    }
}

static void etcd_pages_ask_next(struct etcd_pages *p, const struct etcd_range_reply *reply)
{
    p->revision = p->revision ? p->revision : reply->revision;
    p->asked_into = 1 - p->asked_into;
    start_next(p, reply);
    bound_next(p, &p->page);
    etcd_pages_ask(p);
}

/* Requests what is behind a part without keys. */
static void ask_behind(struct etcd_pages *p)
{
    arena_fini(&p->arenas[p->asked_into]);
    arena_init(&p->arenas[p->asked_into], ETCD_DECODED_MAX);
    buf_clear(&p->key);
    buf_append_slice(&p->key, buf_slice(&p->bound));
    p->gaps++;
    set_bound(p);
    etcd_pages_ask(p);
}

static void etcd_pages_on_page(void *data, const struct etcd_range_reply *reply,
                               const struct err *err)
{
    struct etcd_pages *p = data;
    p->call = NULL;
    if (err) {
        drop_pages(p);
        if (err->code == ERR_TIMEOUT && p->timeout < TIMEOUT_MAX) {
            p->timeout *= 2;
        }
        p->config.failed(p->config.data, err);
        return;
    }
    assert(!p->has_page); /* delivered in the loop iteration that requested this one */
    int64_t total = p->left < 0 ? reply->total : p->left;
    int64_t left = total - (int64_t)reply->count;
    bool has_more = reply->more || (p->bound.len > 0 && left > 0);
    if (has_more && reply->count == 0) {
        ask_behind(p);
        return;
    }
    p->left = left > 0 ? left : 0;
    p->page = *reply;
    p->page.total = total;
    p->page.more = has_more;
    p->has_page = true;
    if (has_more) {
        etcd_pages_ask_next(p, reply);
        ev_feed_event(etcd_loop(p->config.etcd), &p->give, EV_PREPARE);
    } else {
        p->asked_into = 1 - p->asked_into;
        p->timeout = 1;
        give_page(p);
    }
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
    pages->timeout = 1;
    buf_init(&pages->key, KEY_MAX);
    buf_init(&pages->bound, KEY_MAX + BOUND_DIGITS);
    arena_init(&pages->arenas[0], ETCD_DECODED_MAX);
    arena_init(&pages->arenas[1], ETCD_DECODED_MAX);
    ev_init(&pages->give, on_give);
    ev_set_priority(&pages->give, EV_MINPRI); /* after the writes */
    pages->give.data = pages;
    etcd_pages_reset(pages);
    return pages;
}

void etcd_pages_free(struct etcd_pages *pages)
{
    if (pages) {
        etcd_pages_cancel(pages);
        buf_fini(&pages->key);
        buf_fini(&pages->bound);
        free(pages);
    }
}

void etcd_pages_read(struct etcd_pages *pages, int64_t revision)
{
    etcd_pages_cancel(pages);
    pages->revision = revision;
    pages->limit = pages->page_size;
    pages->left = -1;
    pages->density = (struct etcd_density){0};
    pages->gaps = 0;
    buf_clear(&pages->bound);
    buf_clear(&pages->key);
    buf_append_slice(&pages->key, pages->config.first_key);
    etcd_pages_ask(pages);
}

void etcd_pages_cancel(struct etcd_pages *pages)
{
    if (pages->call) {
        etcd_call_cancel(pages->call);
        pages->call = NULL;
    }
    drop_pages(pages);
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
