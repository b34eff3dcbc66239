#include "kube2sky/plan_page.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/status.h"

/* Owners planned per piece of the page: below a millisecond, since the loop waits. */
enum { OWNERS_PER_PIECE = 32 };

/* Holds owners that had work when they were visited, after the page was requested. */
struct plan_page {
    const struct metrics_sources *sources;
    struct unsettled_place place;
    bool has_ids;   /* the ids are complete */
    struct buf ids; /* each NUL-terminated */
    size_t at;      /* offset of the next id */
    bool has_lines;
};

static void note_owner(void *data, struct slice id)
{
    struct plan_page *page = data;
    buf_append_slice(&page->ids, id);
    buf_append_char(&page->ids, '\0');
}

static struct slice next_id(struct plan_page *page)
{
    struct slice id = slice_str((const char *)page->ids.data + page->at);
    page->at += id.len + 1;
    return id;
}

/* Writes why the rest is unknown. */
static void plan_page_begin(const struct metrics_sources *sources, struct buf *out)
{
    if (!reconciler_has_synced(sources->reconciler)) {
        buf_append_str(out, "# not everything is known yet: ");
        status_explain_missing(sources, out);
        buf_append_char(out, '\n');
    }
}

static void note_owners(struct plan_page *page)
{
    enum unsettled_part part =
        reconciler_each_unsettled(page->sources->reconciler, &page->place, note_owner, page);
    page->has_ids = part == UNSETTLED_LAST;
    if (part == UNSETTLED_ANEW) {
        buf_clear(&page->ids);
    }
}

static bool on_more(void *data, struct buf *piece)
{
    struct plan_page *page = data;
    if (!page->has_ids) {
        note_owners(page);
        return true;
    }
    if (page->at == 0) {
        plan_page_begin(page->sources, piece);
    }
    for (size_t i = 0; i < OWNERS_PER_PIECE && page->at < page->ids.len; i++) {
        reconciler_preview(page->sources->reconciler, next_id(page), piece);
    }
    page->has_lines |= piece->len > 0;
    bool is_over = page->at == page->ids.len;
    if (is_over && !page->has_lines) {
        buf_append_str(piece, "# nothing to do\n");
    }
    return !is_over;
}

static void plan_page_on_end(void *data)
{
    struct plan_page *page = data;
    buf_fini(&page->ids);
    free(page);
}

/* 100,000 owners take some 4 MB; far more owners would not fit into memory anyway. */
enum { IDS_BYTES_MAX = 256 * 1024 * 1024 };

void plan_page_handle(void *data, const struct http_request *request UNUSED,
                      struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    struct plan_page *page = xcalloc(1, sizeof(*page));
    page->sources = sources;
    buf_init(&page->ids, IDS_BYTES_MAX);
    reply->stream = (struct http_stream){.more = on_more, .end = plan_page_on_end, .data = page};
}
