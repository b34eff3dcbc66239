#include "common/grpc/grpc_frame_internal.h"

#include "common/base/cursor.h"

/* Bounds the memory that a stream holds between messages: a watch lives for weeks and must not hold
 * the size of its largest message. */
enum { KEEP_BYTES = 1 << 20 };

void grpc_frames_init(struct grpc_frames *frames, size_t message_max)
{
    *frames = (struct grpc_frames){.message_max = message_max};
    /* Messages are removed before more is pushed. So the buffer holds at most one unfinished
     * message and one DATA frame (RFC 9113: less than 16 MiB; nghttp2 delivers 16 KiB). */
    buf_init(&frames->bytes, message_max + GRPC_FRAME_HEADER + (1 << 24));
}

void grpc_frames_fini(struct grpc_frames *frames)
{
    buf_fini(&frames->bytes);
}

void grpc_frames_push(struct grpc_frames *frames, struct slice chunk)
{
    buf_append_slice(&frames->bytes, chunk);
}

static void drop_consumed(struct grpc_frames *frames)
{
    if (frames->pos > 0) { /* else a message in a thousand chunks would move a thousand times */
        buf_consume(&frames->bytes, frames->pos);
        frames->pos = 0;
    }
    if (frames->bytes.len == 0 && frames->bytes.cap > KEEP_BYTES) {
        buf_fini(&frames->bytes);
    }
}

int grpc_frames_next(struct grpc_frames *frames, struct slice *ret_message, struct err *err)
{
    struct reader r = reader_of(frames->bytes.data, frames->bytes.len);
    r.pos = frames->pos;
    uint8_t flag = reader_u8(&r);
    bool has_flag = !r.failed;
    uint32_t len = reader_u32(&r);
    bool has_header = !r.failed;

    if (frames->bytes.failed) {
        return err_set(err, ERR_TOO_LARGE, "more than %zu bytes buffered", frames->bytes.limit);
    }
    if (has_flag && flag > 1) {
        return err_set(err, ERR_PROTOCOL, "malformed gRPC frame: flag byte %u", flag);
    }
    if (has_flag && flag == 1) {
        return err_set(err, ERR_PROTOCOL,
                       "compressed gRPC frame, though compression was not requested");
    }
    if (has_header && len > frames->message_max) {
        return err_set(err, ERR_TOO_LARGE, "message of %u bytes, at most %zu are accepted", len,
                       frames->message_max);
    }
    const uint8_t *message = has_header ? reader_take(&r, len) : NULL;
    if (!has_header || r.failed) {
        drop_consumed(frames);
        return 0;
    }
    frames->pos = r.pos;
    *ret_message = slice_of(message, len);
    return 1;
}

bool grpc_frames_is_partial(const struct grpc_frames *frames)
{
    return frames->bytes.len > frames->pos;
}

void grpc_frame_header(struct buf *out, size_t len)
{
    uint8_t header[GRPC_FRAME_HEADER];
    struct writer w = writer_of(header, sizeof(header));
    writer_u8(&w, 0); /* not compressed */
    writer_u32(&w, (uint32_t)len);
    buf_append(out, header, sizeof(header));
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *grpc_percent_decode(struct slice text, char *out, size_t out_size)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n + 1 < out_size; i++) {
        char c = text.ptr[i];
        if (c == '%' && text.len - i > 2) {
            int high = hex_digit(text.ptr[i + 1]);
            int low = hex_digit(text.ptr[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high << 4 | low);
                i += 2;
            }
        }
        out[n++] = (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
    }
    out[n] = '\0';
    return out;
}

static const struct {
    const char *text;
    int code;
} statuses[] = {
    {"success", 0},
    {"canceled", ERR_UNAVAILABLE},
    {"unknown error", ERR_UNAVAILABLE},
    {"invalid argument", ERR_REFUSED},
    {"deadline exceeded", ERR_TIMEOUT},
    {"not found", ERR_NOT_FOUND},
    {"already exists", ERR_REFUSED},
    {"permission denied", ERR_REFUSED},
    {"resource exhausted", ERR_UNAVAILABLE},
    {"failed precondition", ERR_REFUSED},
    {"aborted", ERR_UNAVAILABLE},
    {"out of range", ERR_REFUSED},
    {"not implemented", ERR_REFUSED},
    {"internal error", ERR_UNAVAILABLE},
    {"unavailable", ERR_UNAVAILABLE},
    {"data loss", ERR_UNAVAILABLE},
    {"not authenticated", ERR_REFUSED},
};

int grpc_status_parse(struct slice text)
{
    int status = 0;
    if (text.len == 0 || text.len > 2) {
        return -1;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return -1;
        }
        status = status * 10 + (text.ptr[i] - '0');
    }
    return status < (int)ARRAY_LEN(statuses) ? status : -1;
}

const char *grpc_status_text(int status)
{
    bool known = status >= 0 && status < (int)ARRAY_LEN(statuses);
    return known ? statuses[status].text : "no grpc-status";
}

int grpc_status_code(int status)
{
    bool known = status >= 0 && status < (int)ARRAY_LEN(statuses);
    return known ? statuses[status].code : ERR_PROTOCOL;
}
