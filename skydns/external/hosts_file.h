/* The text of a hosts file, hosts(5): lines of an address and its names, `#` begins a comment.
 * Pure; any thread. */
#ifndef SKYDNS_EXTERNAL_HOSTS_FILE_H
#define SKYDNS_EXTERNAL_HOSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "skydns/external/hosts_table.h"

enum {
    HOSTS_FILE_MAX = 16 * 1024 * 1024, /* bytes: fifty times the largest lists of blocked names */
    HOSTS_NAMES_MAX = 200000,          /* entries of all files; 60 MB while they are read */
    HOSTS_BAD_LINES_SHOWN = 8,
};

/* Entries, in the files' order; zeroed at first. */
struct hosts_list {
    struct hosts_entry *items;
    size_t count, cap;
};

/* What of a file is left out. */
struct hosts_report {
    size_t bad_lines;
    struct {
        size_t line;     /* from 1 */
        const char *why; /* constant */
    } shown[HOSTS_BAD_LINES_SHOWN];
    size_t cut_line; /* the first one beyond HOSTS_NAMES_MAX; 0: none */
};

/* Appends the file's entries. A bad line is left out as a whole. */
void hosts_file_parse(struct slice text, struct hosts_list *list, struct hosts_report *ret_report);

void hosts_list_free(struct hosts_list *list);

#endif
