/* Parses -addr, with IP:port for UDP and TCP and URLs of streams, and the files that TLS needs. */
#include <stdio.h>
#include <string.h>

#include "common/base/attributes.h"
#include "skydns/settings/option_values.h"

/* ---- One address ---- */

/* Ports of streams without one; HTTP in the clear has none of its own, since it is for a proxy. */
static const struct {
    const char *port; /* NULL: it has to be given */
    const char *example;
} streams[ENGINE_TRANSPORTS] = {
    [ENGINE_TLS] = {"853", "tls://IP or tls://IP:port, like tls://10.0.0.10 or tls://[::1]:853"},
    [ENGINE_HTTPS] = {"443", "https://IP or https://IP:port, like https://10.0.0.10"},
    [ENGINE_HTTP] = {NULL, "http://IP:port, like http://127.0.0.1:8080"},
    [ENGINE_GRPC] = {"443", "grpc://IP or grpc://IP:port, like grpc://10.0.0.10"},
};

static bool has_port(const char *host)
{
    return strchr(host, ':') && host[strlen(host) - 1] != ']';
}

static int parse_stream(const char *url, const char *host, enum engine_transport transport,
                        struct stream_address *ret, struct err *err)
{
    char text[OPTION_ITEM_MAX + sizeof(":443")];
    struct err reason;
    bool adds = streams[transport].port && !has_port(host);
    int n = snprintf(text, sizeof(text), "%s%s%s", host, adds ? ":" : "",
                     adds ? streams[transport].port : "");
    ret->transport = transport;
    if (n >= (int)sizeof(text) || addr_parse(text, &ret->address, &reason) < 0) {
        return err_set(err, ERR_USAGE, "`%s`: expected %s, port 1-65535", url,
                       streams[transport].example);
    }
    return 0;
}

/* Checks that a URL has its certificate: queries in the clear are never answered where TLS was
 * asked for. */
static int option_listeners_check_certificate(const struct options *o, const char *url,
                                              enum engine_transport transport, struct err *err)
{
    if ((transport == ENGINE_TLS || transport == ENGINE_HTTPS) && !*o->cert) {
        return err_set(err, ERR_USAGE, "`%s`: expected -cert and -key with it", url);
    }
    return 0;
}

static int add_stream(struct options *o, const char *url, const char *scheme_end, struct err *err)
{
    struct slice scheme = slice_of(url, (size_t)(scheme_end - url));
    enum engine_transport transport = listen_stream_transport(scheme);
    if (transport == ENGINE_TRANSPORTS) {
        return err_set(err, ERR_USAGE,
                       "`%s`: unknown scheme `%.*s`, expected IP:port, tls://IP, https://IP, "
                       "http://IP:port or grpc://IP",
                       url, (int)scheme.len, scheme.ptr);
    }
    int r =
        parse_stream(url, scheme_end + strlen("://"), transport, &o->streams[o->stream_count], err);
    if (r == 0) {
        r = option_listeners_check_certificate(o, url, transport, err);
    }
    o->stream_count += r == 0;
    return r;
}

static int option_listeners_add_address(struct options *o, const char *item, struct err *err)
{
    const char *scheme_end = strstr(item, "://");
    if (scheme_end) {
        return add_stream(o, item, scheme_end, err);
    }
    int r = option_address(&o->addresses[o->address_count], item, err);
    o->address_count += r == 0;
    return r;
}

/* ---- All of them ---- */

static size_t option_listeners_count_of(const struct options *o)
{
    return o->address_count + o->stream_count;
}

/* Returns the i-th address, the plain ones first, then those of streams; and as text. */
static const struct addr *option_listeners_nth(const struct options *o, size_t i,
                                               char text[OPTION_LISTENER_MAX])
{
    if (i < o->address_count) {
        addr_format(&o->addresses[i], text);
        return &o->addresses[i];
    }
    const struct stream_address *stream = &o->streams[i - o->address_count];
    option_stream_text(stream, text);
    return &stream->address;
}

/* Checks for doubles: TCP has one listener on an address and port, whatever it speaks. */
static int check_doubles(const struct options *o, struct err *err)
{
    char a[OPTION_LISTENER_MAX], b[OPTION_LISTENER_MAX];
    for (size_t i = 0; i < option_listeners_count_of(o); i++) {
        const struct addr *one = option_listeners_nth(o, i, a);
        for (size_t k = 0; k < i; k++) {
            if (addr_equal(option_listeners_nth(o, k, b), one)) {
                return err_set(err, ERR_USAGE,
                               "`%s` and `%s` are the same TCP port, expected different ones", b,
                               a);
            }
        }
    }
    return 0;
}

const char *option_stream_text(const struct stream_address *stream, char out[OPTION_LISTENER_MAX])
{
    char address[ADDR_TEXT_MAX];
    (void)snprintf(out, OPTION_LISTENER_MAX, "%s://%s", listen_transport_name(stream->transport),
                   addr_format(&stream->address, address)); /* always fits */
    return out;
}

int option_addresses(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    int r = 0;
    o->address_count = o->stream_count = 0;
    while (r == 0 && option_next_item(&rest, item)) {
        if (option_listeners_count_of(o) == LISTEN_SOCKETS_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d addresses", list,
                           LISTEN_SOCKETS_MAX);
        }
        r = option_listeners_add_address(o, item, err);
    }
    if (r == 0 && option_listeners_count_of(o) == 0) {
        return err_set(err, ERR_USAGE, "`%s`: expected IP:port", list);
    }
    return r < 0 ? r : check_doubles(o, err);
}

int option_check_certificate(const struct options *o, struct err *err)
{
    static const char certificate[] = "-cert and -key with it";
    const struct tls_files *upstreams = &o->nameservers_tls;
    const struct option_need needs[] = {
        {"cert", o->cert, *o->cert, *o->key, "-key with it"},
        {"key", o->key, *o->key, *o->cert, "-cert with it"},
        {"client-ca", o->client_ca, *o->client_ca, *o->cert, certificate},
        {"tls-ticket-keys", o->ticket_keys, *o->ticket_keys, *o->cert, certificate},
        {"nameservers-cert", upstreams->cert, *upstreams->cert, *upstreams->key,
         "-nameservers-key with it"},
        {"nameservers-key", upstreams->key, *upstreams->key, *upstreams->cert,
         "-nameservers-cert with it"},
    };
    return option_check_needs(needs, ARRAY_LEN(needs), err);
}
