#include "exechealthz/dns_target.h"

#include <stdio.h>
#include <string.h>

static const struct scheme {
    const char *prefix;
    uint16_t default_port;
} schemes[] = {
    [DNS_OVER_UDP] = {"", DNS_PORT},
    [DNS_OVER_TLS] = {"tls://", 853},
    [DNS_OVER_HTTPS] = {"https://", 443},
};

static bool is_label_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns false for other than letters, digits and _, or too many. */
static bool dns_target_take_label(struct slice text, char out[DNS_LABEL_TEXT_MAX])
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_label_byte(text.ptr[i])) {
            return false;
        }
    }
    if (text.len == 0 || text.len >= DNS_LABEL_TEXT_MAX) {
        return false;
    }
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

static void label_of_name(const struct dname *name, char out[DNS_LABEL_TEXT_MAX])
{
    struct slice first = name->len > 1 ? dname_label(name, 0) : slice_str("root");
    for (size_t i = 0; i < first.len; i++) {
        out[i] = first.ptr[i];
        if (!is_label_byte(out[i])) {
            out[i] = '_';
        }
    }
    out[first.len] = '\0'; /* DNAME_LABEL_MAX bytes at most */
}

/* Returns the next part, and the text after its comma. */
static struct slice next_part(const char **text)
{
    struct slice part = slice_of(*text, strcspn(*text, ","));
    *text += part.len;
    *text += **text == ',';
    return part;
}

/* ---- The server ---- */

/* Returns the text up to the first of `stops`, removed from *text. */
static struct slice take_until(struct slice *text, const char *stops)
{
    size_t len = 0;
    while (len < text->len && !strchr(stops, text->ptr[len])) {
        len++;
    }
    struct slice part = slice_of(text->ptr, len);
    *text = slice_of(text->ptr + len, text->len - len);
    return part;
}

/* Returns false if the text does not fit, or is empty. */
static bool dns_target_copy_text(struct slice text, char *out, size_t size)
{
    if (text.len == 0 || text.len >= size) {
        return false;
    }
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

bool dns_target_parse_address(struct slice text, uint16_t default_port, struct addr *ret)
{
    char copy[ADDR_TEXT_MAX];
    struct slice bare = text;
    struct ip ip;
    if (text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') {
        bare = slice_of(text.ptr + 1, text.len - 2);
    }
    if (ip_parse(bare, &ip)) {
        *ret = addr_of_ip(&ip, default_port);
        return true;
    }
    return dns_target_copy_text(text, copy, sizeof(copy)) && addr_parse(copy, ret, NULL) == 0;
}

/* Accepts only what may stand in a request's first line (RFC 3986 3.3, and a query). */
static bool parse_path(struct slice text, char out[DNS_PATH_MAX])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+;=:@%/?";
    return dns_target_copy_text(text, out, DNS_PATH_MAX) && strspn(out, allowed) == text.len;
}

/* Parses what is behind the #: a host name or an IP address. It becomes part of a request, too. */
static bool parse_tls_name(struct slice text, char out[DNS_TLS_NAME_MAX])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    struct dname name;
    struct ip ip;
    return dns_target_copy_text(text, out, DNS_TLS_NAME_MAX) &&
           (ip_parse(text, &ip) ||
            (strspn(out, allowed) == text.len && dname_from_text(text, &name) && name.len > 1));
}

static enum dns_protocol dns_target_protocol_of(struct slice text)
{
    for (enum dns_protocol p = DNS_OVER_TLS; p <= DNS_OVER_HTTPS; p++) {
        if (slice_has_prefix(text, slice_str(schemes[p].prefix))) {
            return p;
        }
    }
    return DNS_OVER_UDP;
}

static bool parse_server(struct slice text, struct dns_target *t)
{
    t->protocol = dns_target_protocol_of(text);
    const struct scheme *scheme = &schemes[t->protocol];
    struct slice rest =
        slice_of(text.ptr + strlen(scheme->prefix), text.len - strlen(scheme->prefix));
    const char *behind_address[] = {
        [DNS_OVER_UDP] = "", [DNS_OVER_TLS] = "#", [DNS_OVER_HTTPS] = "/#"};
    if (!dns_target_parse_address(take_until(&rest, behind_address[t->protocol]),
                                  scheme->default_port, &t->server)) {
        return false;
    }
    struct slice path = take_until(&rest, "#");
    if (t->protocol == DNS_OVER_HTTPS &&
        !parse_path(path.len > 0 ? path : slice_str("/dns-query"), t->path)) {
        return false;
    }
    return rest.len == 0 || parse_tls_name(slice_of(rest.ptr + 1, rest.len - 1), t->tls_name);
}

const char *dns_target_server(const struct dns_target *target, char out[DNS_SERVER_TEXT_MAX])
{
    char address[ADDR_TEXT_MAX];
    (void)snprintf(out, DNS_SERVER_TEXT_MAX, "%s%s%s", schemes[target->protocol].prefix,
                   addr_format(&target->server, address), target->path); /* fits */
    return out;
}

/* ---- The name, and all of it ---- */

static int dns_target_parse_name(struct slice text, struct dns_target *t, struct err *err)
{
    const char *equals = text.len ? memchr(text.ptr, '=', text.len) : NULL;
    struct slice name = text;
    if (equals) {
        struct slice label = slice_of(text.ptr, (size_t)(equals - text.ptr));
        name = slice_of(equals + 1, text.len - label.len - 1);
        if (!dns_target_take_label(label, t->label)) {
            return err_set(err, ERR_USAGE, "label `%.*s`: expected letters, digits and _, 1-%d",
                           (int)label.len, label.ptr, DNS_LABEL_TEXT_MAX - 1);
        }
    }
    if (name.len == 0 || !dname_from_text(name, &t->question.name)) {
        return err_set(err, ERR_USAGE, "name `%.*s`: expected a domain name", (int)name.len,
                       name.ptr);
    }
    if (!equals) {
        label_of_name(&t->question.name, t->label);
    }
    return 0;
}

int dns_target_parse(const char *text, struct dns_target *ret_target, struct err *err)
{
    const struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    struct dns_target t = {
        .question = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN},
        .server = addr_of_ip(&loopback, DNS_PORT),
    };
    int r = dns_target_parse_name(next_part(&text), &t, err);
    if (r < 0) {
        return r;
    }
    const char *behind_name = text;
    struct slice part = next_part(&text);
    if (dns_question_type(part, &t.question.type)) {
        part = next_part(&text);
    }
    if ((part.len > 0 && !parse_server(part, &t)) || *text != '\0') {
        return err_set(
            err, ERR_USAGE,
            "`%s`: expected [TYPE][,SERVER], a type like A or SRV and an IP address like "
            "127.0.0.1:53, tls://127.0.0.1[#NAME] or https://127.0.0.1[/PATH][#NAME]",
            behind_name);
    }
    *ret_target = t;
    return 0;
}

/* ---- HTTPS ---- */

/* Appends the name that the certificate must have, or else the address; the port unless it is
 * HTTPS's. */
static void append_host(const struct dns_target *target, struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    const struct addr *server = &target->server;
    uint16_t port = addr_port(server);
    if (!target->tls_name[0]) {
        buf_append_str(out, addr_format(server, text));
        return;
    }
    bool is_ipv6 = strchr(target->tls_name, ':');
    buf_printf(out, is_ipv6 ? "[%s]" : "%s", target->tls_name);
    if (port != 443) {
        buf_printf(out, ":%u", port);
    }
}

void doh_request_write(const struct dns_target *target, struct slice query, struct buf *out)
{
    buf_printf(out, "POST %s HTTP/1.1\r\nHost: ", target->path);
    append_host(target, out);
    buf_printf(out,
               "\r\nAccept: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n",
               DOH_MEDIA_TYPE, DOH_MEDIA_TYPE, query.len);
    buf_append_slice(out, query);
}
