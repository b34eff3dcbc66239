/* URLs, as far as an HTTP client must look into them: libcurl's parser behind functions of ours.
 * For http_transfer.c and for who checks a URL before it is used. Pure. */
#ifndef COMMON_HTTP_HTTP_URL_H
#define COMMON_HTTP_HTTP_URL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

/* A base URL: http or https, with a host, without query or credentials. *ret_url (owned) has no
 * slash at its end. ERR_USAGE with what was expected, else. */
int http_url_base(const char *text, char **ret_url, struct err *err) MUST_CHECK;

/* A proxy's URL: http, https or socks5, with a host; credentials may be in it. *ret_url (owned) is
 * what libcurl needs to do what others do with such a URL: with the port that the scheme has, and
 * names looked up by a SOCKS proxy, not here. ERR_USAGE with what was expected, else. */
int http_url_proxy(const char *text, char **ret_url, struct err *err) MUST_CHECK;

/* scheme://host:port of a URL, without its credentials, for messages; owned. */
char *http_url_shown(const char *url);

/* ---- For http_transfer.c; the URL is one of http_url_base, with a path ---- */

bool http_url_is_https(const char *url);

/* localhost, 127.0.0.0/8, ::1 */
bool http_url_is_loopback(const char *url);

/* "host:port", an IPv6 address in brackets, the port always there; owned, NULL when it is no URL.
 */
char *http_url_authority(const char *url);

/* The same URL with another host, a name or an address; owned, NULL when that cannot be. */
char *http_url_with_host(const char *url, const char *host);

#endif
