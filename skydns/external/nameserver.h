/* Describes an upstream: its address, and how it is asked: over UDP and TCP, over TCP alone, or
 * over TLS and under which name. Plain data, copied freely, compared by all of it: an address with
 * TLS and without are two upstreams, and so are two names at one address.
 *
 * Names are stored once for each text and never freed. So a table of thousands of servers need not
 * have 254 bytes for each, and a copy costs nothing. They come from flags and documents of the
 * operator, never from clients. */
#ifndef SKYDNS_EXTERNAL_NAMESERVER_H
#define SKYDNS_EXTERNAL_NAMESERVER_H

#include <stdbool.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

enum {
    NAMESERVER_PORT = 53,
    NAMESERVER_TLS_PORT = 853,
    /* A DNS name without its last dot. */
    NAMESERVER_NAME_MAX = 253,
    /* Bounds the different names since the start. A whole zone table's servers, each with its own,
     * take 4 MiB at most. */
    NAMESERVER_NAMES_MAX = 16 * 1024,
};

/* The longest text: "tls://[ADDRESS]:PORT#NAME". */
#define NAMESERVER_TEXT_MAX (sizeof("tls://#") + ADDR_TEXT_MAX + NAMESERVER_NAME_MAX)

struct nameserver {
    struct addr address;
    const char *tls_name; /* the name that its certificate must have, in lower case; "": its IP
                           * address; NULL: no TLS. Lives as long as the program; equal texts are
                           * one pointer */
    bool is_tcp_only;     /* without TLS: never over UDP */
};

static inline bool nameserver_is_tls(const struct nameserver *server)
{
    return server->tls_name != NULL;
}

/* Returns how it is asked: "udp", "tcp" or "tls"; constant. */
static inline const char *nameserver_transport(const struct nameserver *server)
{
    return nameserver_is_tls(server) ? "tls" : server->is_tcp_only ? "tcp" : "udp";
}

/* Returns an upstream without TLS, over UDP and TCP. */
static inline struct nameserver nameserver_at(struct addr address)
{
    return (struct nameserver){.address = address};
}

/* Returns whether both are the same upstream: address, TLS name and transport. */
bool nameserver_equal(const struct nameserver *a, const struct nameserver *b);

/* Parses "192.0.2.1", "192.0.2.1:5353", "[::1]", "tcp://192.0.2.1", "tls://192.0.2.1", or
 * "tls://[::1]:853#dns.example". The default port is 53, or 853 with TLS. Fails with ERR_USAGE,
 * which says what was expected. Main thread: it may store a name. */
int nameserver_parse(const char *text, struct nameserver *ret, struct err *err) MUST_CHECK;

/* Writes "192.0.2.1:53", "tcp://192.0.2.1:53" or "tls://192.0.2.1:853#dns.example". Returns out. */
const char *nameserver_format(const struct nameserver *server, char out[NAMESERVER_TEXT_MAX]);

/* A log line's field with the text of a server. */
#define LOG_SERVER(server_) \
    LOG_STR("server", nameserver_format((server_), (char[NAMESERVER_TEXT_MAX]){0}))

/* Returns the name that its certificate must have: a host name, which is tls_name, or an IP address
 * in `out`. Only if nameserver_is_tls. */
const char *nameserver_certificate_name(const struct nameserver *server,
                                        char out[INET6_ADDRSTRLEN]);

#endif
