/* Go-style command lines from one table: `-flag`, `--flag`, `=value` or the next argument, booleans
 * only as `-flag` or `-flag=false`; no abbreviations; `-help` printed from the table. Environment
 * fallbacks are applied first, so a flag overrides its variable. Used by main() before any thread.
 *
 *     static const struct flag table[] = {
 *         {"ttl", FLAG_INT, &o->ttl_s, .min = 1, .max = 3600, .help = "seconds"}, ...
 *
 * The defaults are what the value pointers hold before flags_parse. */
#ifndef COMMON_BASE_FLAGS_H
#define COMMON_BASE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

enum flag_kind {
    FLAG_BOOL,           /* bool *: 1 t true 0 f false, any case Go takes */
    FLAG_STRING,         /* const char **: points into argv or the environment, borrowed for good */
    FLAG_STRING_LIST,    /* struct flag_strings *: the flag may be repeated; no env */
    FLAG_INT,            /* int64_t *: decimal, min..max */
    FLAG_DURATION_MS,    /* int64_t *: Go durations, "1h2m3.5s", "300ms", "0"; min..max in ms */
    FLAG_CHOICE,         /* int *: which of `choices`, from 0 */
    FLAG_IGNORED_BOOL,   /* accepted for compatibility, changes nothing; value NULL, or a struct */
    FLAG_IGNORED_STRING, /* flag_strings * that gets the flag's name; the second has an argument */
};

/* As many repetitions as one flag may have; 64 is far above any pod's use. */
enum { FLAG_STRINGS_MAX = 64 };

struct flag_strings {
    const char *items[FLAG_STRINGS_MAX];
    size_t count;
};

struct flag {
    const char *name; /* canonical spelling, without dashes */
    enum flag_kind kind;
    void *value;
    const char *env;     /* or NULL; an empty variable counts as unset, as in the old programs */
    int64_t min, max;    /* for FLAG_INT and FLAG_DURATION_MS; both 0 = 0..INT64_MAX */
    bool is_in_s;        /* for FLAG_DURATION_MS: a number without a unit is seconds */
    const char *choices; /* for FLAG_CHOICE: "auto|slices|endpoints" */
    const char *help;    /* one line; NULL hides the flag from -help */
    bool *was_given;     /* or NULL; set when the flag or its variable is there */
};

struct flags {
    const char *program;
    const char *summary; /* first line of -help */
    const struct flag *table;
    size_t count;
    bool underscore_is_dash;        /* kube2sky: --etcd_server is --etcd-server */
    struct flag_strings *arguments; /* gets what is no flag; NULL: that is an error */
};

enum { FLAGS_HELP = 1 };

/* 0; FLAGS_HELP when -h, -help or --help was given (nothing printed yet); ERR_USAGE with a message
 * that names the flag, what was given and what was expected. */
int flags_parse(const struct flags *flags, int argc, char *const *argv, struct err *err) MUST_CHECK;

/* The help text, to stdout. */
void flags_print_help(const struct flags *flags);

/* A Go duration alone, for values that are no flags. */
bool flags_parse_duration_ms(const char *text, int64_t *ret_ms);

#endif
