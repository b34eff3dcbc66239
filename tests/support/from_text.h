/* Names, addresses and files from text that a test knows to be right: other text ends the program.
 */
#ifndef TESTS_SUPPORT_FROM_TEXT_H
#define TESTS_SUPPORT_FROM_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"

static inline void from_text_check(bool is_right, const char *what, const char *text)
{
    if (!is_right) {
        (void)fprintf(stderr, "`%s` gives no %s\n", text, what);
        abort();
    }
}

static inline struct dname dname_from(const char *text)
{
    struct dname name;
    from_text_check(dname_from_text(slice_str(text), &name), "name", text);
    return name;
}

static inline struct ip ip_from(const char *text)
{
    struct ip ip;
    from_text_check(ip_parse(slice_str(text), &ip), "address", text);
    return ip;
}

static inline void file_from(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    from_text_check(file != NULL, "file", path);
    bool is_written = fputs(text, file) >= 0;
    from_text_check(fclose(file) == 0 && is_written, "file", path);
}

/* In the place of the file that is there, in one step: a reader sees the one or the other. */
static inline void replace_file_from(const char *path, const char *text)
{
    CLEANUP_FREE char *new_path = xasprintf("%s.new", path);
    file_from(new_path, text);
    from_text_check(rename(new_path, path) == 0, "file", path);
}

#endif
