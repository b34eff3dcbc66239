/* Stores, reads and prints values of settings in struct options, by their row. Pure; main
 * thread. */
#ifndef SKYDNS_SETTINGS_SETTING_VALUES_INTERNAL_H
#define SKYDNS_SETTINGS_SETTING_VALUES_INTERNAL_H

#include "skydns/settings/settings_table.h"

/* Set and return a number of kinds up to SETTING_CHOICE: 0 or 1, the number, ms, the choice's
 * index. Rounds a duration down to the member's unit. The value must be in the row's range. */
void setting_set_number(const struct setting *setting, struct options *options, int64_t number);
int64_t setting_number(const struct setting *setting, const struct options *options);

/* Returns the default beside these options. */
int64_t setting_default_number(const struct setting *setting, const struct options *options);
const char *setting_default_text(const struct setting *setting); /* "" without one */

/* Replaces the value of a SETTING_PARSED, as the row's `parse`. */
int setting_parse(const struct setting *setting, struct options *options, const char *text,
                  struct err *err) MUST_CHECK;

/* Appends the value of a setting with a field as the log shows it. Two states have the same setting
 * if and only if its text is the same. */
void setting_show(const struct setting *setting, const struct options *options, struct buf *out);

#endif
