#include "skydns/corefile/translation_internal.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

/* Limits comparing: a snippet's notes are given once, however many blocks import it. Beyond this
 * many, comparing costs more than reading them twice. */
enum { NOTES_COMPARED_MAX = 1000 };

/* ---- Strings ---- */

struct strings strings_new(void)
{
    return (struct strings){.bytes = buf_of(STRINGS_BYTES_MAX)};
}

void strings_fini(struct strings *strings)
{
    buf_fini(&strings->bytes);
}

void strings_take(struct strings *strings, struct strings *other)
{
    strings_fini(strings);
    *strings = *other;
    *other = strings_new();
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
    for (const char *at = NULL; (at = strings_next(strings, at));) {
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
    size_t count = 0;
    for (const char *at = NULL; (at = strings_next(strings, at));) {
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

void note_line(struct translation *t, enum note kind, const struct corefile_line *line,
               const char *why)
{
    CLEANUP_BUF struct buf note = buf_of(COREFILE_BYTES_MAX + FILE_SHOWN_MAX);
    translation_plain(t->file, FILE_SHOWN_MAX, &note);
    buf_printf(&note, ":%u:", line->number);
    for (size_t i = 0; i < line->count && i < 8; i++) {
        buf_append_char(&note, ' ');
        translation_plain(line->words[i], WORD_SHOWN_MAX, &note);
    }
    buf_printf(&note, "%s: %s", line->count > 8 ? " ..." : "", why);
    if (t->note_count++ < NOTES_COMPARED_MAX) {
        strings_add_once(&t->notes[kind], buf_cstr(&note));
    } else {
        strings_add(&t->notes[kind], buf_cstr(&note));
    }
}

void note_item(struct translation *t, enum note kind, const char *item, const char *why)
{
    CLEANUP_BUF struct buf note = buf_of(STRINGS_BYTES_MAX);
    translation_plain(t->file, FILE_SHOWN_MAX, &note);
    buf_append_str(&note, ": ");
    translation_plain(item, WORD_SHOWN_MAX, &note);
    buf_printf(&note, ": %s", why);
    strings_add_once(&t->notes[kind], buf_cstr(&note));
}

void translation_add(struct translation *t, struct strings *list, size_t max, const char *text,
                     const struct corefile_line *line)
{
    if (strings_has(list, text)) {
        return;
    }
    if (strings_count(list) == max) {
        note_line(t, NOTE_MISSING, line, "left out: more than the flag takes");
        return;
    }
    strings_add(list, text);
}

void translation_named_zone(const char *flag, struct buf *out)
{
    flag += strncmp(flag, "*.", 2) == 0 ? 2 : 0;
    buf_clear(out);
    buf_append(out, flag, strcspn(flag, "="));
}

void translation_flag(struct strings *flags, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    CLEANUP_FREE char *text = xvasprintf(format, arguments);
    va_end(arguments);
    strings_add_once(flags, text);
}

bool translation_is_whole(const struct translation *t)
{
    return strings_is_empty(&t->notes[NOTE_CLOSING]) &&
           strings_is_empty(&t->notes[NOTE_NARROWER]) && strings_is_empty(&t->notes[NOTE_MISSING]);
}

/* ---- Lifetime ---- */

/* Returns one of all the lists; NULL: no more. */
static struct strings *translation_list(struct translation *t, size_t i)
{
    struct strings *all[] = {&t->skydns,    &t->kube2sky,      &t->hosts,         &t->listen,
                             &t->domains,   &t->reverse_zones, &t->nameservers,   &t->stubs,
                             &t->kept,      &t->unforwarded,   &t->like_root,     &t->keys,
                             &t->transfers, &t->tsig_names,    &t->allow,         &t->taken,
                             &t->aliases,   &t->no_aaaa,       &t->external_zones};
    if (i < NOTE_KINDS) {
        return &t->notes[i];
    }
    return i - NOTE_KINDS < ARRAY_LEN(all) ? all[i - NOTE_KINDS] : NULL;
}

void translation_init(struct translation *t, const char *file)
{
    *t = (struct translation){.file = file, .rcache_ttl_s = -1, .rcache_stale_s = -1, .scache = -1};
    for (size_t i = 0; translation_list(t, i); i++) {
        *translation_list(t, i) = strings_new();
    }
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_init(&t->http[i], COREFILE_BYTES_MAX);
    }
}

void translation_fini(struct translation *t)
{
    for (size_t i = 0; translation_list(t, i); i++) {
        strings_fini(translation_list(t, i));
    }
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_fini(&t->http[i]);
    }
}
