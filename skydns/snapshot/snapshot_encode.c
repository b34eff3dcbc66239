#include "skydns/snapshot/snapshot_encode_internal.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/records/store_loader.h"
#include "skydns/snapshot/snapshot_format_internal.h"

struct encoder {
    snapshot_sink sink;
    void *data;
    XXH3_state_t *checksum;
    struct buf piece;  /* not yet with the sink */
    struct dname name; /* of the record before */
    struct dname_labels labels;
    uint64_t records;
    uint32_t now_s;
    int result; /* not 0: the sink's */
};

static void snapshot_encode_emit(struct encoder *e, struct slice bytes)
{
    for (size_t done = 0; done < bytes.len && e->result == 0;) {
        size_t left = bytes.len - done;
        struct slice piece =
            slice_of(bytes.ptr + done, left < SNAPSHOT_PIECE_MAX ? left : SNAPSHOT_PIECE_MAX);
        (void)XXH3_64bits_update(e->checksum, piece.ptr, piece.len); /* fails on NULL alone */
        e->result = e->sink(e->data, piece);
        done += piece.len;
    }
}

static void emit_piece(struct encoder *e)
{
    assert(!e->piece.failed);
    snapshot_encode_emit(e, buf_slice(&e->piece));
    buf_clear(&e->piece);
}

/* ---- What comes before the records ---- */

static void put_header(struct encoder *e, uint32_t format, const struct snapshot_header *header)
{
    struct buf fields;
    buf_init(&fields, SNAPSHOT_HEADER_MAX);
    buf_append_sized(&fields, slice_str(header->version));
    buf_append_sized(&fields, slice_str(header->prefix));
    buf_append_sized(&fields, slice_of(header->domain.wire, header->domain.len));
    buf_append_u8(&fields, header->schema);
    buf_append_u64(&fields, (uint64_t)header->revision);
    buf_append_u64(&fields, (uint64_t)header->heard_ms);
    assert(!fields.failed);

    buf_append(&e->piece, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_LEN);
    buf_append_u32(&e->piece, format);
    buf_append_sized(&e->piece, buf_slice(&fields));
    buf_fini(&fields);
}

static void put_section(struct encoder *e, const struct buf *section)
{
    buf_append_u32(&e->piece, (uint32_t)section->len);
    emit_piece(e);
    snapshot_encode_emit(e, buf_slice(section));
}

/* ---- Records ---- */

/* Returns how many bytes at the end are labels of both, the root included. */
static uint8_t shared_len(const struct dname *a, const struct dname_labels *a_labels,
                          const struct dname *b, const struct dname_labels *b_labels)
{
    uint8_t shared = 1;
    for (unsigned i = 1; i <= a_labels->count && i <= b_labels->count; i++) {
        struct slice label = dname_label(a, a_labels->offsets[a_labels->count - i]);
        if (!slice_equal(label, dname_label(b, b_labels->offsets[b_labels->count - i]))) {
            break;
        }
        shared += (uint8_t)(1 + label.len);
    }
    return shared;
}

static void snapshot_encode_put_name(struct encoder *e, const struct store_record *record)
{
    struct dname name;
    struct dname_labels labels;
    store_record_name(record, &name);
    dname_labels(&name, &labels);
    uint8_t shared = shared_len(&name, &labels, &e->name, &e->labels);
    uint8_t own = (uint8_t)(name.len - shared);
    buf_append_u8(&e->piece, shared);
    buf_append_u8(&e->piece, own);
    buf_append(&e->piece, name.wire, own);
    e->name = name;
    e->labels = labels;
}

static uint16_t fields_of(const struct store_saved *saved)
{
    unsigned fields = saved->host & SNAPSHOT_HOST;
    const struct record *record = &saved->record;
    fields |= record->mail ? SNAPSHOT_MAIL : 0;
    fields |= record->is_leased ? SNAPSHOT_LEASED : 0;
    fields |= record->ttl_s ? SNAPSHOT_TTL : 0;
    fields |= record->port ? SNAPSHOT_PORT : 0;
    fields |= record->priority ? SNAPSHOT_PRIORITY : 0;
    fields |= record->weight ? SNAPSHOT_WEIGHT : 0;
    fields |= record->targetstrip ? SNAPSHOT_TARGETSTRIP : 0;
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        fields |= record->strings[i].len ? snapshot_string(i) : 0;
    }
    return (uint16_t)fields;
}

static void snapshot_encode_put_number(struct buf *out, uint16_t number)
{
    if (number) {
        buf_append_u16(out, number);
    }
}

static void put_saved(struct encoder *e, const struct store_saved *saved)
{
    struct buf *out = &e->piece;
    const struct record *record = &saved->record;
    buf_append_u16(out, fields_of(saved));
    buf_append_u64(out, (uint64_t)saved->mod_revision);
    buf_append_u32(out, e->now_s > saved->known_s ? e->now_s - saved->known_s : 0);
    if (record->ttl_s) {
        buf_append_u32(out, record->ttl_s);
    }
    snapshot_encode_put_number(out, record->port);
    snapshot_encode_put_number(out, record->priority);
    snapshot_encode_put_number(out, record->weight);
    snapshot_encode_put_number(out, record->targetstrip);
    if (saved->host_bytes.len > 0) {
        buf_append_u8(out, (uint8_t)saved->host_bytes.len);
        buf_append_slice(out, saved->host_bytes);
    }
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        snapshot_encode_put_number(out, (uint16_t)record->strings[i].len);
        buf_append_slice(out, record->strings[i]);
    }
}

/* Writes the block's length in front, where snapshot_encode_put_record has left room for it. */
static void end_block(struct encoder *e)
{
    if (e->piece.len > 0) {
        struct writer len = writer_of(e->piece.data, sizeof(uint32_t));
        writer_u32(&len, (uint32_t)(e->piece.len - sizeof(uint32_t)));
        emit_piece(e);
    }
}

static size_t record_max(const struct store_saved *saved)
{
    size_t most = SNAPSHOT_RECORD_MAX;
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        most -= UINT16_MAX - saved->record.strings[i].len;
    }
    return most;
}

/* Encodes a record. Once the sink has refused a piece, neither the record nor the store may be
 * there any more. */
static bool snapshot_encode_put_record(void *data, const struct store_record *record)
{
    struct encoder *e = data;
    struct store_saved saved = store_record_saved(record);
    if (e->piece.len + record_max(&saved) > SNAPSHOT_PIECE_MAX) {
        end_block(e);
        if (e->result != 0) {
            return false;
        }
    }
    if (e->piece.len == 0) {
        buf_append_u32(&e->piece, 0);
    }
    snapshot_encode_put_name(e, record);
    put_saved(e, &saved);
    e->records++;
    return true;
}

/* ---- The whole ---- */

static void put_end(struct encoder *e)
{
    buf_append_u32(&e->piece, 0);
    buf_append_u64(&e->piece, e->records);
    emit_piece(e);
    buf_append_u64(&e->piece, XXH3_64bits_digest(e->checksum));
    emit_piece(e);
}

/* Returns the oldest format that has room for the content. */
static unsigned format_of(const struct snapshot_image *image)
{
    unsigned format = SNAPSHOT_FORMAT;
    while (format > SNAPSHOT_FORMAT_OLD &&
           image->sections[snapshot_sections_of(format) - 1].len == 0) {
        format--;
    }
    return format;
}

static void snapshot_encode_parts(struct encoder *e, const struct snapshot_image *image)
{
    unsigned format = format_of(image);
    size_t sections = snapshot_sections_of(format);
    put_header(e, format, &image->header);
    for (size_t i = 0; i < sections; i++) {
        put_section(e, &image->sections[i]);
    }
    if (e->result == 0 && store_each_record(image->store, snapshot_encode_put_record, e)) {
        end_block(e);
        put_end(e);
    }
}

int snapshot_encode(const struct snapshot_image *image, uint32_t now_s, snapshot_sink sink,
                    void *data)
{
    struct encoder e = {
        .sink = sink, .data = data, .checksum = XXH3_createState(), .name.len = 1, .now_s = now_s};
    if (!e.checksum) {
        xalloc_out_of_memory();
    }
    (void)XXH3_64bits_reset(e.checksum); /* fails on NULL alone */
    buf_init(&e.piece, SNAPSHOT_PIECE_MAX);
    snapshot_encode_parts(&e, image);
    buf_fini(&e.piece);
    (void)XXH3_freeState(e.checksum);
    return e.result;
}

/* ---- The image ---- */

void snapshot_image_init(struct snapshot_image *image)
{
    *image = (struct snapshot_image){.store = NULL};
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_init(&image->sections[i], SNAPSHOT_SECTION_MAX);
    }
}

void snapshot_image_fini(struct snapshot_image *image)
{
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_fini(&image->sections[i]);
    }
}
