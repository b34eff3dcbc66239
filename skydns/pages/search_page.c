#include "skydns/pages/search_page_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/sync/store_sync.h"

enum {
    STEP_RECORDS = 512,      /* of all searches together: half a millisecond */
    STEP_BYTES = 256 * 1024, /* of values: a record has at most 64 KiB of text, and as much host */
    PIECE_FULL = 64 * 1024,  /* as record_page.c */
    VALUE_MAX = 3 * 64 * 1024, /* host, text, and what separates them */
};

/* Ways in which a record matches, the best first, and the word for programs. */
enum match { MATCH_EXACT, MATCH_LABEL, MATCH_NAME, MATCH_VALUE, MATCH_NONE };

static const char *const words[] = {
    [MATCH_EXACT] = "exact", /* its name or key is the text */
    [MATCH_LABEL] = "label", /* a label begins so, or several */
    [MATCH_NAME] = "name",   /* within its name or key */
    [MATCH_VALUE] = "value", /* within its host or text */
};

struct result {
    enum match match;
    struct dname name;
};

struct search {
    const struct store_sync *sync;
    char text[SEARCH_TEXT_MAX + 1]; /* in lower case, without a dot at the end */
    size_t len;
    bool has_slash; /* a part of a key */
    bool has_begun, is_done;
    struct dname last; /* looked at; len 0: none yet */
    uint64_t scanned, matches;
    struct buf lower;   /* scratch: a value */
    size_t count, next; /* next: to be shown */
    bool has_shown;
    struct result results[SEARCH_RESULTS_MAX]; /* the best ones until now, the best first */
};

/* Searches that run. Main thread. */
static unsigned running;

/* ---- Matching ---- */

/* Matches labels, which `separator` ends. */
static enum match match_labels(const struct search *s, const char *hay, size_t len, char separator)
{
    const char *at = memmem(hay, len, s->text, s->len);
    if (!at) {
        return MATCH_NONE;
    }
    if (len == s->len) {
        return MATCH_EXACT;
    }
    for (; at; at = memmem(at + 1, (size_t)(hay + len - at - 1), s->text, s->len)) {
        if (at == hay || at[-1] == separator) {
            return MATCH_LABEL;
        }
        if (s->len == 0) {
            break;
        }
    }
    return MATCH_NAME;
}

static enum match match_key(struct search *s, const struct dname *name)
{
    buf_clear(&s->lower);
    record_key_of(store_sync_prefix(s->sync), name, &s->lower);
    return match_labels(s, buf_cstr(&s->lower), s->lower.len, '/');
}

static enum match match_value(struct search *s, const struct store_record *record)
{
    char host[DNAME_TEXT_MAX];
    buf_clear(&s->lower);
    buf_append_lower(&s->lower, store_record_host_text(record, host));
    buf_append_char(&s->lower, '\n'); /* no part of both */
    buf_append_lower(&s->lower, store_record_string(record, RECORD_TEXT));
    return memmem(buf_cstr(&s->lower), s->lower.len, s->text, s->len) ? MATCH_VALUE : MATCH_NONE;
}

/* Matches a record; names in the record store are in lower case. */
static enum match match_of(struct search *s, const struct store_record *record,
                           const struct dname *name)
{
    char text[DNAME_TEXT_MAX];
    enum match match;
    if (s->has_slash) {
        match = match_key(s, name);
    } else {
        size_t len = strlen(dname_to_text(name, text));
        match = match_labels(s, text, len > 1 ? len - 1 : len, '.');
    }
    return match == MATCH_NONE ? match_value(s, record) : match;
}

/* ---- Results ---- */

static bool is_better(const struct result *a, const struct result *b)
{
    return a->match != b->match ? a->match < b->match : a->name.len < b->name.len;
}

static void search_page_keep(struct search *s, const struct result *result)
{
    if (s->count == SEARCH_RESULTS_MAX && !is_better(result, &s->results[s->count - 1])) {
        return;
    }
    size_t at = s->count < SEARCH_RESULTS_MAX ? s->count++ : s->count - 1;
    for (; at > 0 && is_better(result, &s->results[at - 1]); at--) {
        s->results[at] = s->results[at - 1];
    }
    s->results[at] = *result;
}

/* ---- The page ---- */

static void search_page_begin_page(const struct search *s, struct buf *piece)
{
    buf_append_char(piece, '{');
    json_text_slice_field(piece, "q", slice_of(s->text, s->len));
    json_text_integer_field(piece, "revision", store_sync_counts(s->sync).revision);
    buf_append_str(piece, ",\n");
}

/* Scans some records. Returns false when all have been looked at. */
static bool search_page_scan(struct search *s)
{
    const struct store *store = store_sync_store(s->sync);
    size_t bytes = 0;
    for (unsigned i = 0; i < STEP_RECORDS / running + 1 && bytes < STEP_BYTES / running; i++) {
        const struct store_record *record =
            store ? store_next(store, s->last.len ? &s->last : NULL) : NULL;
        if (!record) {
            return false;
        }
        store_record_name(record, &s->last);
        s->scanned++;
        bytes += (size_t)record->lens[RECORD_TEXT] + record->lens[RECORD_HOST];
        const struct result result = {match_of(s, record, &s->last), s->last};
        if (result.match != MATCH_NONE) {
            s->matches++;
            search_page_keep(s, &result);
        }
    }
    return true;
}

/* Prints a result; leaves out one that is gone meanwhile. */
static void search_page_show(struct search *s, const struct result *result, struct buf *piece)
{
    const struct store *store = store_sync_store(s->sync);
    const struct store_record *record = store ? store_find_record(store, &result->name) : NULL;
    if (!record) {
        return;
    }
    buf_append_str(piece, s->has_shown ? ",\n{" : "\n{");
    s->has_shown = true;
    dname_json_field(piece, "name", &result->name);
    json_text_string_field(piece, "match", words[result->match]);
    record_page_fields(record, store_sync_prefix(s->sync), piece);
    record_page_age(record, piece);
    buf_append_char(piece, '}');
}

/* Adds results until the piece is full; false: that was the last one. */
static bool add_results(struct search *s, struct buf *piece)
{
    while (s->next < s->count && piece->len < PIECE_FULL) {
        search_page_show(s, &s->results[s->next++], piece);
    }
    if (s->next == s->count) {
        buf_append_str(piece, "]}\n");
    }
    return s->next < s->count;
}

static bool search_page_more(void *data, struct buf *piece)
{
    struct search *s = data;
    if (!s->has_begun) {
        s->has_begun = true;
        search_page_begin_page(s, piece);
        return true;
    }
    if (!s->is_done) {
        s->is_done = !search_page_scan(s);
        buf_append_char(piece, '\n'); /* else the next step came in this turn */
        if (s->is_done) {
            json_text_number_field(piece, "scanned", s->scanned);
            json_text_number_field(piece, "matches", s->matches);
            json_text_open(piece, "records", '[');
        }
        return true;
    }
    return add_results(s, piece);
}

static void search_page_end(void *data)
{
    struct search *s = data;
    buf_fini(&s->lower);
    free(s);
    running--;
}

static void search_page_begin(const struct store_sync *sync, const char *text,
                              struct http_reply *reply)
{
    struct search *s = xcalloc(1, sizeof(*s));
    s->sync = sync;
    s->len = strlen(text);
    ascii_lower_copy(s->text, text, s->len);
    s->len -= s->len > 1 && s->text[s->len - 1] == '.';
    s->has_slash = memchr(s->text, '/', s->len) != NULL;
    buf_init(&s->lower, VALUE_MAX);
    running++;
    reply->content_type = "application/json";
    reply->stream =
        (struct http_stream){.more = search_page_more, .end = search_page_end, .data = s};
}

void search_page(const struct store_sync *sync, const char *text, struct http_reply *reply)
{
    if (!text || strlen(text) > SEARCH_TEXT_MAX) {
        reply->status = 400;
        buf_printf(&reply->body, "q: expected a part of a name, key or value, at most %d bytes\n",
                   SEARCH_TEXT_MAX);
    } else if (running == SEARCH_RUNNING_MAX) {
        reply->status = 503;
        buf_printf(&reply->body, "%d searches are running already: try again\n",
                   SEARCH_RUNNING_MAX);
    } else {
        search_page_begin(sync, text, reply);
    }
}
