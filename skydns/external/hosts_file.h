/* Parses the text of a hosts file, hosts(5): lines of an address and its names. `#` begins a
 * comment. Pure; any thread. */
#ifndef SKYDNS_EXTERNAL_HOSTS_FILE_H
#define SKYDNS_EXTERNAL_HOSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "skydns/external/hosts_table.h"

enum {
    HOSTS_FILE_MAX = 64 * 1024 * 1024, /* bytes: twice the largest lists of blocked names */
    HOSTS_BAD_LINES_SHOWN = 8,
};

/* Reports the lines of a file that are left out. */
struct hosts_report {
    size_t bad_lines;
    struct {
        size_t line;     /* from 1 */
        const char *why; /* constant */
    } shown[HOSTS_BAD_LINES_SHOWN];
};

/* A file being read; zeroed at first, but for its text. */
struct hosts_reader {
    struct slice text;  /* borrowed; the rest of it */
    size_t line;        /* number of the last entry's line, from 1 */
    struct ip ip;       /* that line's address, */
    struct slice names; /* and its further names */
    struct hosts_report report;
};

/* Reads the next entry. Leaves out a bad line as a whole. Returns false when there are no more. */
bool hosts_reader_next(struct hosts_reader *reader, struct hosts_entry *ret_entry);

#endif
