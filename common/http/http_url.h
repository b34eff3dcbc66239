/* The parts of URLs that an HTTP client needs, over libcurl's parser.
 *
 * Used by http_transfer.c, and to check URLs before use. Pure. */
#ifndef COMMON_HTTP_HTTP_URL_H
#define COMMON_HTTP_HTTP_URL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

/* Parses a base URL: http or https, with a host, without query or credentials. *ret_url (owned) has
 * no trailing slash. Otherwise returns ERR_USAGE with what was expected. */
int http_url_base(const char *text, char **ret_url, struct err *err) MUST_CHECK;

/* Parses a proxy's URL: http, https or socks5, with a host; credentials may be in it. *ret_url
 * (owned) makes libcurl treat it as other clients do: with the scheme's default port, and names
 * resolved by a SOCKS proxy, not here. Otherwise returns ERR_USAGE with what was expected. */
int http_url_proxy(const char *text, char **ret_url, struct err *err) MUST_CHECK;

/* Returns scheme://host:port of a URL, without its credentials, for messages; owned. */
char *http_url_shown(const char *url);

/* ---- For http_transfer.c; the URL is one of http_url_base, with a path ---- */

bool http_url_is_https(const char *url);

/* Returns true for localhost, 127.0.0.0/8 and ::1. */
bool http_url_is_loopback(const char *url);

/* Returns "host:port", an IPv6 address in brackets, always with the port; owned, NULL if it is not
 * a URL. */
char *http_url_authority(const char *url);

/* Returns the same URL with another host, a name or an address; owned, NULL if impossible. */
char *http_url_with_host(const char *url, const char *host);

#endif
