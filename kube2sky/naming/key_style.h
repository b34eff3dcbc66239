/* Could kube2sky have written this key itself, if not now then with other objects or another --ttl?
 * For --own-only-written, under which people's own records below svc/ are left alone. It looks at
 * the form alone, the rows of naming.h and reverse.h: what somebody writes in exactly that form is
 * taken for ours. PURE. */
#ifndef KUBE2SKY_NAMING_KEY_STYLE_H
#define KUBE2SKY_NAMING_KEY_STYLE_H

#include <stdbool.h>

#include "common/base/slice.h"

/* The key below the domain, "svc/default/web/c88f1059" or "pod/default/10-1-0-1/...". */
bool key_style_object(struct slice domain, struct slice below, struct slice value);

/* The whole key, "/skydns/arpa/in-addr/10/0/0/1". */
bool key_style_reverse(struct slice key, struct slice value);

#endif
