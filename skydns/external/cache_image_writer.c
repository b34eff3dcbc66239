#include "skydns/external/cache_image_writer.h"

#include <assert.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/dns/dns.h"
#include "skydns/wire/rdata_layout.h"

/* ---- Names ---- */

/* Hashes each suffix of a name, beginning with its last label. */
static void hash_suffixes(const struct dname *name, const struct dname_labels *labels,
                          uint32_t ret_hashes[DNAME_LABELS_MAX])
{
    enum { FACTOR = 0x9e3779b1 }; /* 2^32 divided by the golden ratio, made odd */
    struct dname lower = *name;
    uint32_t hash = 0;
    dname_lower(&lower);
    for (size_t i = labels->count; i-- > 0;) {
        const uint8_t *label = lower.wire + labels->offsets[i];
        hash = (hash + seeded_hash(slice_of(label, label[0] + 1u))) * (uint32_t)FACTOR;
        ret_hashes[i] = hash;
    }
}

/* Returns whether the name written at `at` is this suffix. */
static bool is_suffix_at(const struct cache_image_writer *writer, size_t at,
                         const struct dname *name, size_t offset)
{
    struct reader r = reader_of(writer->out.data, writer->out.pos);
    struct dname there, suffix = {.len = (uint8_t)(name->len - offset)};
    memcpy(suffix.wire, name->wire + offset, suffix.len);
    r.pos = at;
    return dname_read(&r, &there) && dname_equal(&there, &suffix);
}

enum { PLACES = 4 };

/* Returns the offset at which this suffix was written before; 0: none. */
static uint16_t find_suffix(const struct cache_image_writer *writer, uint32_t hash,
                            const struct dname *name, size_t offset)
{
    for (unsigned i = 0; i < PLACES; i++) {
        unsigned place = (hash + i) % CACHED_SUFFIXES;
        uint16_t at = writer->suffixes[place].at;
        if (at != 0 && writer->suffixes[place].hash == hash &&
            is_suffix_at(writer, at, name, offset)) {
            return at;
        }
    }
    return 0;
}

static void remember_suffix(struct cache_image_writer *writer, uint32_t hash, size_t at)
{
    if (at > DNS_POINTER_MAX - SEARCH_ALIAS_SHIFT_MAX) {
        return;
    }
    for (unsigned i = 0; i < PLACES; i++) {
        unsigned place = (hash + i) % CACHED_SUFFIXES;
        if (writer->suffixes[place].at == 0) {
            writer->suffixes[place].hash = hash;
            writer->suffixes[place].at = (uint16_t)at;
            return;
        }
    }
}

static void write_compressed(struct cache_image_writer *writer, const struct dname *name)
{
    struct dname_labels labels;
    uint32_t hashes[DNAME_LABELS_MAX];
    dname_labels(name, &labels);
    hash_suffixes(name, &labels, hashes);
    size_t start = writer->out.pos, whole = labels.count; /* labels that are written out */
    uint16_t at = 0;
    for (size_t i = 0; i < labels.count && at == 0; i++) {
        at = find_suffix(writer, hashes[i], name, labels.offsets[i]);
        whole = at ? i : whole;
    }
    size_t whole_len = whole < labels.count ? labels.offsets[whole] : name->len - 1u;
    writer_bytes(&writer->out, name->wire, whole_len);
    if (at) {
        writer_u16(&writer->out, (uint16_t)(0xc000 | at));
    } else {
        writer_u8(&writer->out, 0);
    }
    for (size_t i = 0; i < whole && !writer->out.failed; i++) {
        remember_suffix(writer, hashes[i], start + labels.offsets[i]);
    }
}

/* Writes a name without compression. The part it shares with the question is in lower case: the
 * upstream may have repeated our query's capitals, which are random. */
static void write_whole(struct cache_image_writer *writer, const struct dname *name)
{
    struct dname_labels labels;
    uint32_t hashes[DNAME_LABELS_MAX];
    struct dname shown = *name;
    dname_labels(name, &labels);
    hash_suffixes(name, &labels, hashes);
    for (size_t i = 0; i < labels.count; i++) {
        uint16_t at = find_suffix(writer, hashes[i], name, labels.offsets[i]);
        if (at != 0 && at < writer->records_at) {
            memcpy(shown.wire + labels.offsets[i], writer->out.data + at,
                   (size_t)name->len - labels.offsets[i]);
            break;
        }
    }
    writer_bytes(&writer->out, shown.wire, shown.len);
}

/* ---- Data ---- */

static void cache_image_writer_copy(struct cache_image_writer *writer, struct reader *r, size_t len)
{
    const uint8_t *bytes = reader_take(r, len);
    if (bytes) {
        writer_bytes(&writer->out, bytes, len);
    }
}

static bool write_formed(struct cache_image_writer *writer, struct reader *r,
                         const struct rdata_layout *layout)
{
    cache_image_writer_copy(writer, r, layout->head);
    for (unsigned i = 0; i < layout->strings; i++) {
        size_t len = reader_left(r) ? r->data[r->pos] : 0;
        cache_image_writer_copy(writer, r, len + 1);
    }
    for (unsigned i = 0; i < layout->names; i++) {
        struct dname name;
        if (!dname_read(r, &name)) {
            return false;
        }
        if (layout->is_compressible) {
            write_compressed(writer, &name);
        } else {
            write_whole(writer, &name);
        }
    }
    cache_image_writer_copy(writer, r,
                            layout->rest == RDATA_REST_ANY ? reader_left(r) : layout->rest);
    return !r->failed && reader_left(r) == 0;
}

static bool is_address_sound(const struct response_rr *rr)
{
    return rr->rr_class != DNS_CLASS_IN || (rr->type != DNS_TYPE_A && rr->type != DNS_TYPE_AAAA) ||
           rr->data_len == (rr->type == DNS_TYPE_A ? 4 : 16);
}

static bool cache_image_writer_write_data(struct cache_image_writer *writer,
                                          const struct parsed_response *response,
                                          const struct response_rr *rr)
{
    struct reader r = reader_of(response->bytes, (size_t)rr->data_at + rr->data_len);
    const struct rdata_layout *layout = rdata_layout_of(rr->type);
    r.pos = rr->data_at;
    if (layout->names > 0) {
        return write_formed(writer, &r, layout);
    }
    cache_image_writer_copy(writer, &r, rr->data_len);
    return is_address_sound(rr);
}

/* Writes an owner: in thousands of records it is that of the one before. */
static void write_cached_owner(struct cache_image_writer *writer, const struct dname *owner)
{
    struct writer *out = &writer->out;
    const size_t start = out->pos;
    if (writer->owner_pointer && owner->len == writer->owner.len &&
        memcmp(owner->wire, writer->owner.wire, owner->len) == 0) {
        writer_u16(out, writer->owner_pointer);
        return;
    }
    write_compressed(writer, owner);
    /* The root has one byte, other names three at least. */
    const bool is_pointer = !out->failed && out->pos - start == 2;
    const uint8_t *written = out->data + start;
    writer->owner_pointer = is_pointer ? (uint16_t)(written[0] << 8 | written[1]) : 0;
    writer->owner = *owner;
}

size_t cache_image_writer_put(struct cache_image_writer *writer,
                              const struct parsed_response *response, const struct response_rr *rr,
                              const struct dname *owner, uint32_t ttl_s, bool *ret_is_sound)
{
    struct writer *out = &writer->out;
    size_t start = out->pos;
    write_cached_owner(writer, owner);
    writer_u16(out, rr->type);
    writer_u16(out, rr->rr_class);
    writer_u32(out, ttl_s);
    size_t len_at = out->pos;
    writer_u16(out, 0);
    *ret_is_sound = cache_image_writer_write_data(writer, response, rr);
    if (!out->failed) {
        struct writer len = writer_of(out->data + len_at, sizeof(uint16_t));
        writer_u16(&len, (uint16_t)(out->pos - len_at - sizeof(uint16_t)));
    }
    return start;
}

void cache_image_writer_init(struct cache_image_writer *writer, const struct dname *name,
                             const struct response_start *start, uint8_t *image, size_t size)
{
    assert(start->records_at <= size);
    *writer =
        (struct cache_image_writer){.out = writer_of(image, size), .records_at = start->records_at};
    writer->out.pos = start->name_at;
    write_compressed(writer, name);
    writer->out.pos = start->records_at;
}
