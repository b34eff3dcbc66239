#include "skydns/engine/finish_internal.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/engine/cookie.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/query_parse.h"

enum { KEEPALIVE_SIZE = EDNS_OPTION_HEAD + 2, KEEPALIVE_UNIT_MS = 100 };

static unsigned transport_has(enum engine_transport transport)
{
    switch (transport) {
    case ENGINE_TLS:
        return EDNS_ASKS_COOKIE | EDNS_ASKS_NSID | EDNS_ASKS_KEEPALIVE | EDNS_ASKS_PADDING;
    case ENGINE_HTTPS:
    case ENGINE_HTTP:
        return EDNS_ASKS_COOKIE | EDNS_ASKS_NSID | EDNS_ASKS_PADDING;
    case ENGINE_UDP:
    case ENGINE_TCP:
    case ENGINE_GRPC:
    case ENGINE_TRANSPORTS:
        break;
    }
    return EDNS_ASKS_COOKIE | EDNS_ASKS_NSID;
}

uint8_t finish_gets(const struct engine_config *config, const struct engine_query *query)
{
    unsigned gets = query_asks(query->parsed) & transport_has(query->transport);
    if (config->cookies.count == 0) {
        gets &= ~(unsigned)EDNS_ASKS_COOKIE;
    }
    if (config->settings.nsid_len == 0) {
        gets &= ~(unsigned)EDNS_ASKS_NSID;
    }
    if (query->ends_in_tsig) {
        gets &= EDNS_ASKS_COOKIE;
    }
    return (uint8_t)gets;
}

static void put_option_head(uint8_t *option, uint16_t code, size_t len)
{
    const uint8_t head[EDNS_OPTION_HEAD] = {[0] = (uint8_t)(code >> 8),
                                            [1] = (uint8_t)code,
                                            [2] = (uint8_t)(len >> 8),
                                            [3] = (uint8_t)len};
    memcpy(option, head, sizeof(head));
}

static void append_cookie_answer(const struct cookie_secrets *secrets,
                                 const struct engine_query *query, struct writer *w, size_t opt_at)
{
    const struct ip ip = addr_ip(query->client);
    const struct cookie cookie = query_cookie(query->parsed);
    uint8_t option[COOKIE_OPTION_SIZE];
    w->cap = w->pos + sizeof(option); /* reserved */
    (void)cookie_answer(secrets, &cookie, &ip, (uint32_t)query->now_s, option);
    edns_append_option(w, opt_at, option, sizeof(option));
}

static void append_nsid(const struct engine_settings *settings, struct writer *w, size_t opt_at)
{
    uint8_t option[EDNS_OPTION_HEAD + ENGINE_NSID_MAX];
    put_option_head(option, EDNS_OPTION_NSID, settings->nsid_len);
    memcpy(option + EDNS_OPTION_HEAD, settings->nsid, settings->nsid_len);
    edns_append_option(w, opt_at, option, EDNS_OPTION_HEAD + (size_t)settings->nsid_len);
}

static void append_keepalive(struct writer *w, size_t opt_at, uint32_t idle_ms)
{
    uint8_t option[KEEPALIVE_SIZE];
    const uint32_t units = idle_ms / KEEPALIVE_UNIT_MS;
    const uint16_t timeout = units > UINT16_MAX ? UINT16_MAX : (uint16_t)units;
    put_option_head(option, EDNS_OPTION_KEEPALIVE, sizeof(timeout));
    option[EDNS_OPTION_HEAD] = (uint8_t)(timeout >> 8);
    option[EDNS_OPTION_HEAD + 1] = (uint8_t)timeout;
    edns_append_option(w, opt_at, option, sizeof(option));
}

/* Pads to the next multiple, or to the longest response allowed. */
static void append_padding(struct writer *w, size_t opt_at)
{
    enum { BLOCK = FINISH_PADDING_BLOCK };
    uint8_t option[EDNS_OPTION_HEAD + BLOCK] = {0};
    const size_t least = w->pos + EDNS_OPTION_HEAD;
    const size_t wanted = (least + BLOCK - 1) / BLOCK * BLOCK;
    const size_t end = wanted < w->cap ? wanted : w->cap;
    if (least <= end) {
        put_option_head(option, EDNS_OPTION_PADDING, end - least);
        edns_append_option(w, opt_at, option, end - w->pos);
    }
}

void finish_options(const struct engine_config *config, const struct engine_query *query,
                    struct response *response)
{
    const size_t opt_at = response->opt_at;
    struct writer w = writer_of(response->bytes, ENGINE_REPLY_MAX);
    w.pos = response->len;
    assert(opt_at > 0 && opt_at + EDNS_OPT_SIZE <= response->len);
    if (query->gets & EDNS_ASKS_COOKIE) {
        append_cookie_answer(&config->cookies, query, &w, opt_at);
        w.cap = ENGINE_REPLY_MAX; /* for all transports of the other options */
    }
    if (query->gets & EDNS_ASKS_NSID) { /* reserved, too */
        append_nsid(&config->settings, &w, opt_at);
    }
    if (query->gets & EDNS_ASKS_KEEPALIVE && w.pos + KEEPALIVE_SIZE <= w.cap) {
        append_keepalive(&w, opt_at, query->idle_ms);
    }
    if (query->gets & EDNS_ASKS_PADDING) {
        append_padding(&w, opt_at);
    }
    assert(!w.failed);
    response->len = w.pos;
}

/* The longest response that 512 bytes must hold. */
enum { RESPONSE_LEAST = DNS_HEADER_SIZE + DNAME_MAX + 4 + EDNS_OPT_SIZE + COOKIE_OPTION_SIZE };
_Static_assert((int)RESPONSE_LEAST + (int)TSIG_KNOWN_MAX <= (int)DNS_UDP_SIZE,
               "any response can be signed with a known key");
_Static_assert((int)RESPONSE_LEAST + EDNS_OPTION_HEAD + (int)ENGINE_NSID_MAX <= (int)DNS_UDP_SIZE,
               "any response has room for an NSID");

void finish_tsig(const struct tsig_query *tsig, const struct engine_query *query,
                 struct response *response)
{
    const size_t size = tsig_reply_size(tsig);
    const bool fits =
        tsig->key || query->transport != ENGINE_UDP || response->len + size <= DNS_UDP_SIZE;
    if (response->len > 0 && fits) {
        response->len =
            tsig_sign(tsig, NULL, 0, query->now_s, response->bytes, response->len, NULL, NULL);
    }
}
