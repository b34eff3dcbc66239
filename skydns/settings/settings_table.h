/* Lists the settings of skydns, one row each. A row is all that flags, -help, completion (which
 * reads -help), the document in etcd and the log of changes know of a setting. skydns(8) has a row
 * for it, too (test_manual.py compares both). A new setting is a row here, a member of struct
 * options or struct engine_settings that stores it, the code that uses it, and skydns(8).
 *
 * Constant data; any thread. */
#ifndef SKYDNS_SETTINGS_SETTINGS_TABLE_H
#define SKYDNS_SETTINGS_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/options.h"

enum setting_kind {
    SETTING_BOOL,     /* bool */
    SETTING_NUMBER,   /* an unsigned integer of any width */
    SETTING_DURATION, /* the same, in units of `unit_ms` */
    SETTING_CHOICE,   /* an enum with the order of `choices`; of two, a bool does */
    SETTING_TEXT,     /* const char *: as given */
    SETTING_TEXTS,    /* struct flag_strings: the flag may repeat */
    SETTING_PARSED,   /* what `parse` makes of a text; `member_bytes` 0 */
    SETTING_IGNORED,  /* a boolean that says nothing; of struct flag_strings: its name is added */
};

/* JSON that a document's field has. */
enum setting_form {
    SETTING_FORM_OF_KIND,     /* true; a number; a duration's seconds; for other kinds a string */
    SETTING_FORM_NANOSECONDS, /* a duration, as Go has it */
    SETTING_FORM_LIST,        /* a string with commas, or a list of strings */
    SETTING_FORM_KEY_FILES,   /* the same, where a blank is a + that was sent in a form */
    SETTING_FORM_RATE,        /* a string or a number */
    SETTING_FORM_NAMESERVERS, /* a list of strings */
    SETTING_FORM_ZONES,       /* an object of lists of strings */
    SETTING_FORM_ALIASES,     /* an object of strings, in place of the flag's */
};

/* Parts of the program that take a new value while it runs. */
enum setting_taker {
    SETTING_AT_START, /* none: a field in the document needs a restart */
    SETTING_LIVE,     /* all that read it, from the next publication on */
    SETTING_UPSTREAM, /* the same, and those that ask upstreams */
};

struct setting {
    const char *flag;  /* without dashes; NULL: only the document has it */
    const char *field; /* of the document; NULL: only the flag is there */
    const char *env;   /* the variable that counts without the flag; NULL: none */
    const char *help;  /* one line */
    enum setting_kind kind;
    enum setting_form form;
    enum setting_taker taker;
    bool repeats; /* SETTING_PARSED: the flag may be given again, `parse` gets each value */

    size_t member_at, member_bytes; /* where struct options has it */
    bool is_file;                   /* SETTING_TEXT and SETTING_TEXTS: paths that are read */
    bool is_for_command; /* SETTING_TEXT: the command of a flag like -flush, or what it is about */

    /* Range of numbers, and of durations in ms; both 0: any from 0 up. */
    int64_t min, max;
    uint32_t unit_ms; /* SETTING_DURATION: what the member counts */

    /* Default: 0 or 1, a number, ms, the index of a choice, or a text. A function instead computes
     * it from the machine or from a flag without a field, and reads no other option. */
    int64_t default_number;
    int64_t (*get_default_number)(const struct options *options);
    const char *default_text;

    const char *choices; /* "all|own" */

    /* Range of the field where it is not the flag's, in the field's own unit. */
    int64_t field_min, field_max;
    bool keeps_zero; /* 0 and "" in the document are values, not ways to ask for the default */

    /* Replaces the value of a SETTING_PARSED, or fails with ERR_USAGE, quoting the text; the caller
     * adds the name. Texts of flags are borrowed for good. */
    int (*parse)(struct options *options, const char *text, struct err *err);
    enum option_list list; /* of a SETTING_PARSED that is a list: in place of both functions */
    /* Appends the value of a SETTING_PARSED with a field, as the log shows it. */
    void (*show)(const struct options *options, struct buf *out);
};

/* Returns the rows in the order of -help. */
const struct setting *settings_table(size_t *ret_count);

#endif
