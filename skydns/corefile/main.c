/* Runs corefile-to-skydns: says what a Corefile, CoreDNS's configuration, means in flags of skydns
 * and kube2sky, and what of it has no counterpart. `skydns -translate-corefile` runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "skydns/corefile/translate_internal.h"

/* Limits the output: notes repeat a few words of each line; it has room for all that there could
 * be. */
enum { OUTPUT_BYTES_MAX = 256 * 1024 * 1024 };

static const char program_name[] = "corefile-to-skydns";

/* Exit statuses. */
enum { STATUS_NO_OUTPUT = 1, STATUS_BAD_FILE = 2, STATUS_INCOMPLETE = 3 };

/* Reads one byte more than a Corefile may have, to show that it is too long. */
static int corefile_read_file(const char *path, struct buf *text, struct err *err)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        return err_set(err, -errno, "%s", strerror(errno));
    }
    size_t n = 1;
    while (n > 0 && text->len <= COREFILE_BYTES_MAX) {
        char chunk[65536];
        n = fread(chunk, 1, sizeof(chunk), file);
        buf_append(text, chunk, n);
    }
    int r = ferror(file) ? err_set(err, -EIO, "cannot be read: %s", strerror(errno)) : 0;
    (void)fclose(file); /* only read */
    return r;
}

static const char *corefile_environment(const char *name)
{
    return getenv(name);
}

/* Returns an error, or the exit status. */
static int translate_text(const char *path, struct slice text, struct buf *out, struct err *err)
{
    struct corefile corefile;
    struct translation t;
    int r = corefile_parse(text, corefile_environment, &corefile, err);
    translation_init(&t, path);
    if (r == 0) {
        r = corefile_translate(&corefile, &t, err);
    }
    if (r == 0) {
        translation_print(&t, out);
        r = translation_is_whole(&t) ? 0 : STATUS_INCOMPLETE;
    }
    translation_fini(&t);
    corefile_fini(&corefile);
    return r;
}

/* Translates a file; {$VARIABLES} are this process's. Returns the exit status. */
static int translate_file(const char *path)
{
    struct err err = {.code = 0};
    CLEANUP_BUF struct buf text = buf_of(2 * COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf out = buf_of(OUTPUT_BYTES_MAX);
    int r = corefile_read_file(path, &text, &err);
    if (r == 0) {
        r = translate_text(path, buf_slice(&text), &out, &err);
    }
    if (r < 0) {
        struct err whole;
        (void)err_set(&whole, r, "%s:%s%s", path, err.msg[0] >= '0' && err.msg[0] <= '9' ? "" : " ",
                      err.msg);
        log_plain(program_name, whole.msg);
        r = STATUS_BAD_FILE;
    } else if (fwrite(out.data, 1, out.len, stdout) < out.len || fflush(stdout) != 0) {
        log_plain(program_name, "cannot write to stdout");
        r = STATUS_NO_OUTPUT;
    }
    return r;
}

/* Compares a flag with one dash or two, as the other programs take them. */
static bool is_flag(const char *argument, const char *name)
{
    const size_t dashes = strspn(argument, "-");
    return (dashes == 1 || dashes == 2) && strcmp(argument + dashes, name) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && is_flag(argv[1], "help")) {
        printf("usage: %s FILE\n"
               "Prints the flags of skydns and kube2sky that say what the Corefile FILE says, and "
               "what of it\n"
               "has no counterpart. Exit status 0; 3 if something is not carried over; 2 if the "
               "file cannot\n"
               "be read or makes no sense; 1 if standard output cannot be written.\n",
               program_name);
        return 0;
    }
    if (argc == 2 && is_flag(argv[1], "version")) {
        printf("%s version: %s\n", program_name, version_string);
        return 0;
    }
    if (argc != 2 || argv[1][0] == '\0') {
        log_plain(program_name, "expected one argument, the Corefile (-help tells more)");
        return STATUS_BAD_FILE;
    }
    return translate_file(argv[1]);
}
