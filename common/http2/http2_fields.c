#include "common/http2/http2_fields_internal.h"

#include <malloc.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

enum {
    FIELD_OVERHEAD = 32,    /* what each counts besides its bytes (RFC 9113 6.5.2) */
    LENGTH_DIGITS_MAX = 18, /* for a content-length: fits 64 bits */
};

/* ---- Memory of the table ---- */

struct http2_fields {
    nghttp2_hd_inflater *inflater;
    nghttp2_mem mem; /* borrowed by the inflater */
    size_t held;     /* by the inflater */
    size_t idle;     /* of that, with an empty table */
};

static void *http2_fields_counted(struct http2_fields *fields, void *ptr)
{
    fields->held += malloc_usable_size(ptr);
    return ptr;
}

static void *http2_fields_mem_malloc(size_t size, void *data)
{
    return http2_fields_counted(data, xmalloc(size));
}

static void http2_fields_mem_free(void *ptr, void *data)
{
    ((struct http2_fields *)data)->held -= malloc_usable_size(ptr);
    free(ptr);
}

static void *http2_fields_mem_calloc(size_t count, size_t size, void *data)
{
    return http2_fields_counted(data, xcalloc(count, size));
}

static void *http2_fields_mem_realloc(void *ptr, size_t size, void *data)
{
    ((struct http2_fields *)data)->held -= malloc_usable_size(ptr);
    return http2_fields_counted(data, xrealloc(ptr, size));
}

struct http2_fields *http2_fields_new(void)
{
    struct http2_fields *fields = xcalloc(1, sizeof(*fields));
    fields->mem = (nghttp2_mem){fields, http2_fields_mem_malloc, http2_fields_mem_free,
                                http2_fields_mem_calloc, http2_fields_mem_realloc};
    if (nghttp2_hd_inflate_new2(&fields->inflater, &fields->mem) != 0) {
        xalloc_out_of_memory();
    }
    fields->idle = fields->held;
    return fields;
}

void http2_fields_free(struct http2_fields *fields)
{
    if (fields) {
        nghttp2_hd_inflate_del(fields->inflater);
        free(fields);
    }
}

size_t http2_fields_memory(const struct http2_fields *fields)
{
    return fields->held - fields->idle;
}

/* ---- Fields of requests ---- */

struct block {
    struct http2_head *head; /* NULL: trailers */
    char *text;
    size_t text_len;
    size_t list_size; /* as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    bool has_scheme, has_regular, is_malformed;
};

static bool http2_fields_is(struct slice name, const char *literal, size_t len)
{
    return memcmp(name.ptr, literal, len) == 0;
}
#define IS(name, literal) http2_fields_is(name, literal, sizeof(literal) - 1)

/* Stores the first field of its name; later ones are ignored. */
static void http2_fields_keep(struct block *b, struct slice *field, struct slice value)
{
    if (!field->ptr) {
        *field = slice_of(b->text + b->text_len, value.len);
        memcpy(b->text + b->text_len, value.ptr, value.len);
        b->text_len += value.len;
    }
}

static void keep_once(struct block *b, struct slice *field, struct slice value)
{
    b->is_malformed |= field->ptr != NULL || value.len == 0;
    http2_fields_keep(b, field, value);
}

static void pseudo_field(struct block *b, struct slice name, struct slice value)
{
    b->is_malformed |= b->has_regular || !b->head;
    if (b->is_malformed) {
        return;
    }
    if (name.len == 5 && IS(name, ":path")) {
        keep_once(b, &b->head->path, value);
    } else if (name.len == 7 && IS(name, ":method")) {
        keep_once(b, &b->head->method, value);
    } else if (name.len == 7 && IS(name, ":scheme")) {
        b->is_malformed |= b->has_scheme;
        b->has_scheme = true;
    } else if (name.len != 10 || !IS(name, ":authority")) {
        b->is_malformed = true;
    }
}

static void content_length(struct block *b, struct slice value)
{
    uint64_t length = 0;
    b->is_malformed |= value.len == 0 || value.len > LENGTH_DIGITS_MAX;
    for (size_t i = 0; i < value.len; i++) {
        b->is_malformed |= value.ptr[i] < '0' || value.ptr[i] > '9';
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    b->is_malformed |= b->head->has_content_length && b->head->content_length != length;
    b->head->content_length = length;
    b->head->has_content_length = true;
}

static bool is_hop_by_hop(struct slice name)
{
    switch (name.len) {
    case 7:
        return IS(name, "upgrade");
    case 10:
        return IS(name, "connection") || IS(name, "keep-alive");
    case 16:
        return IS(name, "proxy-connection");
    case 17:
        return IS(name, "transfer-encoding");
    default:
        return false;
    }
}

static void regular_field(struct block *b, struct slice name, struct slice value)
{
    b->has_regular = true;
    if (name.len == 12 && IS(name, "content-type")) {
        if (b->head) {
            http2_fields_keep(b, &b->head->content_type, value);
        }
    } else if (name.len == 14 && IS(name, "content-length")) {
        if (b->head) {
            content_length(b, value);
        }
    } else if (name.len == 2 && IS(name, "te")) {
        b->is_malformed |= value.len != 8 || !IS(value, "trailers");
    } else {
        b->is_malformed |=
            is_hop_by_hop(name) || !nghttp2_check_header_name((const uint8_t *)name.ptr, name.len);
    }
}

static bool has_control(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101U, highs = ones * 0x80, del = ones * 0x7f;
    uint64_t below_space = (word - ones * 0x20) & ~word;
    uint64_t is_del = ((word ^ del) - ones) & ~(word ^ del);
    return ((below_space | is_del) & highs) != 0;
}

/* Recognizes most values quickly: eight visible bytes or more, taken eight at a time, the last of
 * them twice. */
static bool http2_fields_is_plain(struct slice value)
{
    uint64_t word;
    if (value.len < sizeof(word)) {
        return false;
    }
    for (size_t i = 0; i + sizeof(word) < value.len; i += sizeof(word)) {
        memcpy(&word, value.ptr + i, sizeof(word));
        if (has_control(word)) {
            return false;
        }
    }
    memcpy(&word, value.ptr + value.len - sizeof(word), sizeof(word));
    return !has_control(word) && value.ptr[0] != ' ' && value.ptr[value.len - 1] != ' ';
}

static void http2_fields_field(struct block *b, const nghttp2_nv *nv)
{
    struct slice name = slice_of(nv->name, nv->namelen);
    struct slice value = slice_of(nv->value, nv->valuelen);
    b->list_size += name.len + value.len + FIELD_OVERHEAD;
    if (b->list_size > HTTP2_HEADERS_MAX) {
        return;
    }
    if (name.len == 0 || (!http2_fields_is_plain(value) &&
                          !nghttp2_check_header_value_rfc9113(nv->value, value.len))) {
        b->is_malformed = true;
    } else if (name.ptr[0] == ':') {
        pseudo_field(b, name, value);
    } else {
        regular_field(b, name, value);
    }
}

static enum http2_head_result http2_fields_decompress(struct http2_fields *fields,
                                                      struct slice block, struct block *b)
{
    const uint8_t *bytes = (const uint8_t *)block.ptr;
    size_t left = block.len;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(fields->inflater, &nv, &flags, bytes, left, 1);
        if (n < 0) {
            return HTTP2_HEAD_BROKEN;
        }
        bytes += n;
        left -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            http2_fields_field(b, &nv);
        }
        if (b->list_size > HTTP2_HEADERS_FLOOD) {
            return HTTP2_HEAD_FLOOD;
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL) {
            (void)nghttp2_hd_inflate_end_headers(fields->inflater); /* always 0 */
            return HTTP2_HEAD_FINE;
        }
    }
}

static bool http2_fields_is_complete(const struct http2_head *head, const struct block *b)
{
    if (head->method.len == 7 && IS(head->method, "CONNECT")) {
        return !head->path.ptr && !b->has_scheme;
    }
    return head->method.ptr && head->path.ptr && b->has_scheme;
}

enum http2_head_result http2_fields_request(struct http2_fields *fields, struct slice block,
                                            char *text, struct http2_head *ret)
{
    struct block b = {.head = ret, .text = text};
    *ret = (struct http2_head){.is_too_long = false};
    enum http2_head_result result = http2_fields_decompress(fields, block, &b);
    if (result != HTTP2_HEAD_FINE) {
        return result;
    }
    ret->is_too_long = b.list_size > HTTP2_HEADERS_MAX;
    if (b.is_malformed || (!ret->is_too_long && !http2_fields_is_complete(ret, &b))) {
        return HTTP2_HEAD_MALFORMED;
    }
    return HTTP2_HEAD_FINE;
}

enum http2_head_result http2_fields_trailers(struct http2_fields *fields, struct slice block)
{
    struct block b = {.head = NULL};
    enum http2_head_result result = http2_fields_decompress(fields, block, &b);
    return result == HTTP2_HEAD_FINE && b.is_malformed ? HTTP2_HEAD_MALFORMED : result;
}

enum http2_head_result http2_fields_skip(struct http2_fields *fields, struct slice block)
{
    struct block b = {.head = NULL};
    return http2_fields_decompress(fields, block, &b);
}

/* ---- Fields of responses ---- */

/* Encodes an integer as RFC 7541 5.1 does, behind the bits of `first`. */
static void encode_integer(struct writer *out, uint8_t first, unsigned prefix_bits, size_t value)
{
    size_t prefix_max = (1U << prefix_bits) - 1;
    if (value < prefix_max) {
        writer_u8(out, (uint8_t)(first | value));
        return;
    }
    writer_u8(out, (uint8_t)(first | prefix_max));
    for (value -= prefix_max; value >= 0x80; value >>= 7) {
        writer_u8(out, (uint8_t)(0x80 | (value & 0x7f)));
    }
    writer_u8(out, (uint8_t)value);
}

static void encode_text(struct writer *out, struct slice text)
{
    encode_integer(out, 0, 7, text.len);
    writer_bytes(out, text.ptr, text.len);
}

/* Returns the index in the static table (RFC 7541 A) of a name that our responses have. */
static size_t static_index(struct slice name)
{
    switch (name.len) {
    case 5:
        return IS(name, "allow") ? 22 : 0;
    case 12:
        return IS(name, "content-type") ? 31 : 0;
    case 13:
        return IS(name, "cache-control") ? 24 : 0;
    case 14:
        return IS(name, "content-length") ? 28 : 0;
    default:
        return 0;
    }
}

static void encode_status(struct writer *out, unsigned status)
{
    enum { INDEX = 8, INDEXED = 0x80 };
    static const struct {
        unsigned status, index;
    } whole[] = {{200, 8}, {204, 9}, {206, 10}, {304, 11}, {400, 12}, {404, 13}, {500, 14}};
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        if (whole[i].status == status) {
            writer_u8(out, (uint8_t)(INDEXED | whole[i].index));
            return;
        }
    }
    const char digits[] = {(char)('0' + status / 100 % 10), (char)('0' + status / 10 % 10),
                           (char)('0' + status % 10)};
    encode_integer(out, 0, 4, INDEX);
    encode_text(out, slice_of(digits, sizeof(digits)));
}

void http2_fields_encode(struct writer *out, unsigned status, const struct http2_field *fields,
                         size_t count)
{
    if (status) {
        encode_status(out, status);
    }
    for (size_t i = 0; i < count; i++) {
        struct slice name = slice_str(fields[i].name);
        size_t index = static_index(name);
        encode_integer(out, 0, 4, index);
        if (!index) {
            encode_text(out, name);
        }
        encode_text(out, slice_str(fields[i].value));
    }
}
