/* Tells whether a client may have a page that is not for everybody. The client is the connection's
 * peer: no header says who it is, since anybody can write one. Pure. */
#ifndef COMMON_HTTP_HTTP_ACCESS_H
#define COMMON_HTTP_HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/http/http_server.h"

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
