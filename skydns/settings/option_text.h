/* Settings as text for log lines: lists of them, and what changed from one state to the next. Pure.
 * Main thread. */
#ifndef SKYDNS_SETTINGS_OPTION_TEXT_H
#define SKYDNS_SETTINGS_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "skydns/settings/options.h"

/* The longest list: 1,024 stub zones of 1,009 characters with 16 servers of 54; a log line shows
 * the first 4,096 bytes. */
enum { OPTION_TEXT_MAX = 2 * 1024 * 1024 };

/* Append the items, separated by blanks. */
void option_text_domains(const struct options *o, struct buf *out);
void option_text_nameservers(const struct options *o, struct buf *out);
void option_text_stubs(const struct options *o, struct buf *out); /* "a.test.=IP:port,IP:port" */

const char *option_text_schema(enum engine_schema schema); /* constant */

/* More than there are settings in the document. */
enum { OPTION_CHANGES_MAX = 40 };

struct option_changes {
    struct buf names; /* of all, separated by blanks */
    size_t count;
    struct {
        const char *name; /* as in the document in etcd; constant */
        struct buf text;  /* "old -> new" */
    } items[OPTION_CHANGES_MAX];
};

/* What differs: of the settings that apply at once, or of those of the open sockets, which need a
 * restart. */
enum option_scope { OPTION_AT_ONCE, OPTION_AT_RESTART };
void option_changes_init(struct option_changes *changes, enum option_scope scope,
                         const struct options *before, const struct options *now);
void option_changes_fini(struct option_changes *changes);

#endif
