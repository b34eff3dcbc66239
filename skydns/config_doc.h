/* SkyDNS's configuration in etcd: the JSON value of /<prefix>/config, laid over what the flags say.
 * jansson stays inside. Pure; main thread.
 *
 * Fields, in any case: dns_addr systemd domain local hostmaster round_robin ns_rotate nameservers
 * no_rec read_timeout priority ttl min_ttl ndot; with SkyDNS's traps: `ndot` is not -ndots,
 * read_timeout is in nanoseconds, and an empty or zero value is the default, not the flag's. */
#ifndef SKYDNS_CONFIG_DOC_H
#define SKYDNS_CONFIG_DOC_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/options.h"

/* Fields that were read and have no effect, in the order of the document; more are left out. */
enum { CONFIG_DOC_IGNORED_MAX = 16, CONFIG_DOC_NAME_MAX = 32 };

struct config_doc_ignored {
    char field[CONFIG_DOC_NAME_MAX]; /* cut */
    const char *why;                 /* constant */
};

struct config_doc_report {
    size_t ignored_count;
    struct config_doc_ignored ignored[CONFIG_DOC_IGNORED_MAX];
};

/* *options are the flags' and become the ones that count. On failure they are untouched, and the
 * message names the field, what was found and what was expected: a document counts as a whole. */
int config_doc_apply(struct slice json, struct options *options, struct config_doc_report *report,
                     struct err *err) MUST_CHECK;

#endif
