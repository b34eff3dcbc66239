#include "common/http/http_url.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

static CURLU *http_url_parse(const char *url)
{
    CURLU *parsed = curl_url();
    if (!parsed) {
        xalloc_out_of_memory();
    }
    /* libcurl does not fetch from a SOCKS proxy's scheme. */
    if (curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        curl_url_cleanup(parsed);
        return NULL;
    }
    return parsed;
}

/* Returns the part, owned; NULL: absent. */
static char *http_url_part_of(CURLU *parsed, CURLUPart part)
{
    char *text = NULL;
    return parsed && curl_url_get(parsed, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text
                                                                                        : NULL;
}

static bool is_scheme(const char *scheme, const char *wanted)
{
    return scheme && strcmp(scheme, wanted) == 0;
}

static bool is_http(const char *scheme)
{
    return is_scheme(scheme, "http") || is_scheme(scheme, "https");
}

/* Refuses a third slash, which libcurl ignores; here it means that the host is missing. */
static bool has_host(const char *text, const char *host)
{
    const char *authority = strstr(text, "://");
    return host && *host && authority && authority[3] != '/';
}

int http_url_base(const char *text, char **ret_url, struct err *err)
{
    CURLU *parsed = http_url_parse(text);
    CLEANUP_FREE char *scheme = http_url_part_of(parsed, CURLUPART_SCHEME);
    CLEANUP_FREE char *host = http_url_part_of(parsed, CURLUPART_HOST);
    CLEANUP_FREE char *user = http_url_part_of(parsed, CURLUPART_USER);
    CLEANUP_FREE char *query = http_url_part_of(parsed, CURLUPART_QUERY);
    curl_url_cleanup(parsed);
    if (!is_http(scheme) || !has_host(text, host) || user || query) {
        return err_set(err, ERR_USAGE,
                       "`%s` is not a server's URL; expected http://HOST:PORT or "
                       "https://HOST:PORT, without user or query",
                       text);
    }
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '/') {
        len--;
    }
    *ret_url = xstrndup(text, len);
    return 0;
}

static const char *default_proxy_port(const char *scheme)
{
    return is_scheme(scheme, "http") ? "80" : is_scheme(scheme, "https") ? "443" : "1080";
}

int http_url_proxy(const char *text, char **ret_url, struct err *err)
{
    CURLU *parsed = http_url_parse(text);
    CLEANUP_FREE char *scheme = http_url_part_of(parsed, CURLUPART_SCHEME);
    CLEANUP_FREE char *host = http_url_part_of(parsed, CURLUPART_HOST);
    CLEANUP_FREE char *port = http_url_part_of(parsed, CURLUPART_PORT);
    char *url = NULL;
    bool is_socks = is_scheme(scheme, "socks5");
    bool ok = (is_http(scheme) || is_socks) && has_host(text, host);
    if (ok) {
        const char *spelling = is_socks ? "socks5h" : scheme;
        ok = curl_url_set(parsed, CURLUPART_SCHEME, spelling, CURLU_NON_SUPPORT_SCHEME) == 0 &&
             curl_url_set(parsed, CURLUPART_PORT, port ? port : default_proxy_port(scheme), 0) ==
                 0 &&
             curl_url_get(parsed, CURLUPART_URL, &url, 0) == 0;
    }
    curl_url_cleanup(parsed);
    if (!ok) {
        CLEANUP_FREE char *shown = http_url_shown(text);
        return err_set(err, ERR_USAGE,
                       "`%s` is not a proxy's URL; expected http://HOST:PORT, https://HOST:PORT or "
                       "socks5://HOST:PORT",
                       shown);
    }
    *ret_url = url;
    return 0;
}

char *http_url_shown(const char *url)
{
    CURLU *parsed = http_url_parse(url);
    CLEANUP_FREE char *scheme = http_url_part_of(parsed, CURLUPART_SCHEME);
    CLEANUP_FREE char *host = http_url_part_of(parsed, CURLUPART_HOST);
    CLEANUP_FREE char *port = http_url_part_of(parsed, CURLUPART_PORT);
    curl_url_cleanup(parsed);
    if (!scheme || !host) {
        const char *at = strrchr(url, '@'); /* the text before it may be a password */
        return xstrdup(at ? at + 1 : url);
    }
    return xasprintf("%s://%s%s%s", is_scheme(scheme, "socks5h") ? "socks5" : scheme, host,
                     port ? ":" : "", port ? port : "");
}

bool http_url_is_https(const char *url)
{
    CURLU *parsed = http_url_parse(url);
    CLEANUP_FREE char *scheme = http_url_part_of(parsed, CURLUPART_SCHEME);
    curl_url_cleanup(parsed);
    return is_scheme(scheme, "https");
}

bool http_url_is_loopback(const char *url)
{
    CURLU *parsed = http_url_parse(url);
    CLEANUP_FREE char *host = http_url_part_of(parsed, CURLUPART_HOST);
    curl_url_cleanup(parsed);
    struct slice name = slice_str(host ? host : "");
    struct ip ip = {0};
    if (name.len > 2 && name.ptr[0] == '[') {
        name = slice_of(name.ptr + 1, name.len - 2);
    }
    if (ip_parse(name, &ip)) {
        return ip.family_bytes == 4 ? ip.bytes[0] == 127
                                    : memcmp(ip.bytes, &in6addr_loopback, 16) == 0;
    }
    return slice_equal(name, slice_str("localhost"));
}

char *http_url_authority(const char *url)
{
    CURLU *parsed = http_url_parse(url);
    CLEANUP_FREE char *host = http_url_part_of(parsed, CURLUPART_HOST);
    CLEANUP_FREE char *port = http_url_part_of(parsed, CURLUPART_PORT);
    curl_url_cleanup(parsed);
    return host && port ? xasprintf("%s:%s", host, port) : NULL;
}

char *http_url_with_host(const char *url, const char *host)
{
    CURLU *parsed = http_url_parse(url);
    struct ip ip;
    bool is_v6 = ip_parse(slice_str(host), &ip) && strchr(host, ':');
    CLEANUP_FREE char *bracketed = is_v6 ? xasprintf("[%s]", host) : xstrdup(host);
    char *renamed = NULL;
    if (parsed && curl_url_set(parsed, CURLUPART_HOST, bracketed, 0) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_URL, &renamed, 0) != CURLUE_OK) {
        renamed = NULL;
    }
    curl_url_cleanup(parsed);
    return renamed;
}
