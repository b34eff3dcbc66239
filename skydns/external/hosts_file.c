#include "skydns/external/hosts_file.h"

#include <string.h>

static bool hosts_file_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Takes the next word of a line off; empty at its end. */
static struct slice hosts_file_next_word(struct slice *line)
{
    size_t start = 0, end;
    while (start < line->len && hosts_file_is_blank(line->ptr[start])) {
        start++;
    }
    for (end = start; end < line->len && !hosts_file_is_blank(line->ptr[end]);) {
        end++;
    }
    struct slice word = slice_of(line->ptr + start, end - start);
    *line = slice_of(line->ptr + end, line->len - end);
    return word;
}

static bool hosts_file_parse_name(struct slice word, struct dname *ret_name)
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

/* Takes the line's address off it. Returns the line's error, or NULL when it is good or empty. */
static const char *check_line(struct slice *line, struct ip *ret_ip)
{
    struct slice word = hosts_file_next_word(line);
    if (word.len == 0) {
        return NULL;
    }
    if (!ip_parse_sloppy(word, ret_ip)) {
        return "expected an address first";
    }
    struct slice names = *line;
    word = hosts_file_next_word(&names);
    if (word.len == 0) {
        return "expected a name after the address";
    }
    for (; word.len > 0; word = hosts_file_next_word(&names)) {
        struct dname name;
        if (!hosts_file_parse_name(word, &name)) {
            return "a name is not a DNS name";
        }
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

bool hosts_reader_next(struct hosts_reader *reader, struct hosts_entry *ret_entry)
{
    for (;;) {
        const struct slice word = hosts_file_next_word(&reader->names);
        if (word.len > 0) {
            ret_entry->ip = reader->ip;
            (void)hosts_file_parse_name(word, &ret_entry->name); /* checked with its line */
            return true;
        }
        if (reader->text.len == 0) {
            return false;
        }
        struct slice rest = slice_cut(&reader->text, '\n');
        struct slice line = slice_cut(&rest, '#');
        reader->line++;
        const char *why = check_line(&line, &reader->ip);
        if (why) {
            note_bad(&reader->report, reader->line, why);
        } else {
            reader->names = line;
        }
    }
}
