/* Writes settings as text for log lines: values, and what changed from one state to the next. Pure,
 * but for the two that log. Main thread. */
#ifndef SKYDNS_SETTINGS_OPTION_TEXT_H
#define SKYDNS_SETTINGS_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/flags.h"
#include "skydns/settings/options.h"
#include "skydns/settings/settings_table.h"

/* Room for the longest list: 1,024 stub zones of 1,009 characters with 16 upstreams of 54; a log
 * line shows the first 4,096 bytes. */
enum { OPTION_TEXT_MAX = 2 * 1024 * 1024 };

/* Append the items, separated by blanks. */
void option_text_aliases(const struct options *o, struct buf *out); /* "*.a.test.=b.test." */
void option_text_stubs(const struct options *o, struct buf *out);   /* "a.test.=IP:port,IP:port" */
void option_text_addresses(const struct options *o, struct buf *out);

/* Append what the flag takes. */
void option_text_hostmaster(const struct options *o, struct buf *out);
void option_text_local(const struct options *o, struct buf *out);
void option_text_dnssec(const struct options *o, struct buf *out);
void option_text_dns64(const struct options *o, struct buf *out);
void option_text_allow(const struct options *o, struct buf *out);
void option_text_rate(const struct options *o, struct buf *out);
void option_text_rate_namespace(const struct options *o, struct buf *out);
void option_text_query_log(const struct options *o, struct buf *out);

struct option_changes {
    struct buf names; /* of all, separated by blanks */
    size_t count;
    struct {
        const char *name; /* as in the document in etcd; constant */
        struct buf text;  /* "old -> new" */
    } items[SETTINGS_MAX];
};

/* Lists the settings of the document that differ: those that apply at once, or those that need a
 * restart. */
void option_changes_init(struct option_changes *changes, bool needs_restart,
                         const struct options *before, const struct options *now);
void option_changes_fini(struct option_changes *changes);

/* Returns whether both have the same upstreams, asked in the same way. */
bool option_same_upstream(const struct options *a, const struct options *b);

/* Log at the start. The first logs the flags and variables that are accepted and ignored, in one
 * warning (none: nothing); the second, where queries are answered, and with which settings. */
void option_text_log_ignored(const struct flag_strings *ignored);
void option_text_log_start(const struct options *options, const char *addresses);

#endif
