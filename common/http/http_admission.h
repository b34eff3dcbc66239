/* Tells whether a request to our pages is answered: by the host that it names, and by its client.
 * Pure.
 *
 * Against DNS rebinding: a web page elsewhere may let its own name lead to an address of ours. For
 * the browser our pages are then that page's own, and it may read them from within the network.
 * Such a request names the page's host. So a Host header must be an IP address, one label such as
 * `localhost`, a name in our domains, or one that the operator lists. None at all, or an empty one,
 * is no browser's and passes. A port does not matter.
 *
 * Some pages are not for everybody. Their client is the connection's peer: no header says who it
 * is, since anybody can write one. */
#ifndef COMMON_HTTP_HTTP_ADMISSION_H
#define COMMON_HTTP_HTTP_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/http/http_server.h"

/* ---- Hosts ---- */

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

/* ---- Clients ---- */

enum { HTTP_ACCESS_NETWORKS_MAX = 64 }; /* of a flag: enough for a long one */

/* Requests that are not for everybody: for the path with the argument. */
struct http_restricted {
    const char *path;     /* exact, as a route's; NULL: any */
    const char *argument; /* that makes it one; NULL: any or none */
};

/* Borrows all its pointers. */
struct http_access {
    const struct http_restricted *restricted;
    size_t restricted_count;
    const struct network *networks; /* of the clients that may have all of them */
    size_t network_count;
    const char *refusal; /* the 403's text, a line */
};

/* Returns whether the client may have what it requests, whether or not there is such a page. */
bool http_access_allows(const struct http_access *access, const struct http_request *request,
                        const struct ip *client);

#endif
