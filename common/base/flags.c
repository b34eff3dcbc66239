#include "common/base/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/base/typing_errors.h"

static bool flags_parse_bool(const char *text, bool *ret)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (strcmp(text, yes[i]) == 0) {
            *ret = true;
            return true;
        }
        if (strcmp(text, no[i]) == 0) {
            *ret = false;
            return true;
        }
    }
    return false;
}

static bool parse_int(const char *text, int64_t *ret)
{
    bool negative = *text == '-';
    int64_t value = 0;
    if (*text == '-' || *text == '+') {
        text++;
    }
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        int digit = *text - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *ret = negative ? -value : value;
    return true;
}

struct slice flags_choice(const char *choices, int index)
{
    for (; index > 0 && *choices; index--) {
        choices += strcspn(choices, "|");
        choices += *choices == '|';
    }
    return slice_of(choices, strcspn(choices, "|"));
}

bool flags_parse_choice(const char *choices, const char *text, int *ret_index)
{
    for (int i = 0; flags_choice(choices, i).len > 0; i++) {
        if (slice_equal(flags_choice(choices, i), slice_str(text))) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static bool in_range(const struct flag *flag, int64_t value)
{
    int64_t max = flag->min == 0 && flag->max == 0 ? INT64_MAX : flag->max;
    return value >= flag->min && value <= max;
}

/* Takes a number without a unit for seconds. */
static bool parse_duration(const char *text, int64_t *ret_ms)
{
    int64_t number_s;
    if (parse_int(text, &number_s)) {
        return !__builtin_mul_overflow(number_s, 1000, ret_ms);
    }
    return duration_parse_ms(text, ret_ms);
}

static const char *flags_expected(const struct flag *flag, char *out, size_t size)
{
    char min[DURATION_TEXT_MAX], max[DURATION_TEXT_MAX];
    bool open = flag->min == 0 && flag->max == 0;
    switch (flag->kind) {
    case FLAG_BOOL:
    case FLAG_IGNORED_BOOL:
        return "expected true or false";
    case FLAG_INT:
        if (open) {
            return "expected a number from 0 up";
        }
        (void)snprintf(out, size, "expected a number from %lld to %lld", (long long)flag->min,
                       (long long)flag->max); /* readable even if truncated */
        return out;
    case FLAG_DURATION_MS:
        if (open) {
            return "expected a duration like 10s or 1m30s";
        }
        (void)snprintf(out, size, "expected a duration like 10s, from %s to %s",
                       duration_text(flag->min, min), duration_text(flag->max, max));
        return out;
    case FLAG_CHOICE:
        (void)snprintf(out, size, "expected %s", flag->choices);
        return out;
    case FLAG_STRING:
    case FLAG_STRING_LIST:
    case FLAG_IGNORED_STRING:
        break;
    }
    return "expected a value";
}

static int add_to_list(struct flag_strings *list, const char *text, const char *source,
                       struct err *err)
{
    if (list->count == FLAG_STRINGS_MAX) {
        return err_set(err, ERR_USAGE, "%s: given more than %d times", source, FLAG_STRINGS_MAX);
    }
    list->items[list->count++] = text;
    return 0;
}

/* Lists each ignored flag only once. */
static void note_ignored(const struct flag *flag)
{
    struct flag_strings *names = flag->value;
    for (size_t i = 0; names && i < names->count; i++) {
        if (names->items[i] == flag->name) {
            return;
        }
    }
    if (names && names->count < FLAG_STRINGS_MAX) {
        names->items[names->count++] = flag->name;
    }
}

/* Sets a value; `source` is how the user set it: "flag -ttl" or "environment variable
 * SKYDNS_ADDR". */
static int flags_set_value(const struct flag *flag, const char *text, const char *source,
                           struct err *err)
{
    char range[96];
    bool ok = true;
    bool ignored;
    int64_t number;
    switch (flag->kind) {
    case FLAG_BOOL:
        ok = flags_parse_bool(text, flag->value);
        break;
    case FLAG_CHOICE:
        ok = flags_parse_choice(flag->choices, text, flag->value);
        break;
    case FLAG_IGNORED_BOOL:
        ok = flags_parse_bool(text, &ignored);
        note_ignored(flag);
        break;
    case FLAG_STRING:
        *(const char **)flag->value = text;
        break;
    case FLAG_STRING_LIST:
        return add_to_list(flag->value, text, source, err);
    case FLAG_INT:
    case FLAG_DURATION_MS:
        ok = (flag->kind == FLAG_INT ? parse_int(text, &number) : parse_duration(text, &number)) &&
             in_range(flag, number);
        if (ok) {
            *(int64_t *)flag->value = number;
        }
        break;
    case FLAG_IGNORED_STRING:
        note_ignored(flag);
        break;
    }
    if (!ok) {
        return err_set(err, ERR_USAGE, "%s: `%s`: %s", source, text,
                       flags_expected(flag, range, sizeof(range)));
    }
    if (flag->was_given) {
        *flag->was_given = true;
    }
    return 0;
}

static bool name_matches(const struct flags *flags, const char *name, struct slice given)
{
    if (strlen(name) != given.len) {
        return false;
    }
    for (size_t i = 0; i < given.len; i++) {
        char c = given.ptr[i];
        if (flags->underscore_is_dash && c == '_') {
            c = '-';
        }
        char want = flags->underscore_is_dash && name[i] == '_' ? '-' : name[i];
        if (c != want) {
            return false;
        }
    }
    return true;
}

static const struct flag *flags_find(const struct flags *flags, struct slice name)
{
    for (size_t i = 0; i < flags->count; i++) {
        if (name_matches(flags, flags->table[i].name, name)) {
            return &flags->table[i];
        }
    }
    return NULL;
}

/* Returns the visible flag that the fewest typing errors lead to; NULL: none is near. */
static const char *nearest_flag(const struct flags *flags, struct slice given)
{
    const char *nearest = NULL;
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < flags->count; i++) {
        struct slice name = slice_str(flags->table[i].name);
        size_t errors = flags->table[i].help ? typing_errors(given, name) : SIZE_MAX;
        if (errors < fewest) {
            fewest = errors;
            nearest = flags->table[i].name;
        }
    }
    return fewest <= 1 + given.len / 5 ? nearest : NULL; /* more is another word */
}

static int unknown_flag(const struct flags *flags, const char *arg, struct slice given,
                        struct err *err)
{
    const char *nearest = nearest_flag(flags, given);
    if (nearest) {
        return err_set(err, ERR_USAGE, "unknown flag `%s`: did you mean -%s? -help lists the flags",
                       arg, nearest);
    }
    return err_set(err, ERR_USAGE, "unknown flag `%s`; -help lists the flags", arg);
}

static int apply_environment(const struct flags *flags, struct err *err)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        const char *text = flag->env ? getenv(flag->env) : NULL;
        if (text && *text) {
            char source[128];
            (void)snprintf(source, sizeof(source), "environment variable %s", flag->env);
            int r = flags_set_value(flag, text, source, err);
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

/* Parses one flag at argv[*i]; moves *i over a value taken from the next argument. */
static int parse_one(const struct flags *flags, int argc, char *const *argv, int *i,
                     struct err *err)
{
    const char *arg = argv[*i];
    const char *name = arg + 1 + (arg[1] == '-');
    const char *equals = strchr(name, '=');
    struct slice given = slice_of(name, equals ? (size_t)(equals - name) : strlen(name));
    const struct flag *flag = flags_find(flags, given);
    if (!flag) {
        if (slice_equal(given, slice_str("h")) || slice_equal(given, slice_str("help"))) {
            return FLAGS_HELP;
        }
        return unknown_flag(flags, arg, given, err);
    }
    char source[128];
    (void)snprintf(source, sizeof(source), "flag -%s", flag->name);
    if (equals) {
        return flags_set_value(flag, equals + 1, source, err);
    }
    if (flag->kind == FLAG_BOOL || flag->kind == FLAG_IGNORED_BOOL) {
        return flags_set_value(flag, "true", source, err);
    }
    if (*i + 1 >= argc) {
        char range[96];
        return err_set(err, ERR_USAGE, "%s: value missing: %s", source,
                       flags_expected(flag, range, sizeof(range)));
    }
    return flags_set_value(flag, argv[++*i], source, err);
}

int flags_parse(const struct flags *flags, int argc, char *const *argv, struct err *err)
{
    int r = apply_environment(flags, err);
    for (int i = 1; i < argc && r == 0; i++) {
        const char *arg = argv[i];
        bool is_argument = arg[0] != '-';
        if (is_argument && flags->arguments && flags->arguments->count < FLAG_STRINGS_MAX) {
            flags->arguments->items[flags->arguments->count++] = arg;
            continue;
        }
        if (is_argument || arg[1] == '\0' || strcmp(arg, "--") == 0) {
            return err_set(err, ERR_USAGE, "unexpected argument `%s`: expected a flag like -%s",
                           arg, flags->count ? flags->table[0].name : "help");
        }
        r = parse_one(flags, argc, argv, &i, err);
    }
    return r;
}

static const char *kind_text(const struct flag *flag, char *out, size_t size)
{
    switch (flag->kind) {
    case FLAG_CHOICE:
        (void)snprintf(out, size, "=%s", flag->choices); /* readable even if truncated */
        return out;
    case FLAG_STRING:
        return "=VALUE";
    case FLAG_STRING_LIST:
        return "=VALUE ...";
    case FLAG_INT:
        return "=N";
    case FLAG_DURATION_MS:
        return "=DURATION";
    default:
        return "";
    }
}

static void print_default(const struct flag *flag)
{
    char duration[DURATION_TEXT_MAX];
    const char *text;
    switch (flag->kind) {
    case FLAG_BOOL:
        printf(" (default %s)", *(const bool *)flag->value ? "true" : "false");
        break;
    case FLAG_STRING:
        text = *(const char *const *)flag->value;
        if (text && *text) {
            printf(" (default %s)", text);
        }
        break;
    case FLAG_CHOICE: {
        struct slice choice = flags_choice(flag->choices, *(const int *)flag->value);
        printf(" (default %.*s)", (int)choice.len, choice.ptr);
        break;
    }
    case FLAG_INT:
        printf(" (default %lld)", (long long)*(const int64_t *)flag->value);
        break;
    case FLAG_DURATION_MS:
        printf(" (default %s)", duration_text(*(const int64_t *)flag->value, duration));
        break;
    default:
        break;
    }
}

void flags_print_help(const struct flags *flags)
{
    printf("%s: %s\n\n", flags->program, flags->summary);
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        char kind[96];
        if (!flag->help) {
            continue;
        }
        printf("  -%s%s\n        %s", flag->name, kind_text(flag, kind, sizeof(kind)), flag->help);
        print_default(flag);
        if (flag->env) {
            printf(" [%s]", flag->env);
        }
        putchar('\n');
    }
}
