/* A command line, one argument per line, against a table with every kind of flag: accepted values
 * are in range, rejected ones come with a message. */
#include <assert.h>

#include "common/base/flags.h"
#include "common/base/xalloc.h"
#include "tests/fuzz/fuzz_target.h"

enum { ARGS_MAX = 100 };

static int flags_split(char *text, char **argv)
{
    int argc = 1;
    for (char *next = text; next && argc < ARGS_MAX; argc++) {
        char *end = strchr(next, '\n');
        argv[argc] = next;
        next = NULL;
        if (end) {
            *end = '\0';
            next = end + 1;
        }
    }
    return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool flag = false;
    const char *string = "";
    struct flag_strings list = {.count = 0};
    struct flag_strings ignored = {.count = 0};
    int choice = 0;
    int64_t number = 1, offset = 0, bounded_ms = 10, wait_ms = 0;
    const struct flag table[] = {
        {"flag", FLAG_BOOL, &flag, .help = "h"},
        {"string", FLAG_STRING, &string, .help = "h"},
        {"list", FLAG_STRING_LIST, &list, .help = "h"},
        {"number", FLAG_INT, &number, .min = 1, .max = 3600, .help = "h"},
        {"off-set", FLAG_INT, &offset, .min = -5, .max = 5, .help = "h"},
        {"bounded", FLAG_DURATION_MS, &bounded_ms, .min = 10, .max = 60000, .help = "h"},
        {"wait", FLAG_DURATION_MS, &wait_ms, .help = "h"},
        {"choice", FLAG_CHOICE, &choice, .choices = "a|bc|d", .help = "h"},
        {"old", FLAG_IGNORED_BOOL, &ignored, .help = "h"},
        {"v", FLAG_IGNORED_STRING, .help = "h"},
    };
    const struct flags flags = {"fuzz", "fuzzes", table, ARRAY_LEN(table), true, NULL};
    char program[] = "fuzz";
    char *argv[ARGS_MAX] = {program};
    struct err err = {0};
    char *text = xstrndup((const char *)data, size);
    int r = flags_parse(&flags, flags_split(text, argv), argv, &err);
    assert(r == 0 || r == FLAGS_HELP || (r == ERR_USAGE && err.msg[0]));
    assert(string && list.count <= FLAG_STRINGS_MAX && ignored.count <= 1);
    assert(choice >= 0 && choice <= 2);
    assert(number >= 1 && number <= 3600 && offset >= -5 && offset <= 5);
    assert(bounded_ms >= 10 && bounded_ms <= 60000 && wait_ms >= 0);
    free(text);
    return 0;
}
