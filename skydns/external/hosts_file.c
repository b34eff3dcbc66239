#include "skydns/external/hosts_file.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

enum { CAP_MIN = 64 };

/* Takes what is in front of the separator off the text; all if there is none. */
static struct slice cut_at(struct slice *text, char separator)
{
    const char *at = text->len ? memchr(text->ptr, separator, text->len) : NULL;
    size_t len = at ? (size_t)(at - text->ptr) : text->len;
    struct slice part = slice_of(text->ptr, len);
    size_t taken = at ? len + 1 : len;
    *text = slice_of(text->ptr + taken, text->len - taken);
    return part;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of a line; empty at its end. */
static struct slice next_word(struct slice *line)
{
    size_t start = 0, end;
    while (start < line->len && is_blank(line->ptr[start])) {
        start++;
    }
    for (end = start; end < line->len && !is_blank(line->ptr[end]);) {
        end++;
    }
    struct slice word = slice_of(line->ptr + start, end - start);
    *line = slice_of(line->ptr + end, line->len - end);
    return word;
}

static bool parse_name(struct slice word, struct dname *ret_name)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (c <= ' ' || c >= 0x7f) {
            return false;
        }
    }
    if (!dname_from_text(word, ret_name) || ret_name->len == 1) {
        return false;
    }
    dname_lower(ret_name);
    return true;
}

static struct hosts_entry *add(struct hosts_list *list)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? 2 * list->cap : CAP_MIN;
        list->items = xrealloc_array(list->items, list->cap, sizeof(*list->items));
    }
    return &list->items[list->count++];
}

/* Adds the line's entries. Returns what is wrong with it, or NULL; sets *is_cut if there is no room
 * for all. */
static const char *take_line(struct slice line, struct hosts_list *list, bool *is_cut)
{
    struct ip ip;
    struct slice word = next_word(&line);
    if (word.len == 0) {
        return NULL;
    }
    if (!ip_parse_sloppy(word, &ip)) {
        return "expected an address first";
    }
    word = next_word(&line);
    if (word.len == 0) {
        return "expected a name after the address";
    }
    for (; word.len > 0; word = next_word(&line)) {
        struct dname name;
        if (!parse_name(word, &name)) {
            return "a name is not a DNS name";
        }
        if (list->count == HOSTS_NAMES_MAX) {
            *is_cut = true;
            return NULL;
        }
        *add(list) = (struct hosts_entry){.ip = ip, .name = name};
    }
    return NULL;
}

static void note_bad(struct hosts_report *report, size_t line, const char *why)
{
    if (report->bad_lines < HOSTS_BAD_LINES_SHOWN) {
        report->shown[report->bad_lines].line = line;
        report->shown[report->bad_lines].why = why;
    }
    report->bad_lines++;
}

void hosts_file_parse(struct slice text, struct hosts_list *list, struct hosts_report *ret_report)
{
    *ret_report = (struct hosts_report){0};
    for (size_t number = 1; text.len > 0; number++) {
        struct slice rest = cut_at(&text, '\n');
        struct slice line = cut_at(&rest, '#');
        size_t before = list->count;
        bool is_cut = false;
        const char *why = take_line(line, list, &is_cut);
        if (why || is_cut) {
            list->count = before;
        }
        if (is_cut) {
            ret_report->cut_line = number;
            return;
        }
        if (why) {
            note_bad(ret_report, number, why);
        }
    }
}

void hosts_list_free(struct hosts_list *list)
{
    free(list->items);
    *list = (struct hosts_list){0};
}
