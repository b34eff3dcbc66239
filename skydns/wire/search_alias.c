#include "skydns/wire/search_alias.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"

void search_alias_write(uint8_t *message, struct slice asked, struct slice name, uint16_t type,
                        uint16_t qclass)
{
    const struct response_start start = response_start_of(asked, name.len);
    struct writer w = writer_of(message, start.records_at);
    (void)writer_take(&w, DNS_HEADER_SIZE);
    writer_bytes(&w, asked.ptr, asked.len);
    writer_u16(&w, type);
    writer_u16(&w, qclass);
    writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
    writer_u16(&w, DNS_TYPE_CNAME);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, 0);
    writer_u16(&w, (uint16_t)name.len);
    assert(w.pos == start.name_at);
    writer_bytes(&w, name.ptr, name.len);
    assert(!w.failed && w.pos == start.records_at);
}

void search_alias_set_ttl(uint8_t *message, struct slice asked, uint32_t ttl_s)
{
    enum { TTL_BACK = 6 }; /* from the data: TTL and length */
    struct writer w = writer_of(message + response_start_of(asked, 0).name_at - TTL_BACK, 4);
    writer_u32(&w, ttl_s);
}
