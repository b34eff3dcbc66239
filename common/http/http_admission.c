#include "common/http/http_admission.h"

#include <string.h>

/* ---- Hosts ---- */

enum { NAME_MAX_BYTES = 253 }; /* RFC 1035 2.3.4, as text without the dot at the end */

static bool is_digits(struct slice s)
{
    size_t i = 0;
    while (i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9') {
        i++;
    }
    return i == s.len;
}

/* Refuses a scope such as %eth0, which has a meaning for the client alone. */
static bool is_ip(struct slice s)
{
    const char *scope = s.len ? memchr(s.ptr, '%', s.len) : NULL;
    struct ip ip;
    return ip_parse(slice_of(s.ptr, scope ? (size_t)(scope - s.ptr) : s.len), &ip);
}

/* Accepts [2001:db8::1], with or without a port. */
static bool is_bracketed_ip(struct slice host)
{
    const char *end = memchr(host.ptr, ']', host.len);
    size_t len = end ? (size_t)(end - host.ptr) : 0;
    if (len == 0) {
        return false;
    }
    struct slice port = slice_of(end + 1, host.len - len - 1);
    return is_ip(slice_of(host.ptr + 1, len - 1)) &&
           (port.len == 0 || (*port.ptr == ':' && is_digits(slice_of(port.ptr + 1, port.len - 1))));
}

static struct slice without_port(struct slice host)
{
    const char *colon = memrchr(host.ptr, ':', host.len);
    size_t len = colon ? (size_t)(colon - host.ptr) : host.len;
    bool has_port = colon && is_digits(slice_of(colon + 1, host.len - len - 1));
    return has_port ? slice_of(host.ptr, len) : host;
}

static struct slice without_last_dot(struct slice name)
{
    return slice_of(name.ptr, name.len - (name.len > 1 && name.ptr[name.len - 1] == '.'));
}

/* Accepts underscores, too: names of pages that work have them. */
static bool http_hosts_is_name(struct slice name)
{
    char before = '.';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_';
        if (!is_word && (c != '.' || before == '.')) {
            return false;
        }
        before = c;
    }
    return name.len > 0 && name.len <= NAME_MAX_BYTES && before != '.';
}

/* Cuts the first name off a list with commas. */
static struct slice cut_name(struct slice *list)
{
    return without_last_dot(slice_cut(list, ','));
}

static bool http_hosts_is_listed(const char *names, struct slice name)
{
    struct slice list = slice_str(names);
    while (list.len > 0) {
        if (slice_equal_nocase(cut_name(&list), name)) {
            return true;
        }
    }
    return false;
}

int http_hosts_check(const char *names, struct err *err)
{
    struct slice list = slice_str(names);
    bool ok = list.len == 0 || names[list.len - 1] != ',';
    while (ok && list.len > 0) {
        ok = http_hosts_is_name(cut_name(&list));
    }
    return ok ? 0
              : err_set(err, ERR_USAGE,
                        "`%.200s`: expected comma-separated host names, like dns.example.com, "
                        "without ports",
                        names);
}

bool http_hosts_allow(const struct http_hosts *hosts, struct slice host)
{
    if (host.len == 0 || is_ip(host)) {
        return true;
    }
    if (*host.ptr == '[') {
        return is_bracketed_ip(host);
    }
    struct slice name = without_last_dot(without_port(host));
    if (!http_hosts_is_name(name)) {
        return false;
    }
    return !memchr(name.ptr, '.', name.len) || is_ip(name) ||
           http_hosts_is_listed(hosts->names, name) || hosts->is_ours(hosts->data, name);
}

/* ---- Clients ---- */

static bool http_access_is_restricted(const struct http_access *access,
                                      const struct http_request *request)
{
    for (size_t i = 0; i < access->restricted_count; i++) {
        const struct http_restricted *row = &access->restricted[i];
        if ((!row->path || strcmp(row->path, request->path) == 0) &&
            (!row->argument || http_request_arg(request, row->argument))) {
            return true;
        }
    }
    return false;
}

bool http_access_allows(const struct http_access *access, const struct http_request *request,
                        const struct ip *client)
{
    bool is_allowed = !http_access_is_restricted(access, request);
    for (size_t i = 0; !is_allowed && i < access->network_count; i++) {
        is_allowed = network_contains(&access->networks[i], client);
    }
    return is_allowed;
}
