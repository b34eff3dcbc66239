#include "skydns/pages/message_text_internal.h"

#include <stdio.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/wire/rr_step.h"

enum { TYPE_DNAME = 39 }; /* RFC 6672 */

static bool append_name(struct reader *r, struct buf *out)
{
    struct dname name;
    char text[DNAME_TEXT_MAX];
    if (!dname_read(r, &name)) {
        return false;
    }
    buf_append_str(out, dname_to_text(&name, text));
    return true;
}

static bool append_address(struct reader *r, uint8_t bytes, struct buf *out)
{
    struct ip ip = {.family_bytes = bytes};
    char text[INET6_ADDRSTRLEN];
    const uint8_t *data = reader_take(r, bytes);
    if (data) {
        memcpy(ip.bytes, data, bytes);
        buf_append_str(out, ip_format(&ip, text));
    }
    return data != NULL;
}

static bool append_string(struct reader *r, struct buf *out)
{
    uint8_t len = reader_u8(r);
    const uint8_t *text = reader_take(r, len);
    buf_append_char(out, '"');
    for (size_t i = 0; text && i < len; i++) {
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\') {
            buf_printf(out, "\\%03u", text[i]);
        } else {
            buf_append_char(out, (char)text[i]);
        }
    }
    buf_append_char(out, '"');
    return text != NULL;
}

static bool append_strings(struct reader *r, size_t end, struct buf *out)
{
    bool ok = append_string(r, out);
    while (ok && r->pos < end) {
        buf_append_char(out, ' ');
        ok = append_string(r, out);
    }
    return ok;
}

static bool append_numbers(struct reader *r, unsigned count, struct buf *out)
{
    for (unsigned i = 0; i < count; i++) {
        buf_printf(out, "%u ", reader_u16(r));
    }
    return !r->failed;
}

static bool append_soa(struct reader *r, struct buf *out)
{
    bool ok = append_name(r, out);
    buf_append_char(out, ' ');
    ok = ok && append_name(r, out);
    for (unsigned i = 0; i < 5; i++) {
        buf_printf(out, " %u", reader_u32(r));
    }
    return ok && !r->failed;
}

/* False: not as the type has it, or a type without a form here. */
static bool append_data(struct reader *r, uint16_t type, size_t end, struct buf *out)
{
    switch (type) {
    case DNS_TYPE_A:
        return append_address(r, 4, out);
    case DNS_TYPE_AAAA:
        return append_address(r, 16, out);
    case DNS_TYPE_CNAME:
    case DNS_TYPE_NS:
    case DNS_TYPE_PTR:
    case TYPE_DNAME:
        return append_name(r, out);
    case DNS_TYPE_MX:
        return append_numbers(r, 1, out) && append_name(r, out);
    case DNS_TYPE_SRV:
        return append_numbers(r, 3, out) && append_name(r, out);
    case DNS_TYPE_TXT:
        return append_strings(r, end, out);
    case DNS_TYPE_SOA:
        return append_soa(r, out);
    }
    return false;
}

static void append_unknown(struct reader *r, size_t len, struct buf *out)
{
    const uint8_t *data = reader_take(r, len);
    buf_printf(out, "\\# %zu%s", len, len ? " " : "");
    for (size_t i = 0; data && i < len; i++) {
        buf_printf(out, "%02x", data[i]);
    }
}

bool message_text_record(struct reader *message, struct buf *out)
{
    char type_text[DNS_TYPE_TEXT_MAX];
    struct rr_step rr;
    if (!append_name(message, out) || !rr_step_body(message, &rr)) {
        return false;
    }
    /* Without the class, which is the question's. */
    buf_printf(out, " %u %s ", rr.ttl_s, dns_type_text(rr.type, type_text));
    const size_t form_from = out->len;
    const struct reader whole = reader_of(message->data, message->pos);
    struct reader data = whole;
    reader_seek(&data, rr.data_at);
    if (!append_data(&data, rr.type, whole.len, out) || data.pos != whole.len) {
        out->len = form_from;
        data = whole;
        reader_seek(&data, rr.data_at);
        append_unknown(&data, rr.data_len, out);
    }
    return true;
}
