/* Parses SkyDNS's configuration in etcd: the JSON value of /<prefix>/config, which overrides the
 * flags. jansson stays inside. Pure; main thread.
 *
 * Its fields are those of the settings table, in any case, with SkyDNS's traps. `ndot` is not
 * -ndots; read_timeout is in nanoseconds; and an empty or zero value means the default, not the
 * flag (but rcache 0: none). */
#ifndef SKYDNS_SETTINGS_CONFIG_DOC_INTERNAL_H
#define SKYDNS_SETTINGS_CONFIG_DOC_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/settings/options.h"

/* Limits the ignored fields, in document order; further ones are left out. */
enum { CONFIG_DOC_IGNORED_MAX = 16, CONFIG_DOC_NAME_MAX = 32 };

struct config_doc_ignored {
    char field[CONFIG_DOC_NAME_MAX]; /* cut */
    const char *why;                 /* constant */
};

struct config_doc_report {
    bool has_nameservers; /* the field is there */
    size_t ignored_count;
    struct config_doc_ignored ignored[CONFIG_DOC_IGNORED_MAX];
};

/* Applies the document to *options, which hold the flags. On failure they are untouched, since a
 * document counts as a whole; the message names the field, its value and what was expected. If it
 * names stub zones, replaces options->stubs by a copy that has them and drops the reference to the
 * old ones. */
int config_doc_apply(struct slice json, struct options *options, struct config_doc_report *report,
                     struct err *err) MUST_CHECK;

/* Applies only the field `nameservers` of kube2sky's document (writer_documents.h); the others are
 * kube2sky's own. On failure *options are untouched. */
int config_doc_apply_writers(struct slice json, struct options *options,
                             struct config_doc_report *report, struct err *err) MUST_CHECK;

#endif
