/* The settings about clients: which may ask, how often, what they see, and what their search paths
 * are. Values come from flags and the document in etcd alike; messages quote the value and say what
 * was expected, the caller adds the name. Plain data, pure. Main thread. */
#ifndef SKYDNS_SETTINGS_CLIENT_OPTIONS_H
#define SKYDNS_SETTINGS_CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/network.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/clients/visibility.h"
#include "skydns/publish/engine_config.h"

/* A label of RFC 1035 is no longer, and a namespace is one. */
enum { NAMESPACE_TEXT_MAX = 63 };

#define CLIENT_PUBLIC_DEFAULT "default,kube-system"

struct namespace_name {
    uint8_t len;
    char text[NAMESPACE_TEXT_MAX]; /* in lower case, without a final NUL */
};

struct client_options {
    bool autopath;
    size_t search_count;
    struct dname search[ENGINE_SEARCH_MAX]; /* lower case, each once */

    bool is_own; /* -visibility=own */
    enum visibility_unknown unknown;
    size_t public_count;
    struct namespace_name public_names[VISIBILITY_PUBLIC_MAX]; /* each once */

    bool is_restricted; /* only the admitted may ask */
    size_t admitted_count;
    struct network admitted[ENGINE_ADMITTED_MAX];

    uint32_t rate; /* UDP queries a second of one client; 0: no limit */
    uint32_t burst;
};

/* Whether anything depends on the namespaces of clients. */
static inline bool client_options_want_index(const struct client_options *o)
{
    return o->autopath || o->is_own;
}

/* Each replaces the option's value, or fails with ERR_USAGE and changes nothing that counts. Lists
 * are comma-separated; empty items are ignored, repeated ones count once. */
int client_option_search(struct client_options *o, const char *list, struct err *err) MUST_CHECK;
int client_option_public(struct client_options *o, const char *list, struct err *err) MUST_CHECK;
/* "" and "all": everybody; "none": nobody, unless networks are beside it. */
int client_option_allow(struct client_options *o, const char *list, struct err *err) MUST_CHECK;
int client_option_rate(struct client_options *o, const char *text,
                       struct err *err) MUST_CHECK; /* "", "0" and "off": no limit */

/* Append what the functions above take; items are separated by commas. */
void client_option_search_text(const struct client_options *o, struct buf *out);
void client_option_public_text(const struct client_options *o, struct buf *out);
void client_option_allow_text(const struct client_options *o, struct buf *out);
void client_option_rate_text(const struct client_options *o, struct buf *out);

/* What answering threads need of them. */
void client_options_fill(const struct client_options *o, struct engine_config *config);

#endif
