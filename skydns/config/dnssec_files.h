/* Holds the keys of -dnssec in force: those of the flag or of a document's field `dnssec`, and
 * their files, which are followed. Makes the struct dnssec that configurations refer to, and
 * another one whenever the keys, their zones or -scache differ. Another list replaces it only
 * when all of it can be used; the log says why it cannot. Main thread.
 *
 *     dnssec_files_new, _open, _begin    at the start
 *     dnssec_files_set                   before each publication
 *     dnssec_files_keys                  for it */
#ifndef SKYDNS_CONFIG_DNSSEC_FILES_H
#define SKYDNS_CONFIG_DNSSEC_FILES_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

struct dnssec;
struct dnssec_files;

/* Time to wait for all files, and a little longer before unusable ones are logged: several are
 * written together, those of a key and of the keys of a rollover. */
enum { DNSSEC_FILES_SETTLE_MS = 200, DNSSEC_FILES_TIMEOUT_MS = 500 };

struct dnssec_files_config {
    struct ev_loop *loop;
    void (*changed)(void *data); /* there are other keys: publish them */
    void *data;
};

struct dnssec_files *dnssec_files_new(const struct dnssec_files_config *config);
void dnssec_files_free(struct dnssec_files *files); /* NULL is fine */

/* Reads the files that these settings name, all of which must be usable. ERR_USAGE: each is, but
 * not all together. */
int dnssec_files_open(struct dnssec_files *files, const struct options *options,
                      struct err *err) MUST_CHECK;

/* Sets the first settings in force. ERR_USAGE: a key of _open has an owner that is none of their
 * zones. If the settings are not certain, because a document could not be read, such a key is left
 * out instead. */
int dnssec_files_begin(struct dnssec_files *files, const struct options *options, bool is_certain,
                       struct err *err) MUST_CHECK;

/* Sets other settings in force. */
void dnssec_files_set(struct dnssec_files *files, const struct options *options);

/* Reads all files again, whether or not they changed; `changed` is not called. */
void dnssec_files_reload(struct dnssec_files *files);

/* Returns the keys, borrowed until something changes; NULL: nothing is signed. */
struct dnssec *dnssec_files_keys(const struct dnssec_files *files);

/* Appends the names of the keys that sign a zone, with commas between; nothing if none does. */
void dnssec_files_text(const struct dnssec_files *files, const struct dname *zone, struct buf *out);

/* Counts keys whose files have changed and cannot be used, or are missed. Includes those of a list
 * that does not count because of that. */
size_t dnssec_files_unusable(const struct dnssec_files *files);

/* Returns whether a list, or keys together, cannot be used: older ones are in force. */
bool dnssec_files_is_refused(const struct dnssec_files *files);

/* Prints the DS records of these settings' keys, for -print-ds. */
int dnssec_files_print_ds(const struct options *options, struct err *err) MUST_CHECK;

/* Logs when the wall clock jumps: signatures are made, and cached, by it. Looks once a second how
 * far it went beside the monotonic clock; a suspended machine that wakes up has jumped, too.
 * Answers after a jump do not depend on this: a cached signature that is not valid at the time of
 * an answer is not used (dnssec.h). Main thread. */

struct clock_watch;

enum { CLOCK_WATCH_JUMP_S = 60 }; /* more than time synchronization corrects step by step */

struct clock_watch *clock_watch_new(struct ev_loop *loop); /* is off */
void clock_watch_free(struct clock_watch *watch);          /* NULL is fine */

void clock_watch_turn(struct clock_watch *watch, bool is_on);

#endif
