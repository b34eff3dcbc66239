/* The value of a --dns flag: a name, its type, and the server to query. Pure; used by options. */
#ifndef EXECHEALTHZ_DNS_TARGET_H
#define EXECHEALTHZ_DNS_TARGET_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "exechealthz/dns_message.h"

enum {
    DNS_PORT = 53,           /* of UDP, unless given */
    DNS_LABEL_TEXT_MAX = 64, /* a DNS label and NUL */
    /* Fits a host name (RFC 1035: 253 characters), a final dot and NUL. */
    DNS_TLS_NAME_MAX = 256,
    /* Equals a host name's limit; the paths of public servers have about ten characters. */
    DNS_PATH_MAX = 256,
    /* Fits https://, the address and the path. */
    DNS_SERVER_TEXT_MAX = 8 + ADDR_TEXT_MAX + DNS_PATH_MAX,
};

enum dns_protocol {
    DNS_OVER_UDP,
    DNS_OVER_TLS,   /* RFC 7858 */
    DNS_OVER_HTTPS, /* RFC 8484 */
};

struct dns_target {
    /* Names the target in paths and metrics: letters, digits and _ */
    char label[DNS_LABEL_TEXT_MAX];
    struct dns_question question;
    enum dns_protocol protocol;
    struct addr server;
    char tls_name[DNS_TLS_NAME_MAX]; /* host name or IP of the certificate; "": only its dates */
    char path[DNS_PATH_MAX];         /* for HTTPS, starts with / */
};

/* Parses `[LABEL=]NAME[,TYPE][,SERVER]`. Defaults: the name's first label, with _ for other bytes;
 * type A; server 127.0.0.1:53. SERVER is `IP[:PORT]`, `tls://IP[:853][#NAME]` or
 * `https://IP[:443][/PATH][#NAME]`, path /dns-query unless given: no name is resolved. Errors say
 * what was expected. */
int dns_target_parse(const char *text, struct dns_target *ret_target, struct err *err) MUST_CHECK;

/* Parses "10.0.0.10", "10.0.0.10:53", "fd00::10", "[fd00::10]", "[fd00::10]:53". */
bool dns_target_parse_address(struct slice text, uint16_t default_port, struct addr *ret);

/* Writes "127.0.0.1:53", "tls://127.0.0.1:853", "https://127.0.0.1:443/dns-query". Returns out. */
const char *dns_target_server(const struct dns_target *target, char out[DNS_SERVER_TEXT_MAX]);

#define DOH_MEDIA_TYPE "application/dns-message"

/* Writes a POST of HTTP/1.1 that asks for the connection's end behind the response. */
void doh_request_write(const struct dns_target *target, struct slice query, struct buf *out);

#endif
