#include "skydns/wire/rr_text.h"

#include <string.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dns_names.h"
#include "skydns/wire/encode.h"
#include "skydns/wire/rr_step.h"

static const char *text_form(unsigned type)
{
    switch (type) {
#define TEXT_FORM_CASE(name, number, shape, answer, text) \
    case number:                                          \
        return text;
        RR_TYPES(TEXT_FORM_CASE)
        RR_OTHER_TYPES(TEXT_FORM_CASE)
#undef TEXT_FORM_CASE
    }
    return "";
}

/* ---- Fields; false: the data do not have this form ---- */

static bool rr_text_append_name(struct reader *r, struct buf *out)
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

static bool rr_text_append_quoted(struct reader *r, size_t len, struct buf *out)
{
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

static bool append_word(struct reader *r, struct buf *out)
{
    const size_t len = reader_u8(r);
    const uint8_t *word = reader_take(r, len);
    for (size_t i = 0; word && i < len; i++) {
        const uint8_t c = ascii_lower(word[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
            return false;
        }
        buf_append_char(out, (char)word[i]);
    }
    return word && len > 0;
}

static bool append_hex(struct reader *r, struct buf *out)
{
    const size_t len = reader_left(r);
    const uint8_t *data = reader_take(r, len);
    for (size_t i = 0; data && i < len; i++) {
        buf_printf(out, "%02x", data[i]);
    }
    return len > 0;
}

static bool append_number(struct reader *r, uint32_t number, struct buf *out)
{
    buf_printf(out, "%u", number);
    return !r->failed;
}

static bool append_field(struct reader *r, char form, struct buf *out)
{
    switch (form) {
    case '4':
        return append_address(r, 4, out);
    case '6':
        return append_address(r, 16, out);
    case 'n':
        return rr_text_append_name(r, out);
    case 'b':
        return append_number(r, reader_u8(r), out);
    case 'h':
        return append_number(r, reader_u16(r), out);
    case 'w':
        return append_number(r, reader_u32(r), out);
    case 's':
    case 'S':
        return rr_text_append_quoted(r, reader_u8(r), out);
    case 't':
        return append_word(r, out);
    case 'q':
        return rr_text_append_quoted(r, reader_left(r), out);
    default: /* x */
        return append_hex(r, out);
    }
}

/* ---- Records ---- */

static bool append_fields(struct reader *r, const char *form, struct buf *out)
{
    bool is_so = *form != '\0';
    while (is_so && *form) {
        is_so = append_field(r, *form, out);
        form += *form != 'S' || reader_left(r) == 0;
        buf_append_str(out, *form ? " " : "");
    }
    return is_so && reader_left(r) == 0;
}

/* Appends the rdata, which go to the end of the reader's bytes. */
static void rr_text_append_data(const struct reader *data, unsigned type, struct buf *out)
{
    const size_t start = out->len;
    struct reader r = *data;
    if (!append_fields(&r, text_form(type), out)) {
        out->len = start;
        r = *data;
        buf_printf(out, "\\# %zu%s", reader_left(&r), reader_left(&r) ? " " : "");
        (void)append_hex(&r, out);
    }
}

static void append_head(uint32_t ttl_s, uint16_t type, struct buf *out)
{
    char text[DNS_TYPE_TEXT_MAX];
    buf_printf(out, " %u %s ", ttl_s, dns_type_text(type, text));
}

void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out)
{
    /* The longest text, and the lengths of its strings. */
    enum { DATA_MAX = 65536 + 65536 / DNS_CHARACTER_STRING + 1 };
    CLEANUP_FREE uint8_t *bytes = xmalloc(DATA_MAX);
    struct writer w = writer_of(bytes, DATA_MAX);
    struct reader owner = reader_of(rr->owner.ptr, rr->owner.len);
    rr_data_write(rr, soa, &w);
    (void)rr_text_append_name(&owner, out);
    append_head(rr->ttl_s, (uint16_t)rr->type, out);
    const struct reader data = reader_of(bytes, w.pos);
    rr_text_append_data(&data, rr->type, out);
}

void rr_text_packed(uint16_t type, struct slice data, struct buf *out)
{
    char text[DNS_TYPE_TEXT_MAX];
    const struct reader r = reader_of(data.ptr, data.len);
    buf_printf(out, "%s ", dns_type_text(type, text));
    rr_text_append_data(&r, type, out);
}

bool rr_text_read(struct reader *message, struct buf *out)
{
    struct rr_step rr;
    if (!rr_text_append_name(message, out) || !rr_step_body(message, &rr)) {
        return false;
    }
    append_head(rr.ttl_s, rr.type, out);
    struct reader data = reader_of(message->data, message->pos);
    reader_seek(&data, rr.data_at);
    rr_text_append_data(&data, rr.type, out);
    return true;
}
