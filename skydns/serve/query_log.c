#include "skydns/serve/query_log_internal.h"

#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/serve/listen_socket.h"

/* Time between log lines about refused clients. */
enum { REFUSAL_PAUSE_MS = 60 * 60 * 1000 };

void query_log(const struct engine_query *query, const uint8_t *reply, size_t reply_len)
{
    if (!log_takes(LOG_LEVEL_INFO)) {
        return;
    }
    char name_text[DNAME_TEXT_MAX], client[ADDR_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    char rcode[DNS_RCODE_TEXT_MAX];
    struct dname name;
    struct reader r = reader_of(query->wire, query->len);
    reader_seek(&r, DNS_HEADER_SIZE);
    bool readable = !r.failed && dname_read(&r, &name);
    uint16_t qtype = reader_u16(&r);
    log_info("query", LOG_STR("name", readable ? dname_to_text(&name, name_text) : NULL),
             LOG_STR("type", r.failed ? NULL : dns_type_text(qtype, type)),
             LOG_STR("client", addr_format(query->client, client)),
             LOG_STR("transport", listen_transport_name(query->transport)),
             LOG_STR("rcode", reply_len < DNS_HEADER_SIZE
                                  ? NULL
                                  : dns_rcode_text(reply[3] & DNS_MASK_RCODE, rcode)));
}

void query_log_not_allowed(const struct addr *client)
{
    static _Atomic int64_t told_ms; /* 0: never */
    char text[ADDR_TEXT_MAX];
    int64_t now_ms = clock_monotonic_ms();
    int64_t before_ms = atomic_load_explicit(&told_ms, memory_order_relaxed);
    if ((before_ms == 0 || now_ms - before_ms >= REFUSAL_PAUSE_MS) &&
        atomic_compare_exchange_strong_explicit(&told_ms, &before_ms, now_ms, memory_order_relaxed,
                                                memory_order_relaxed)) {
        log_warn("refusing queries from clients outside -allow",
                 LOG_STR("client", addr_format(client, text)));
    }
}
