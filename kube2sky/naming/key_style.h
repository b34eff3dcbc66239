/* Whether kube2sky could have written a key itself, now or with other objects or another --ttl. For
 * --own-only-written, which leaves people's own records below svc/ alone. Checks only the form, the
 * rows of naming.h and reverse.h: anything written in exactly that form counts as ours. PURE. */
#ifndef KUBE2SKY_NAMING_KEY_STYLE_H
#define KUBE2SKY_NAMING_KEY_STYLE_H

#include <stdbool.h>

#include "common/base/slice.h"

/* The key below the domain, "svc/default/web/c88f1059" or "pod/default/10-1-0-1/...". */
bool key_style_object(struct slice domain, struct slice below, struct slice value);

/* The whole key, "/skydns/arpa/in-addr/10/0/0/1". */
bool key_style_reverse(struct slice key, struct slice value);

#endif
