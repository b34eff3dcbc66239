#include "skydns/corefile/translation_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Limits comparing: a snippet's notes are given once, however many blocks import it. Beyond this
 * many, comparing costs more than reading them twice. */
enum { NOTES_COMPARED_MAX = 1000 };

/* ---- Strings ---- */

void strings_init(struct strings *strings)
{
    buf_init(&strings->bytes, STRINGS_BYTES_MAX);
}

void strings_fini(struct strings *strings)
{
    buf_fini(&strings->bytes);
}

void strings_clear(struct strings *strings)
{
    buf_clear(&strings->bytes);
}

void strings_add(struct strings *strings, const char *text)
{
    buf_append(&strings->bytes, text, strlen(text) + 1);
}

const char *strings_next(const struct strings *strings, const char *text)
{
    const char *begin = (const char *)strings->bytes.data;
    const char *next = text ? text + strlen(text) + 1 : begin;
    return next && next < begin + strings->bytes.len ? next : NULL;
}

bool strings_has(const struct strings *strings, const char *text)
{
    const char *at = NULL;
    while ((at = strings_next(strings, at))) {
        if (strcmp(at, text) == 0) {
            return true;
        }
    }
    return false;
}

void strings_add_once(struct strings *strings, const char *text)
{
    if (!strings_has(strings, text)) {
        strings_add(strings, text);
    }
}

bool strings_is_empty(const struct strings *strings)
{
    return strings->bytes.len == 0;
}

size_t strings_count(const struct strings *strings)
{
    const char *at = NULL;
    size_t count = 0;
    while ((at = strings_next(strings, at))) {
        count++;
    }
    return count;
}

/* ---- Notes and flags ---- */

void translation_plain(const char *text, size_t max, struct buf *out)
{
    for (size_t i = 0; i < max && text[i]; i++) {
        buf_append_char(out, text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    }
    buf_append_str(out, strlen(text) > max ? "..." : "");
}

static void add_note(struct translation *t, struct strings *notes, const struct corefile_line *line,
                     const char *why)
{
    struct buf note;
    buf_init(&note, COREFILE_BYTES_MAX + FILE_SHOWN_MAX);
    translation_plain(t->file, FILE_SHOWN_MAX, &note);
    buf_printf(&note, ":%u:", line->number);
    for (size_t i = 0; i < line->count && i < 8; i++) {
        buf_append_char(&note, ' ');
        translation_plain(line->words[i], WORD_SHOWN_MAX, &note);
    }
    buf_printf(&note, "%s: %s", line->count > 8 ? " ..." : "", why);
    if (t->note_count++ < NOTES_COMPARED_MAX) {
        strings_add_once(notes, buf_cstr(&note));
    } else {
        strings_add(notes, buf_cstr(&note));
    }
    buf_fini(&note);
}

void translation_missing(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->missing, line, why);
}

void translation_needless(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->needless, line, why);
}

void translation_narrower(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->narrower, line, why);
}

void translation_close(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->closing, line, why);
}

static void add_item_note(struct translation *t, struct strings *notes, const char *item,
                          const char *why)
{
    struct buf note;
    buf_init(&note, STRINGS_BYTES_MAX);
    translation_plain(t->file, FILE_SHOWN_MAX, &note);
    buf_append_str(&note, ": ");
    translation_plain(item, WORD_SHOWN_MAX, &note);
    buf_printf(&note, ": %s", why);
    strings_add_once(notes, buf_cstr(&note));
    buf_fini(&note);
}

void translation_missing_item(struct translation *t, const char *item, const char *why)
{
    add_item_note(t, &t->missing, item, why);
}

void translation_close_item(struct translation *t, const char *item, const char *why)
{
    add_item_note(t, &t->closing, item, why);
}

void translation_narrower_item(struct translation *t, const char *item, const char *why)
{
    add_item_note(t, &t->narrower, item, why);
}

void translation_add(struct translation *t, struct strings *list, size_t max, const char *text,
                     const struct corefile_line *line)
{
    if (strings_has(list, text)) {
        return;
    }
    if (strings_count(list) == max) {
        translation_missing(t, line, "left out: more than the flag takes");
        return;
    }
    strings_add(list, text);
}

void translation_flag(struct strings *flags, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        xalloc_out_of_memory();
    }
    va_end(arguments);
    strings_add_once(flags, text);
    free(text);
}

bool translation_is_whole(const struct translation *t)
{
    return strings_is_empty(&t->closing) && strings_is_empty(&t->narrower) &&
           strings_is_empty(&t->missing);
}

/* ---- Lifetime ---- */

static void each_strings(struct translation *t, void (*fn)(struct strings *strings))
{
    struct strings *all[] = {&t->skydns,    &t->kube2sky,      &t->closing,       &t->narrower,
                             &t->needless,  &t->missing,       &t->hosts,         &t->listen,
                             &t->domains,   &t->reverse_zones, &t->nameservers,   &t->stubs,
                             &t->kept,      &t->unforwarded,   &t->like_root,     &t->keys,
                             &t->transfers, &t->tsig_names,    &t->allow,         &t->taken,
                             &t->aliases,   &t->no_aaaa,       &t->external_zones};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        fn(all[i]);
    }
}

void translation_init(struct translation *t, const char *file)
{
    *t = (struct translation){.file = file, .rcache_ttl_s = -1, .rcache_stale_s = -1, .scache = -1};
    each_strings(t, strings_init);
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_init(&t->http[i], COREFILE_BYTES_MAX);
    }
}

void translation_fini(struct translation *t)
{
    each_strings(t, strings_fini);
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_fini(&t->http[i]);
    }
}
