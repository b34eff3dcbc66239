/* Recognizes keys that kube2sky could have written itself, now or with other objects or another
 * --ttl. For --own-only-written, which leaves people's own records below svc/ alone, and for the
 * zone of
 * --external-zone. Keys of every
 * --endpoint-names count, so that a change of it leaves none.
 *
 * It checks only the form, the rows of naming.h and reverse.h: a key in exactly that form counts as
 * ours. A label that looks like a hash must be the value's, or the value was copied. PURE. */
#ifndef KUBE2SKY_NAMING_KEY_STYLE_H
#define KUBE2SKY_NAMING_KEY_STYLE_H

#include <stdbool.h>

#include "common/base/slice.h"

/* Returns whether the key has such a form. `below` is the key below the domain,
 * "svc/default/web/c88f1059", "pod/default/10-1-0-1/..." or "node/worker-1/...". is_import: it is
 * below the multicluster domain. */
bool key_style_object(struct slice domain, bool is_import, struct slice below, struct slice value);

/* Returns whether a key in the zone of --external-zone has such a form; `below` is the key below
 * the zone, "default/web/c88f1059". */
bool key_style_external(struct slice zone, struct slice below, struct slice value);

/* Returns whether a key of that form is an address under a word, an endpoint's hostname or pod. A
 * person may have copied the value there from the label that is its hash or address. */
bool key_style_is_named(bool is_import, struct slice below, struct slice value);

/* Returns whether a whole key, "/skydns/arpa/in-addr/10/0/0/1", has such a form. */
bool key_style_reverse(struct slice key, struct slice value);

#endif
