/* Makes text of JSON by a form, so that /explain and -top say in tables of texts what they show. A
 * form is text with places for values:
 *
 *   {a/b}           the value there: a text, or a number without decimals; absent: nothing
 *   {a|how}         written as `how` says: a word of the list in live_form.c, then a width, to
 *                   whose right end it goes, then `.` and the most bytes, each of which may lack
 *   {?a}x{:}y{/}    x if the value is true: neither absent, false, "", empty nor 0 or less; else y
 *   {?!a} {??a}     as above, if it is not true; if it is there
 *   {?a=word}       as above, if it is this text
 *   {*a}x{/}        x for each item of a list; once, if it is an object
 *   {*a/}x{/}       x for each member of an object
 *
 * In an item, paths begin at it; `.` is itself, `@` the member's name, `#` its number from 1, `+`
 * true for all but the first; each ^ in front goes back to what surrounds the list. Forms are
 * constants of ours: one that does not end as it should is asserted. Pure; any thread. */
#ifndef COMMON_LIVE_LIVE_FORM_H
#define COMMON_LIVE_LIVE_FORM_H

#include "common/base/buf.h"
#include "common/live/live_model.h"

/* Holds the nodes where paths begin; zero-initialized but for `now`: at an object, without
 * rates. */
struct live_scope {
    const struct live_node *now;
    const struct live_node *before, *past; /* the same of these events; NULL: absent */
    const char *member;
    size_t index;
    const struct live_scope *around;
};

/* Appends the form, with rates by the model's times. Texts are appended as they are. */
void live_form_write(const char *form, const struct live_scope *scope,
                     const struct live_model *model, struct buf *out);

/* Appends the form of a page for people. Each byte of a text that is not safe on a terminal becomes
 * `?`, one for a character that JSON could not have. Ends the buffer `json`, which has the values;
 * if they did not fit it, `out` has failed. */
void live_form_page(const char *form, struct buf *json, struct buf *out);

/* Finds an item of a list, or the next member of an object, at a path as in `{*`. *ret_item has the
 * previous one; index 0: the first one. Returns false if there is none. */
bool live_scope_item(const struct live_scope *around, const char *path, size_t index,
                     struct live_scope *ret_item);

/* Writes "3d 4h", "12s". Returns out. */
enum { LIVE_TIME_MAX = 32 };
const char *live_form_age(double seconds, char out[LIVE_TIME_MAX]);

/* Writes "12:34:56" in UTC. Returns out. */
const char *live_form_clock(double time_ms, char out[LIVE_TIME_MAX]);

/* Writes "1234.5", or "-" for a negative one: not known. Returns out. */
const char *live_form_rate(double rate, char out[LIVE_TIME_MAX]);

/* Writes "850us", "1.6ms", "2.0s", "-" for a negative one. Returns out. */
const char *live_form_micros(double us, char out[LIVE_TIME_MAX]);

#endif
