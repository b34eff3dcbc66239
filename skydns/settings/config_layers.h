/* Holds all sources of settings, one over the other, each usable by itself and with the others:
 *
 *     flags < -config's file < kube2sky's documents (nameservers alone) < the document in etcd
 *
 * Only the document of kube2sky's first domain that names upstreams counts. A source that becomes
 * unusable is logged and stays as it was, until it changes or, if it did not agree with another
 * source, until that one does. Main thread. */
#ifndef SKYDNS_SETTINGS_CONFIG_LAYERS_H
#define SKYDNS_SETTINGS_CONFIG_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/settings/options.h"

struct config_layers;

struct config_layers *config_layers_new(const struct options *flags); /* borrowed */
void config_layers_free(struct config_layers *layers);                /* NULL is fine */

enum config_layer { CONFIG_FILE, CONFIG_DOCUMENT, CONFIG_WRITERS };

/* Takes a new text of a source, ptr NULL: there is none; `domain` is of kube2sky's document, else
 * NULL. Returns true if the settings may differ (config_layers_settings), false if the text is
 * the one seen last, or it cannot be used. */
bool config_layers_take(struct config_layers *layers, enum config_layer layer,
                        const struct dname *domain, struct slice text);

/* Takes the text of a file at the start, which must be usable. */
int config_layers_take_file(struct config_layers *layers, struct slice text,
                            struct err *err) MUST_CHECK;

/* Returns the settings of all sources, with a reference to their stub zones. Forgets kube2sky's
 * documents of domains that are gone as others need the room. */
struct options config_layers_settings(struct config_layers *layers);

/* Returns the settings as they would be with this document in etcd. Leaves out kube2sky's
 * documents, which change nothing but upstreams, and stub zones. Leaves the document out if it
 * cannot be used: config_layers_take says so. */
struct options config_layers_preview(struct config_layers *layers, struct slice document);

/* Returns whether the newest text of a source cannot be used; of kube2sky's documents, those in
 * force count. */
bool config_layers_is_refused(struct config_layers *layers, enum config_layer layer);

bool config_layers_has_document(const struct config_layers *layers);
const char *config_layers_key(const struct config_layers *layers); /* "/skydns/config"; borrowed */

/* Document of settings, wherever it comes from: the text seen last, and the one in force, which is
 * older while the newest cannot be used. Main thread. */

struct config_source {
    char *name; /* a key or a path, for the log; owned; NULL: not in use */
    struct buf seen, used;
    bool has_seen, has_used;
};

/* Makes a source; takes the name. Longer texts are cut to one byte more, so that this shows. */
void config_source_init(struct config_source *source, char *name, size_t bytes_max);
void config_source_fini(struct config_source *source); /* zeroed or initialized; zeroes it */

/* Notes a new text; ptr NULL means none. Returns false if it is the one seen last. */
bool config_source_see(struct config_source *source, struct slice text);

/* Puts the text seen last in force: it can be used. */
void config_source_use(struct config_source *source);

/* Returns whether the text seen last cannot be used: an older one is in force. */
bool config_layers_is_source_refused(const struct config_source *source);

/* Return the text; ptr NULL: none. Borrowed. */
struct slice config_source_seen(struct config_source *source);
struct slice config_source_used(struct config_source *source);

#endif
