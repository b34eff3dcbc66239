#include "skydns/serve/query_log_internal.h"

#include <stdio.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "skydns/answer/rr_text.h"

enum { HEADER_LEN = 12, SHORT_TEXT_MAX = sizeof("RCODE255") };

static const char *rcode_text(uint8_t rcode, char out[SHORT_TEXT_MAX])
{
    static const char *const names[] = {"NOERROR",  "FORMERR", "SERVFAIL",
                                        "NXDOMAIN", "NOTIMP",  "REFUSED"};
    if (rcode < ARRAY_LEN(names)) {
        return names[rcode];
    }
    (void)snprintf(out, SHORT_TEXT_MAX, "RCODE%u", rcode); /* always fits */
    return out;
}

void query_log(const struct engine_query *query, const uint8_t *reply, size_t reply_len)
{
    char name_text[DNAME_TEXT_MAX], client[ADDR_TEXT_MAX], type[RR_TYPE_TEXT_MAX];
    char rcode[SHORT_TEXT_MAX];
    struct dname name;
    struct reader r = reader_of(query->wire, query->len);
    reader_seek(&r, HEADER_LEN);
    bool readable = !r.failed && dname_read(&r, &name);
    uint16_t qtype = reader_u16(&r);
    log_info("query", LOG_STR("name", readable ? dname_to_text(&name, name_text) : NULL),
             LOG_STR("type", r.failed ? NULL : rr_type_text(qtype, type)),
             LOG_STR("client", addr_format(query->client, client)),
             LOG_STR("transport", query->transport == ENGINE_TCP ? "tcp" : "udp"),
             LOG_STR("rcode", reply_len < HEADER_LEN ? NULL : rcode_text(reply[3] & 0xf, rcode)));
}
