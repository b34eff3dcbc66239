/* Writes EDNS(0), RFC 6891, in our responses and queries: the OPT record, the options we know, and
 * the limit of a datagram. Pure; any thread. */
#ifndef SKYDNS_WIRE_EDNS_H
#define SKYDNS_WIRE_EDNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"

/* Root owner, type, class, TTL, length. */
enum { EDNS_OPT_SIZE = 11 };

/* Writes OPT. `udp_size` is what we accept ourselves; `extended_rcode` is the upper eight bits of
 * the rcode. */
static inline void edns_write_opt(uint8_t *out, uint16_t udp_size, uint8_t extended_rcode,
                                  bool dnssec_ok)
{
    const uint8_t opt[EDNS_OPT_SIZE] = {
        [2] = DNS_TYPE_OPT,   [3] = (uint8_t)(udp_size >> 8),         [4] = (uint8_t)udp_size,
        [5] = extended_rcode, [7] = dnssec_ok ? DNS_EDNS_DO >> 8 : 0,
    };
    memcpy(out, opt, sizeof(opt));
}

/* Appends OPT to a message. If it does not fit, it writes nothing and the writer fails. */
static inline void edns_append_opt(struct writer *w, uint16_t udp_size, uint8_t extended_rcode,
                                   bool dnssec_ok)
{
    uint8_t *opt = writer_take(w, EDNS_OPT_SIZE);
    if (opt) {
        edns_write_opt(opt, udp_size, extended_rcode, dnssec_ok);
    }
}

/* The options that the code knows. */
enum {
    EDNS_OPTION_NSID = 3,       /* which server it is, RFC 5001 */
    EDNS_OPTION_SUBNET = 8,     /* the client's network, RFC 7871 */
    EDNS_OPTION_COOKIE = 10,    /* RFC 7873 */
    EDNS_OPTION_KEEPALIVE = 11, /* how long an idle connection stays open, RFC 7828 */
    EDNS_OPTION_PADDING = 12,   /* hides the length of an encrypted message, RFC 7830 */
    EDNS_OPTION_STUB = 65011,   /* data 1: a server of stub zones forwards the query, as SkyDNS's */
    EDNS_OPTION_HEAD = 4,       /* code, length */
    EDNS_SUBNET_MAX = EDNS_OPTION_HEAD + 4 + 16, /* family, two prefix lengths, an IPv6 address */
    EDNS_STUB_SIZE = EDNS_OPTION_HEAD + 1,
    EDNS_COOKIE_MAX = 40, /* the client's and the server's, without the head */
};

/* Bits of the options of a query that ask for the same in its response. */
enum {
    EDNS_ASKS_COOKIE = 1,
    EDNS_ASKS_KEEPALIVE = 2,
    EDNS_ASKS_PADDING = 4,
    EDNS_ASKS_NSID = 8,
};

/* Returns the bit of an option with this code and length, else 0: a client that sends a timeout
 * itself asks for none (RFC 7828 3.2.1). */
static inline unsigned edns_asks(unsigned code, size_t len)
{
    switch (code) {
    case EDNS_OPTION_NSID:
        return EDNS_ASKS_NSID;
    case EDNS_OPTION_COOKIE:
        return EDNS_ASKS_COOKIE;
    case EDNS_OPTION_KEEPALIVE:
        return len == 0 ? EDNS_ASKS_KEEPALIVE : 0;
    case EDNS_OPTION_PADDING:
        return EDNS_ASKS_PADDING;
    default:
        return 0;
    }
}

/* Adds a whole option to the OPT record at `opt_at`, which ends the message. If it does not fit, it
 * writes nothing and the writer fails. */
static inline void edns_append_option(struct writer *w, size_t opt_at, const uint8_t *option,
                                      size_t len)
{
    uint8_t *out = writer_take(w, len);
    if (out) {
        size_t data_len = w->pos - opt_at - EDNS_OPT_SIZE;
        memcpy(out, option, len);
        w->data[opt_at + 9] = (uint8_t)(data_len >> 8);
        w->data[opt_at + 10] = (uint8_t)data_len;
    }
}

/* Reads the next option of OPT's data (RFC 6891 6.1.2), borrowed from it. Returns false when there
 * is none, or when the options do not fill the data and the reader has failed. */
static inline bool edns_option_next(struct reader *options, uint16_t *ret_code,
                                    struct slice *ret_data)
{
    if (reader_left(options) == 0) {
        return false;
    }
    *ret_code = reader_u16(options);
    size_t len = reader_u16(options);
    *ret_data = slice_of(reader_take(options, len), len);
    return !options->failed;
}

/* Extended errors (RFC 8914), each the only option of the OPT record just appended: in every
 * SERVFAIL and REFUSED of ours, and with stale answers. They have no text: the codes' names, which
 * dig prints, say it. */
enum edns_error {
    EDNS_ERROR_NONE = -1,
    EDNS_ERROR_OTHER = 0, /* a limit of ours: no room, no time, too long */
    EDNS_ERROR_STALE = 3,
    EDNS_ERROR_CACHED = 13, /* a cached failure */
    EDNS_ERROR_NOT_READY = 14,
    EDNS_ERROR_PROHIBITED = 18, /* the client may not ask this, or at all */
    EDNS_ERROR_STALE_NXDOMAIN = 19,
    EDNS_ERROR_NOT_AUTHORITATIVE = 20, /* not a name of ours, and not to be forwarded */
    EDNS_ERROR_NOT_SUPPORTED = 21,     /* a type or class that no client gets an answer for */
    EDNS_ERROR_NO_AUTHORITY = 22,      /* upstreams responded with a failure */
    EDNS_ERROR_NETWORK = 23,           /* no upstream could be reached */
};
enum { EDNS_ERROR_SIZE = EDNS_OPTION_HEAD + 2 };
static inline void edns_append_error(struct writer *w, uint16_t code)
{
    enum { OPTION_ERROR = 15 };
    uint8_t *option = writer_take(w, EDNS_ERROR_SIZE);
    if (option) {
        const uint8_t bytes[EDNS_ERROR_SIZE] = {
            [1] = OPTION_ERROR, [3] = 2, [4] = (uint8_t)(code >> 8), [5] = (uint8_t)code};
        memcpy(option, bytes, sizeof(bytes));
        option[-1] = EDNS_ERROR_SIZE; /* the record's length */
    }
}

/* Returns how long a response over UDP may be: what the client accepts, but at most `max`, which is
 * known to pass networks unfragmented; at least what RFC 1035 allows to any client. */
static inline size_t edns_udp_limit(bool has_edns, uint16_t client_size, uint16_t max)
{
    size_t limit = has_edns && client_size < max ? client_size : has_edns ? max : 0;
    return limit > DNS_UDP_SIZE ? limit : DNS_UDP_SIZE;
}

#endif
