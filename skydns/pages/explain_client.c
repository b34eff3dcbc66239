#include "skydns/pages/explain_client.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/base/xalloc.h"
#include "common/http/http_fetch.h"
#include "skydns/pages/explain.h"

/* ---- What differs between two explanations ---- */

enum {
    COMPARED_MAX = 64 * 1024 * 1024, /* of a response with all its labels */
    LABEL_WIDTH = 11,                /* of a section (explain_page_text.c) */
    BELOW_KEY = 6,                   /* before what belongs to the key above */
    HEADS = 2,                       /* lines that name the moment */
};

static const char blanks[] = "           ";

/* A line, or a key's lines, of one text. */
struct compared_part {
    const char *text;
    size_t at;
    bool is_common;
};

struct compared_text {
    struct buf bytes; /* of the parts, each with NUL */
    struct compared_part *parts;
    size_t count;
};

static bool begins_blank(struct slice line, size_t width)
{
    return line.len > width && line.ptr[width] != ' ' &&
           slice_has_prefix(line, slice_of(blanks, width));
}

static void cut_into_parts(struct compared_text *text, struct slice whole)
{
    struct slice label = slice_of(blanks, LABEL_WIDTH);
    while (whole.len > 0) {
        struct slice line = slice_cut(&whole, '\n');
        if (line.len == 0) {
            continue;
        }
        if (begins_blank(line, BELOW_KEY) && text->count > 0) {
            buf_append_char(&text->bytes, '\n');
        } else {
            buf_append(&text->bytes, "", text->count > 0); /* ends the part before */
            text->count++;
        }
        if (begins_blank(line, LABEL_WIDTH)) {
            buf_append_slice(&text->bytes, label);
            line = slice_of(line.ptr + LABEL_WIDTH, line.len - LABEL_WIDTH);
        } else if (line.len > LABEL_WIDTH) {
            label = slice_of(line.ptr, LABEL_WIDTH);
        }
        buf_append_slice(&text->bytes, line);
    }
}

static void begin_compared_text(struct compared_text *text, const char *whole)
{
    *text = (struct compared_text){.count = 0};
    buf_init(&text->bytes, COMPARED_MAX);
    cut_into_parts(text, slice_str(whole));
    text->parts = xcalloc(text->count + 1, sizeof(*text->parts));
    const char *part = buf_cstr(&text->bytes);
    for (size_t i = 0; i < text->count; i++, part += strlen(part) + 1) {
        text->parts[i] = (struct compared_part){.text = part, .at = i};
    }
}

static int compare_parts(const void *a, const void *b)
{
    return strcmp(((const struct compared_part *)a)->text, ((const struct compared_part *)b)->text);
}

static int compare_places(const void *a, const void *b)
{
    const size_t x = ((const struct compared_part *)a)->at;
    const size_t y = ((const struct compared_part *)b)->at;
    return (x > y) - (x < y);
}

static void sort_compared(struct compared_text *text, int (*compare)(const void *, const void *))
{
    qsort(text->parts, text->count, sizeof(*text->parts), compare);
}

/* Marks what both have, each part as often as both do. */
static void mark_common(struct compared_text *a, struct compared_text *b)
{
    sort_compared(a, compare_parts);
    sort_compared(b, compare_parts);
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const int order = compare_parts(&a->parts[i], &b->parts[j]);
        if (order == 0) {
            a->parts[i].is_common = b->parts[j].is_common = true;
        }
        i += order <= 0;
        j += order >= 0;
    }
    sort_compared(a, compare_places);
    sort_compared(b, compare_places);
}

static void put_compared_part(const struct compared_part *part, const char *sign, struct buf *out)
{
    struct slice text = slice_str(part->text);
    while (text.len > 0) {
        const struct slice line = slice_cut(&text, '\n');
        buf_append_str(out, sign);
        buf_append_slice(out, line);
        buf_append_char(out, '\n');
    }
}

/* Returns whether there is anything but the moment's name. */
static bool put_own_parts(const struct compared_text *text, const char *sign, struct buf *out)
{
    bool has_own = false;
    for (size_t i = 0; i < text->count; i++) {
        if (i < HEADS || !text->parts[i].is_common) {
            put_compared_part(&text->parts[i], sign, out);
            has_own = has_own || i >= HEADS;
        }
    }
    return has_own;
}

void explain_compare_texts(const char *before, const char *after, struct buf *out)
{
    struct compared_text a, b;
    begin_compared_text(&a, before);
    begin_compared_text(&b, after);
    mark_common(&a, &b);
    const bool has_gone = put_own_parts(&a, "< ", out), has_come = put_own_parts(&b, "> ", out);
    if (!has_gone && !has_come) {
        buf_append_str(out, "no difference: both answers come from the same records\n");
    }
    free(a.parts);
    free(b.parts);
    buf_fini(&a.bytes);
    buf_fini(&b.bytes);
}

/* ---- The command ---- */

enum {
    TARGET_MAX = 16384,
    PRINTED_MAX = 3 * HTTP_FETCH_PRINTED_MAX, /* two pages, each line with two more bytes */
    MOMENT_MAX = 256,
};

/* Fetches the page, as it was at this moment: "" is now. */
static int fetch_explanation(const struct addr *server, const struct explain_query *query,
                             const char *at, struct buf *page, struct err *err)
{
    struct err why;
    CLEANUP_BUF struct buf target = buf_of(TARGET_MAX);
    buf_append_str(&target, "/explain?text&name=");
    http_fetch_append_value(&target, query->name);
    buf_append_str(&target, "&type=");
    http_fetch_append_value(&target, query->type);
    buf_append_str(&target, *query->client ? "&client=" : "");
    http_fetch_append_value(&target, query->client);
    buf_append_str(&target, *at ? "&at=" : "");
    http_fetch_append_value(&target, at);
    int r = http_fetch_page(server, buf_cstr(&target), NULL, page, &why);
    if (r == ERR_REFUSED || r == ERR_NOT_FOUND) {
        return err_set(err, r == ERR_REFUSED ? ERR_USAGE : r, "%s", why.msg);
    }
    return r == 0 ? 0 : err_set(err, r, "%s; -http-addr must be that of a running skydns", why.msg);
}

/* Fetches the explanations of two moments, and appends what differs. */
static int fetch_differences(const struct addr *server, const struct explain_query *query,
                             const char *separator, struct buf *out, struct err *err)
{
    CLEANUP_BUF struct buf moment = buf_of(MOMENT_MAX);
    CLEANUP_BUF struct buf before = buf_of(HTTP_FETCH_PRINTED_MAX);
    CLEANUP_BUF struct buf after = buf_of(HTTP_FETCH_PRINTED_MAX);
    buf_append(&moment, query->at, (size_t)(separator - query->at));
    int r = fetch_explanation(server, query, buf_cstr(&moment), &before, err);
    if (r == 0) {
        r = fetch_explanation(server, query, separator + strlen(EXPLAIN_CLIENT_RANGE), &after, err);
    }
    if (r == 0) {
        explain_compare_texts(buf_cstr(&before), buf_cstr(&after), out);
    }
    return r;
}

int pages_explain_client(const struct addr *server, const struct explain_query *query,
                         struct err *err)
{
    const char *separator = strstr(query->at, EXPLAIN_CLIENT_RANGE);
    CLEANUP_BUF struct buf out = buf_of(PRINTED_MAX);
    int r = separator ? fetch_differences(server, query, separator, &out, err)
                      : fetch_explanation(server, query, query->at, &out, err);
    return r == 0 ? http_fetch_put(&out, err) : r;
}
