/* The Date field of replies (RFC 9110 6.6.1: a server with a clock sends it, so that a cache counts
 * from when the reply was made), written once a second. A connection's own. */
#ifndef SKYDNS_DOH_DOH_DATE_INTERNAL_H
#define SKYDNS_DOH_DOH_DATE_INTERNAL_H

#include <stdint.h>

#include "skydns/doh/doh_reply_internal.h"

struct doh_date {
    int64_t second; /* of the text, Unix time; zeroed: the text is not written yet */
    char text[DOH_DATE_MAX];
};

/* Now, by the wall clock: "Sun, 06 Nov 1994 08:49:37 GMT". Borrowed until the next call. */
const char *doh_date_now(struct doh_date *date);

#endif
