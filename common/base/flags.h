/* Parses Go-style command lines by one table, which also generates `-help`.
 *
 * A flag is `-flag` or `--flag`, with `=value` or the next argument; booleans only as `-flag` or
 * `-flag=false`. There are no abbreviations. Environment variables apply first, so a flag overrides
 * its variable. main() calls this before it starts threads.
 *
 *     static const struct flag table[] = {
 *         {"ttl", FLAG_INT, &o->ttl_s, .min = 1, .max = 3600, .help = "seconds"}, ...
 *
 * Defaults are the values before flags_parse. */
#ifndef COMMON_BASE_FLAGS_H
#define COMMON_BASE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

enum flag_kind {
    FLAG_BOOL,           /* bool *: 1 t true 0 f false, in any case Go accepts */
    FLAG_STRING,         /* const char **: points into argv or the environment, never freed */
    FLAG_STRING_LIST,    /* struct flag_strings *: the flag may repeat; no env */
    FLAG_INT,            /* int64_t *: decimal, min..max */
    FLAG_DURATION_MS,    /* int64_t *: duration.h, or seconds; min..max in ms */
    FLAG_CHOICE,         /* int *: index into `choices`, from 0 */
    FLAG_IGNORED_BOOL,   /* accepted and ignored; value: NULL, or a flag_strings for names */
    FLAG_IGNORED_STRING, /* the same, with an argument */
};

/* Bounds the repetitions of one flag; far above any pod's use. */
enum { FLAG_STRINGS_MAX = 64 };

struct flag_strings {
    const char *items[FLAG_STRINGS_MAX];
    size_t count;
};

struct flag {
    const char *name; /* canonical spelling, without dashes */
    enum flag_kind kind;
    void *value;
    const char *env;     /* or NULL; as in the old programs, an empty variable counts as unset */
    int64_t min, max;    /* for FLAG_INT and FLAG_DURATION_MS; both 0 = 0..INT64_MAX */
    const char *choices; /* for FLAG_CHOICE: "auto|slices|endpoints" */
    const char *help;    /* one line; NULL hides the flag from -help */
    bool *was_given;     /* or NULL; set if the flag or its variable is present */
};

struct flags {
    const char *program;
    const char *summary; /* first line of -help */
    const struct flag *table;
    size_t count;
    bool underscore_is_dash;        /* kube2sky: --etcd_server means --etcd-server */
    struct flag_strings *arguments; /* gets non-flag arguments; NULL: they are an error */
};

enum { FLAGS_HELP = 1 };

/* Parses flags and variables. Returns 0; FLAGS_HELP for -h, -help or --help (nothing printed yet);
 * ERR_USAGE with a message that names the flag, the given and the expected value. */
int flags_parse(const struct flags *flags, int argc, char *const *argv, struct err *err) MUST_CHECK;

/* Returns the index-th of "auto|slices|endpoints"; empty after the last one. */
struct slice flags_choice(const char *choices, int index);
/* Returns false if the text is none of them. */
bool flags_parse_choice(const char *choices, const char *text, int *ret_index);

/* Prints the help text to stdout. */
void flags_print_help(const struct flags *flags);

#endif
