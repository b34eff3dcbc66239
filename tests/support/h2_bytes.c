#include "tests/support/h2_bytes.h"

#include "tests/support/unit_test.h"

enum { FRAME_HEADER = 9 };

void h2_frame(struct buf *out, enum h2_type type, unsigned flags, uint32_t stream,
              struct slice payload)
{
    uint8_t header[FRAME_HEADER];
    struct writer w = writer_of(header, sizeof(header));
    writer_u8(&w, (uint8_t)(payload.len >> 16));
    writer_u16(&w, (uint16_t)payload.len);
    writer_u8(&w, (uint8_t)type);
    writer_u8(&w, (uint8_t)flags);
    writer_u32(&w, stream);
    buf_append(out, header, sizeof(header));
    buf_append_slice(out, payload);
}

/* RFC 7541 5.1, behind a bit that says that the text is not compressed. */
static void append_length(struct buf *out, size_t len)
{
    if (len < 127) {
        buf_append_char(out, (char)len);
        return;
    }
    buf_append_char(out, 127);
    for (len -= 127; len >= 128; len /= 128) {
        buf_append_char(out, (char)(128 + len % 128));
    }
    buf_append_char(out, (char)len);
}

void h2_header_block(struct buf *out, const char *lines)
{
    for (const char *line = lines; *line;) {
        size_t len = strcspn(line, "\n");
        const char *value = strstr(line + 1, ": ") + 2; /* after the colon of ":status" */
        size_t name_len = (size_t)(value - line) - 2;
        size_t value_len = len - name_len - 2;
        assert_in_range(name_len, 1, 126);
        buf_append_char(out, 0);
        buf_append_char(out, (char)name_len);
        buf_append(out, line, name_len);
        append_length(out, value_len);
        buf_append(out, value, value_len);
        line += len + (line[len] == '\n');
    }
}

void h2_headers(struct buf *out, unsigned flags, uint32_t stream, const char *lines)
{
    CLEANUP_BUF struct buf block = buf_of(1 << 20);
    h2_header_block(&block, lines);
    h2_frame(out, H2_HEADERS, flags | H2_END_HEADERS, stream, buf_slice(&block));
}

bool h2_next_frame(struct reader *r, struct h2_frame_view *ret)
{
    struct reader next = *r;
    size_t len = (size_t)reader_u8(&next) << 16;
    len |= reader_u16(&next);
    ret->type = reader_u8(&next);
    ret->flags = reader_u8(&next);
    ret->stream = reader_u32(&next);
    const uint8_t *payload = next.failed ? NULL : reader_take(&next, len);
    if (next.failed) {
        return false;
    }
    ret->payload = slice_of(payload, len);
    *r = next;
    return true;
}
