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

#endif
