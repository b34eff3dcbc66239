/* Tells whether a request to our pages names a host that it may name, against DNS rebinding.
 *
 * A web page elsewhere may let its own name lead to an address of ours. For the browser our pages
 * are then that page's own, and it may read them from within the network. Such a request names the
 * page's host. So a Host header must be an IP address, one label such as `localhost`, a name in our
 * domains, or one that the operator lists. None at all, or an empty one, is no browser's and
 * passes. A port does not matter. Pure. */
#ifndef COMMON_HTTP_HTTP_HOSTS_H
#define COMMON_HTTP_HTTP_HOSTS_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Borrows all its pointers. */
struct http_hosts {
    const char *names; /* the flag's value: comma-separated, "" = none */
    /* Returns whether the name, with letters, digits, hyphens, underscores and inner dots, is in a
     * domain of ours. */
    bool (*is_ours)(const void *data, struct slice name);
    const void *data;
};

/* Checks the value of a flag for `names`; ERR_USAGE quotes it. */
int http_hosts_check(const char *names, struct err *err) MUST_CHECK;

/* Returns whether a request may name the host, the header's value. */
bool http_hosts_allow(const struct http_hosts *hosts, struct slice host);

#endif
