/* Holds the keys of one list of -dnssec: what their files said last, which of them have changed,
 * are gone or cannot be used, and the struct dnssec that they make. Main thread.
 *
 * A rollover adds, replaces and removes files one by one. A key whose files are gone is dropped,
 * unless its zone would then have no key that can replace it. A key whose files cannot be used
 * stays as it was. */
#ifndef SKYDNS_CONFIG_KEY_SET_INTERNAL_H
#define SKYDNS_CONFIG_KEY_SET_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/settings/options.h"

struct dnssec_files;
struct key_set;

/* Watches the keys of a list (as options.dnssec; copied) for their owner, on its loop. */
struct key_set *key_set_new(struct dnssec_files *owner, struct ev_loop *loop, const char *list);
void key_set_free(struct key_set *set); /* NULL is fine */

const char *key_set_list(const struct key_set *set);

/* Reads all files; fails if one cannot be used, with its name. */
int key_set_open(struct key_set *set, struct err *err) MUST_CHECK;

/* Reads files that have changed, or all. Files that are gone or cannot be used may still be in the
 * making: unless it is final, such a key waits as it is, and *ret_waits is set. Returns true if the
 * keys differ. */
bool key_set_read(struct key_set *set, bool all, bool is_final, bool *ret_waits);

/* Fails with ERR_USAGE if a key's owner is no zone of these options. */
int key_set_check_owners(const struct key_set *set, const struct options *options,
                         struct err *err) MUST_CHECK;

/* Leaves out keys whose owner is no zone of these options, and logs it. Returns true if others are
 * left out than before. */
bool key_set_match(struct key_set *set, const struct options *options);

/* Makes the struct dnssec of the keys that are not left out, NULL if there are none; `all`: with
 * those, too. */
int key_set_make(const struct key_set *set, size_t signatures_max, bool all,
                 struct dnssec **ret_dnssec, struct err *err) MUST_CHECK;

/* Logs doubts about keys that are new, as they are in use now. */
void key_set_warn(struct key_set *set);

/* Appends the names of a zone's keys, with commas between. */
void key_set_text(const struct key_set *set, const struct dname *zone, struct buf *out);

/* Counts files that have changed and cannot be used, or are gone and missed. */
size_t key_set_unusable(const struct key_set *set);

/* ---- dnssec_files.c ---- */

/* Called when files of a key have changed: looks at them in a moment. */
void dnssec_files_note_changed(struct dnssec_files *files);

#endif
