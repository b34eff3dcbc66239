#include "skydns/serve/query_log_internal.h"

#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"

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
             LOG_STR("transport", query->transport == ENGINE_TCP ? "tcp" : "udp"),
             LOG_STR("rcode", reply_len < DNS_HEADER_SIZE
                                  ? NULL
                                  : dns_rcode_text(reply[3] & DNS_MASK_RCODE, rcode)));
}
