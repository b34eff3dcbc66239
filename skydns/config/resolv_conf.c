#include "skydns/config/resolv_conf_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"

/* Adds the server of a line `nameserver ADDRESS`; ignores other lines and unusable addresses, as
 * the C library's resolver does. */
static void take_resolv_line(struct options *o, const char *line)
{
    static const char blanks[] = " \t\r\n";
    static const char keyword[] = "nameserver";
    struct addr server;
    line += strspn(line, blanks);
    if (strncmp(line, keyword, sizeof(keyword) - 1) != 0) {
        return;
    }
    line += sizeof(keyword) - 1;
    size_t gap = strspn(line, blanks);
    struct slice text = slice_of(line + gap, strcspn(line + gap, blanks));
    if (gap > 0 && o->nameserver_count < OPTIONS_NAMESERVERS_MAX &&
        addr_parse_ip(text, NAMESERVER_PORT, &server)) {
        o->nameservers[o->nameserver_count++] = nameserver_at(server);
    }
}

int resolv_conf_read(struct options *options, const char *path, struct err *err)
{
    char line[512]; /* pieces of longer lines (search lists) match nothing */
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file) {
        if (errno == ENOENT) {
            return 0;
        }
        int code = -errno;
        return err_set(err, code, "read `%s`: %s; make it readable or set -nameservers", path,
                       err_code_text(code));
    }
    while (fgets(line, sizeof(line), file)) {
        take_resolv_line(options, line);
    }
    if (ferror(file)) {
        return err_set(err, -EIO, "read `%s` failed; set -nameservers", path);
    }
    return 0;
}
