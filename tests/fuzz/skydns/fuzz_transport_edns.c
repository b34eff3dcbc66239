/* Any bytes as a query, and others as its reply: what the transport adds goes behind the reply,
 * whose bytes stay as they are but for the length of OPT, and is well-formed if the reply was. The
 * first byte is the transport, the next two the query's length. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "skydns/wire/transport_edns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 3, IDLE_MS = 30000, BLOCK = TRANSPORT_PADDING_BLOCK };
enum { KEEPALIVE = 6, PADDING_CODE = 12 };

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The bytes that differ are the two of OPT's length. */
static void check_same_but_length(const uint8_t *before, const uint8_t *after, size_t len)
{
    size_t first = 0, last = len;
    while (first < len && before[first] == after[first]) {
        first++;
    }
    while (last > first && before[last - 1] == after[last - 1]) {
        last--;
    }
    check(last - first <= 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t reply[ENGINE_REPLY_MAX];
    struct reader r = reader_of(data, size);
    const enum engine_transport transport =
        (enum engine_transport)(reader_u8(&r) % ENGINE_TRANSPORTS);
    const size_t query_len = reader_u16(&r);
    const uint8_t *query = reader_take(&r, query_len);
    const size_t len = reader_left(&r);
    if (!query || len > sizeof(reply)) {
        return 0;
    }
    const uint8_t *before = data + HEAD + query_len;
    const struct transport_edns edns = transport_edns_read(transport, query, query_len);
    check(transport == ENGINE_TLS || !edns.wants_keepalive);
    check((transport != ENGINE_UDP && transport != ENGINE_TCP && transport != ENGINE_GRPC) ||
          !edns.wants_padding);
    if (len > 0) {
        memcpy(reply, before, len);
    }
    size_t now = transport_edns_add(&edns, IDLE_MS, reply, len);
    check(now >= len && now <= sizeof(reply));
    check_same_but_length(before, reply, len);
    if (now > len) {
        const size_t padding_at = len + (edns.wants_keepalive ? KEEPALIVE : 0);
        check(now == padding_at || (edns.wants_padding && reply[padding_at + 1] == PADDING_CODE));
        check(!edns.wants_padding || now % BLOCK == 0 || now + BLOCK > sizeof(reply));
        check(edns.wants_padding || now == padding_at);
    }
    return 0;
}
