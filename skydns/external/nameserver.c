#include "skydns/external/nameserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"

static const char tls_scheme[] = "tls://", tcp_scheme[] = "tcp://";

/* ---- Names ---- */

static struct slice nameserver_key_of(const void *thing)
{
    return slice_str(thing);
}

/* Returns the one stored copy of a name. NULL: there is no room for another. */
static const char *keep_name(const char *name)
{
    static struct key_table names;
    if (!names.key_of) {
        key_table_init(&names, nameserver_key_of);
    }
    const char *stored = key_table_find(&names, slice_str(name));
    if (stored || names.count == NAMESERVER_NAMES_MAX) {
        return stored;
    }
    char *copy = xstrdup(name);
    (void)key_table_put(&names, copy); /* there was none */
    return copy;
}

/* Writes the name in lower case, without the last dot, as certificates and SNI have it. Returns
 * false when it is neither an IP address nor a host name: letters, digits, hyphens and underscores
 * between dots. */
static bool tidy_name(const char *text, char out[NAMESERVER_NAME_MAX + 1])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    struct dname name;
    struct ip ip;
    char address[INET6_ADDRSTRLEN];
    if (ip_parse(slice_str(text), &ip)) {
        (void)snprintf(out, NAMESERVER_NAME_MAX + 1, "%s", ip_format(&ip, address)); /* fits */
        return true;
    }
    if (strchr(text, '\\') || !dname_from_text(slice_str(text), &name) || name.len == 1) {
        return false;
    }
    char lower[DNAME_TEXT_MAX];
    dname_lower(&name);
    (void)dname_to_text(&name, lower);
    size_t len = strlen(lower) - 1;
    if (len > NAMESERVER_NAME_MAX || strspn(lower, letters) != len + 1) {
        return false;
    }
    memcpy(out, lower, len);
    out[len] = '\0';
    return true;
}

/* ---- Parsing ---- */

static int nameserver_refuse(const char *text, const char *expected, struct err *err)
{
    if (strchr(text, '%')) {
        expected = "[IP%interface]:port, like [fe80::1%eth0]:53, with an interface of this machine";
    }
    return err_set(err, ERR_USAGE, "`%s`: expected %s", text, expected);
}

static bool nameserver_parse_address(struct slice text, unsigned default_port, struct addr *ret)
{
    char with_port[ADDR_TEXT_MAX + sizeof(":65535")];
    struct err reason;
    if (text.len == 0 || text.len > ADDR_TEXT_MAX) {
        return false;
    }
    bool is_bracketed = text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
    bool has_port = memchr(text.ptr, ':', text.len) && !is_bracketed;
    memcpy(with_port, text.ptr, text.len);
    int n = snprintf(with_port + text.len, sizeof(with_port) - text.len, ":%u", default_port);
    if (n < 0 || (size_t)n >= sizeof(with_port) - text.len) {
        return false;
    }
    with_port[text.len + (has_port ? 0 : (size_t)n)] = '\0';
    return addr_parse(with_port, ret, &reason) == 0;
}

/* Returns the text behind the scheme; NULL: it has another or none. */
static const char *behind_scheme(const char *text, const char *scheme)
{
    const size_t len = strlen(scheme);
    return strncasecmp(text, scheme, len) == 0 ? text + len : NULL;
}

/* Parses text; address: what is behind its scheme. */
static int parse_tls(const char *text, const char *address, struct nameserver *ret, struct err *err)
{
    const char *hash = strchr(address, '#');
    char name[NAMESERVER_NAME_MAX + 1] = "";
    struct nameserver server;
    size_t len = hash ? (size_t)(hash - address) : strlen(address);
    if (!nameserver_parse_address(slice_of(address, len), NAMESERVER_TLS_PORT, &server.address) ||
        (hash && !tidy_name(hash + 1, name))) {
        return nameserver_refuse(
            text,
            "tls://IP[:port]#name, like tls://192.0.2.1#dns.example or tls://[::1]:853, "
            "the name as in its certificate",
            err);
    }
    server.tls_name = keep_name(name);
    server.is_tcp_only = false;
    if (!server.tls_name) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected at most %d different names of upstreams since the start; "
                       "restart to drop the earlier ones",
                       text, NAMESERVER_NAMES_MAX);
    }
    *ret = server;
    return 0;
}

int nameserver_parse(const char *text, struct nameserver *ret, struct err *err)
{
    struct addr address;
    const char *over_tls = behind_scheme(text, tls_scheme);
    if (over_tls) {
        return parse_tls(text, over_tls, ret, err);
    }
    const char *over_tcp = behind_scheme(text, tcp_scheme);
    if (!nameserver_parse_address(slice_str(over_tcp ? over_tcp : text), NAMESERVER_PORT,
                                  &address)) {
        return nameserver_refuse(
            text,
            "IP or IP:port, like 192.0.2.1, 192.0.2.1:53 or [::1]:53, port 1-65535, "
            "tcp://IP[:port], or tls://IP[:port]#name",
            err);
    }
    *ret = nameserver_at(address);
    ret->is_tcp_only = over_tcp != NULL;
    return 0;
}

/* ---- Use ---- */

bool nameserver_equal(const struct nameserver *a, const struct nameserver *b)
{
    return a->tls_name == b->tls_name && a->is_tcp_only == b->is_tcp_only &&
           addr_equal(&a->address, &b->address);
}

const char *nameserver_format(const struct nameserver *server, char out[NAMESERVER_TEXT_MAX])
{
    char address[ADDR_TEXT_MAX];
    const char *name = server->tls_name ? server->tls_name : "";
    (void)snprintf(out, NAMESERVER_TEXT_MAX, "%s%s%s%s",
                   server->tls_name      ? tls_scheme
                   : server->is_tcp_only ? tcp_scheme
                                         : "",
                   addr_format(&server->address, address), *name ? "#" : "", name); /* fits */
    return out;
}

const char *nameserver_certificate_name(const struct nameserver *server, char out[INET6_ADDRSTRLEN])
{
    if (*server->tls_name) {
        return server->tls_name;
    }
    const struct ip ip = addr_ip(&server->address);
    return ip_format(&ip, out);
}
