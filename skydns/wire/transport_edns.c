#include "skydns/wire/transport_edns.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"

enum { OPTION_KEEPALIVE = 11, OPTION_PADDING = 12 };
enum { COUNTS_AT = 4, ADDITIONAL_AT = 10, QUESTION_TAIL = 4, LABEL_MAX = 63, POINTER = 0xc0 };
enum { KEEPALIVE_SIZE = EDNS_OPTION_HEAD + 2, KEEPALIVE_UNIT_MS = 100 };

/* ---- Messages ---- */

static void skip_name(struct reader *r)
{
    uint8_t label;
    while ((label = reader_u8(r)) != 0 && !r->failed) {
        if (label >= POINTER) {
            (void)reader_u8(r);
            return;
        }
        (void)reader_take(r, label);
        r->failed = r->failed || label > LABEL_MAX;
    }
}

/* An OPT record among the additional ones. */
struct opt {
    size_t at; /* 0: there is none */
    size_t end;
};

/* The last one. None in a message that makes no sense. */
static struct opt find_opt(const uint8_t *message, size_t len)
{
    struct reader r = reader_of(message, len);
    struct opt opt = {0};
    reader_seek(&r, COUNTS_AT);
    const unsigned questions = reader_u16(&r), answers = reader_u16(&r);
    const unsigned others = answers + reader_u16(&r), records = others + reader_u16(&r);
    for (unsigned i = 0; i < questions && !r.failed; i++) {
        skip_name(&r);
        (void)reader_take(&r, QUESTION_TAIL);
    }
    for (unsigned i = 0; i < records && !r.failed; i++) {
        const size_t at = r.pos;
        skip_name(&r);
        const bool is_root = r.pos == at + 1;
        const bool is_opt = reader_u16(&r) == DNS_TYPE_OPT;
        (void)reader_take(&r, 2 + 4); /* class, TTL */
        (void)reader_take(&r, reader_u16(&r));
        if (is_opt && is_root && i >= others) {
            opt = (struct opt){at, r.pos};
        }
    }
    if (r.failed) {
        return (struct opt){0};
    }
    return opt;
}

struct transport_edns transport_edns_read(enum engine_transport transport, const uint8_t *query,
                                          size_t len)
{
    struct transport_edns edns = {0};
    if (transport != ENGINE_TLS && transport != ENGINE_HTTPS && transport != ENGINE_HTTP) {
        return edns;
    }
    if (len < DNS_HEADER_SIZE || (query[ADDITIONAL_AT] | query[ADDITIONAL_AT + 1]) == 0) {
        return edns; /* most queries: no additional record at all */
    }
    const struct opt opt = find_opt(query, len);
    if (opt.at == 0) {
        return edns;
    }
    struct reader r = reader_of(query, opt.end);
    reader_seek(&r, opt.at + EDNS_OPT_SIZE);
    while (reader_left(&r) > 0) {
        const uint16_t code = reader_u16(&r), option_len = reader_u16(&r);
        (void)reader_take(&r, option_len);
        edns.wants_padding = edns.wants_padding || (!r.failed && code == OPTION_PADDING);
        edns.wants_keepalive = edns.wants_keepalive || (!r.failed && code == OPTION_KEEPALIVE &&
                                                        option_len == 0 && transport == ENGINE_TLS);
    }
    if (r.failed) {
        return (struct transport_edns){0};
    }
    return edns;
}

/* ---- Replies ---- */

static void put_head(uint8_t *option, uint16_t code, size_t len)
{
    const uint8_t head[EDNS_OPTION_HEAD] = {[0] = (uint8_t)(code >> 8),
                                            [1] = (uint8_t)code,
                                            [2] = (uint8_t)(len >> 8),
                                            [3] = (uint8_t)len};
    memcpy(option, head, sizeof(head));
}

static void add_keepalive(struct writer *w, size_t opt_at, uint32_t idle_ms)
{
    uint8_t option[KEEPALIVE_SIZE];
    const uint32_t units = idle_ms / KEEPALIVE_UNIT_MS;
    const uint16_t timeout = units > UINT16_MAX ? UINT16_MAX : (uint16_t)units;
    put_head(option, OPTION_KEEPALIVE, sizeof(timeout));
    option[EDNS_OPTION_HEAD] = (uint8_t)(timeout >> 8);
    option[EDNS_OPTION_HEAD + 1] = (uint8_t)timeout;
    edns_append_option(w, opt_at, option, sizeof(option));
}

/* To the next multiple, or as long as a reply may be. */
static void add_padding(struct writer *w, size_t opt_at)
{
    enum { BLOCK = TRANSPORT_PADDING_BLOCK };
    uint8_t option[EDNS_OPTION_HEAD + BLOCK] = {0};
    const size_t least = w->pos + EDNS_OPTION_HEAD;
    const size_t wanted = (least + BLOCK - 1) / BLOCK * BLOCK;
    const size_t end = wanted < w->cap ? wanted : w->cap;
    if (least <= end) {
        put_head(option, OPTION_PADDING, end - least);
        edns_append_option(w, opt_at, option, end - w->pos);
    }
}

size_t transport_edns_add(const struct transport_edns *edns, uint32_t idle_ms, uint8_t *reply,
                          size_t len)
{
    if (!edns->wants_padding && !edns->wants_keepalive) {
        return len;
    }
    const struct opt opt = find_opt(reply, len);
    if (opt.at == 0 || opt.end != len) {
        return len;
    }
    struct writer w = {.data = reply, .cap = ENGINE_REPLY_MAX, .pos = len};
    if (edns->wants_keepalive && len + KEEPALIVE_SIZE <= ENGINE_REPLY_MAX) {
        add_keepalive(&w, opt.at, idle_ms);
    }
    if (edns->wants_padding) {
        add_padding(&w, opt.at);
    }
    return w.pos;
}
