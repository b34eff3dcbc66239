#include "skydns/snapshot/snapshot_decode_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/records/store_loader.h"
#include "skydns/snapshot/snapshot_format_internal.h"

struct decoder {
    const struct snapshot_source *source;
    XXH3_state_t *checksum;
    size_t taken; /* bytes */
    struct err *err;

    struct snapshot_content content;
    struct store_loader *loader;
    uint32_t now_s;
    uint64_t since_s; /* etcd was last heard from */

    struct dname name; /* of the record before */
};

static int snapshot_decode_fail_damaged(struct decoder *d, const char *what)
{
    return err_set(d->err, ERR_SYNTAX, "damaged before byte %zu: %s", d->taken, what);
}

/* ---- Bytes ---- */

/* Reads exactly these bytes, and adds them to the checksum. */
static int snapshot_decode_read_bytes(struct decoder *d, void *bytes, size_t len)
{
    uint8_t *to = bytes;
    for (size_t got = 0; got < len;) {
        int64_t n = d->source->read(d->source->data, to + got, len - got);
        if (n < 0) {
            return err_set(d->err, (int)n, "%s", err_code_text((int)n));
        }
        if (n == 0) {
            return d->taken + got == 0
                       ? err_set(d->err, ERR_SYNTAX, "empty")
                       : err_set(d->err, ERR_SYNTAX, "cut off after %zu bytes", d->taken + got);
        }
        got += (size_t)n;
    }
    (void)XXH3_64bits_update(d->checksum, bytes, len); /* fails on NULL alone */
    d->taken += len;
    return 0;
}

static int take_u32(struct decoder *d, uint32_t *ret)
{
    uint8_t bytes[sizeof(*ret)];
    int r = snapshot_decode_read_bytes(d, bytes, sizeof(bytes));
    if (r == 0) {
        struct reader reader = reader_of(bytes, sizeof(bytes));
        *ret = reader_u32(&reader);
    }
    return r;
}

static int take_u64(struct decoder *d, uint64_t *ret)
{
    uint8_t bytes[sizeof(*ret)];
    int r = snapshot_decode_read_bytes(d, bytes, sizeof(bytes));
    if (r == 0) {
        struct reader reader = reader_of(bytes, sizeof(bytes));
        *ret = reader_u64(&reader);
    }
    return r;
}

/* ---- What comes before the records ---- */

static int read_format(struct decoder *d, size_t *ret_sections)
{
    char magic[SNAPSHOT_MAGIC_LEN];
    uint32_t format = 0;
    int r = snapshot_decode_read_bytes(d, magic, sizeof(magic));
    if (r == 0 && memcmp(magic, SNAPSHOT_MAGIC, sizeof(magic)) != 0) {
        r = err_set(d->err, ERR_SYNTAX, "not a snapshot");
    }
    r = r ? r : take_u32(d, &format);
    bool is_known = format >= SNAPSHOT_FORMAT_OLD && format <= SNAPSHOT_FORMAT;
    *ret_sections = is_known ? snapshot_sections_of(format) : 0;
    if (r == 0 && !is_known) {
        r = err_set(d->err, ERR_SYNTAX, "format %" PRIu32 ", this program reads %d to %d", format,
                    SNAPSHOT_FORMAT_OLD, SNAPSHOT_FORMAT);
    }
    return r;
}

static bool snapshot_decode_copy_text(struct slice text, char *out, size_t size)
{
    if (text.len >= size || (text.len > 0 && memchr(text.ptr, '\0', text.len))) {
        return false;
    }
    if (text.len > 0) {
        memcpy(out, text.ptr, text.len);
    }
    out[text.len] = '\0';
    return true;
}

static int snapshot_decode_read_header(struct decoder *d)
{
    struct snapshot_header *header = &d->content.header;
    uint8_t bytes[SNAPSHOT_HEADER_MAX];
    uint32_t len;
    int r = take_u32(d, &len);
    if (r == 0 && len > sizeof(bytes)) {
        return snapshot_decode_fail_damaged(d, "its header is too long");
    }
    r = r ? r : snapshot_decode_read_bytes(d, bytes, len);
    if (r != 0) {
        return r;
    }
    struct reader reader = reader_of(bytes, len);
    struct slice version = reader_sized(&reader);
    struct slice prefix = reader_sized(&reader);
    bool is_name = dname_read_sized(&reader, &header->domain);
    header->schema = reader_u8(&reader);
    uint64_t revision = reader_u64(&reader);
    uint64_t heard_ms = reader_u64(&reader);
    header->revision = (int64_t)revision;
    header->heard_ms = (int64_t)heard_ms;
    if (!is_name || reader.failed || reader_left(&reader) > 0 ||
        !snapshot_decode_copy_text(version, header->version, sizeof(header->version)) ||
        !snapshot_decode_copy_text(prefix, header->prefix, sizeof(header->prefix)) ||
        revision > INT64_MAX || heard_ms > INT64_MAX) {
        return snapshot_decode_fail_damaged(d, "its header makes no sense");
    }
    return 0;
}

/* Reads a piece at a time, so that a length costs nothing before its bytes are there. */
static int read_section(struct decoder *d, struct buf *section)
{
    uint32_t left;
    int r = take_u32(d, &left);
    if (r == 0 && left > SNAPSHOT_SECTION_MAX) {
        return snapshot_decode_fail_damaged(d, "a section is too long");
    }
    while (r == 0 && left > 0) {
        uint32_t len = left < SNAPSHOT_PIECE_MAX ? left : SNAPSHOT_PIECE_MAX;
        r = snapshot_decode_read_bytes(d, buf_reserve(section, len), len);
        section->len += r == 0 ? len : 0;
        left -= len;
    }
    return r;
}

/* ---- Records: NULL, or what is wrong ---- */

static bool are_labels(const uint8_t *own, size_t len)
{
    size_t at = 0;
    while (at < len && own[at] > 0 && own[at] <= DNAME_LABEL_MAX) {
        at += 1 + (size_t)own[at];
    }
    return at == len;
}

/* Reads a name. The loader checks whether the shared end begins with a label. */
static const char *snapshot_decode_read_name(struct decoder *d, struct reader *r,
                                             uint8_t *ret_shared)
{
    uint8_t shared = reader_u8(r);
    uint8_t own_len = reader_u8(r);
    const uint8_t *own = reader_take(r, own_len);
    if (!own || own_len + shared > DNAME_MAX || !are_labels(own, own_len)) {
        return "a name is none";
    }
    if (shared == 0 || shared > d->name.len) {
        return "a name shares more than there is";
    }
    memmove(d->name.wire + own_len, d->name.wire + d->name.len - shared, shared);
    memcpy(d->name.wire, own, own_len);
    d->name.len = (uint8_t)(own_len + shared);
    *ret_shared = shared;
    return NULL;
}

static struct slice snapshot_decode_read_text(struct reader *r, bool is_there)
{
    uint16_t len = is_there ? reader_u16(r) : 0;
    const uint8_t *bytes = reader_take(r, len);
    return slice_of(bytes, bytes ? len : 0);
}

static struct slice read_host(struct reader *r, uint8_t host)
{
    uint8_t len = host == STORE_HOST_IP || host == STORE_HOST_NAME ? reader_u8(r) : 0;
    const uint8_t *bytes = reader_take(r, len);
    return slice_of(bytes, bytes ? len : 0);
}

/* Returns since when the record has been known, not before this clock began. */
static uint32_t known_s(const struct decoder *d, uint32_t age_s)
{
    uint64_t ago_s = age_s + d->since_s;
    return ago_s < d->now_s ? d->now_s - (uint32_t)ago_s : 0;
}

static const char *snapshot_decode_read_saved(const struct decoder *d, struct reader *r,
                                              struct store_saved *ret)
{
    uint16_t fields = reader_u16(r);
    uint64_t revision = reader_u64(r);
    uint32_t age_s = reader_u32(r);
    *ret = (struct store_saved){.mod_revision = (int64_t)revision,
                                .known_s = known_s(d, age_s),
                                .host = fields & SNAPSHOT_HOST};
    struct record *record = &ret->record;
    record->mail = fields & SNAPSHOT_MAIL;
    record->is_leased = fields & SNAPSHOT_LEASED;
    record->ttl_s = fields & SNAPSHOT_TTL ? reader_u32(r) : 0;
    record->port = fields & SNAPSHOT_PORT ? reader_u16(r) : 0;
    record->priority = fields & SNAPSHOT_PRIORITY ? reader_u16(r) : 0;
    record->weight = fields & SNAPSHOT_WEIGHT ? reader_u16(r) : 0;
    record->targetstrip = fields & SNAPSHOT_TARGETSTRIP ? reader_u16(r) : 0;
    ret->host_bytes = read_host(r, ret->host);
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        record->strings[i] = snapshot_decode_read_text(r, fields & snapshot_string(i));
    }
    if (r->failed) {
        return "a record goes on behind its block";
    }
    return (fields & ~(unsigned)SNAPSHOT_FIELDS) || revision > INT64_MAX ? "a record is none"
                                                                         : NULL;
}

static const char *read_block(struct decoder *d, struct slice block)
{
    struct reader r = reader_of(block.ptr, block.len);
    while (reader_left(&r) > 0) {
        struct store_saved saved;
        uint8_t shared;
        const char *wrong = snapshot_decode_read_name(d, &r, &shared);
        wrong = wrong ? wrong : snapshot_decode_read_saved(d, &r, &saved);
        if (wrong) {
            return wrong;
        }
        if (!store_loader_put(d->loader, &d->name, shared, &saved)) {
            return "a record that cannot be, or not here";
        }
        d->content.records++;
    }
    return NULL;
}

/* Reserves room for as many records as the bytes hold if they are a Service's. */
static void expect_records(const struct decoder *d)
{
    enum { RECORD_BYTES = 66 };
    if (d->source->bytes > d->taken) {
        store_loader_expect(d->loader, (d->source->bytes - d->taken) / RECORD_BYTES);
    }
}

static int snapshot_decode_read_records(struct decoder *d)
{
    CLEANUP_FREE uint8_t *block = xmalloc(SNAPSHOT_BLOCK_MAX);
    uint32_t len;
    int r = take_u32(d, &len);
    while (r == 0 && len > 0) {
        if (len > SNAPSHOT_BLOCK_MAX) {
            return snapshot_decode_fail_damaged(d, "a block is too long");
        }
        r = snapshot_decode_read_bytes(d, block, len);
        const char *wrong = r == 0 ? read_block(d, slice_of(block, len)) : NULL;
        if (wrong) {
            return snapshot_decode_fail_damaged(d, wrong);
        }
        r = r ? r : take_u32(d, &len);
    }
    return r;
}

/* ---- The whole ---- */

static int read_end(struct decoder *d)
{
    uint64_t records, checksum;
    uint8_t behind;
    int r = take_u64(d, &records);
    uint64_t computed = XXH3_64bits_digest(d->checksum);
    r = r ? r : take_u64(d, &checksum);
    if (r != 0) {
        return r;
    }
    if (checksum != computed) {
        return snapshot_decode_fail_damaged(d, "the checksum differs");
    }
    if (records != d->content.records) {
        return snapshot_decode_fail_damaged(d, "its count of records differs");
    }
    int64_t n = d->source->read(d->source->data, &behind, sizeof(behind));
    if (n < 0) {
        return err_set(d->err, (int)n, "%s", err_code_text((int)n));
    }
    return n > 0 ? snapshot_decode_fail_damaged(d, "there are bytes behind its end") : 0;
}

static void start_clock(struct decoder *d, const struct snapshot_now *now)
{
    int64_t since_ms = now->unix_ms - d->content.header.heard_ms;
    d->since_s = since_ms > 0 ? (uint64_t)since_ms / 1000 : 0;
    d->now_s = now->monotonic_s;
}

static int snapshot_decode_parts(struct decoder *d, const struct snapshot_now *now)
{
    size_t sections;
    int r = read_format(d, &sections);
    r = r ? r : snapshot_decode_read_header(d);
    for (size_t i = 0; r == 0 && i < sections; i++) {
        r = read_section(d, &d->content.sections[i]);
    }
    if (r != 0) {
        return r;
    }
    start_clock(d, now);
    expect_records(d);
    r = snapshot_decode_read_records(d);
    r = r ? r : read_end(d);
    if (r == 0) {
        d->content.writer = store_loader_end(STEAL(d->loader));
        r = d->content.writer ? 0 : snapshot_decode_fail_damaged(d, "its names are not in order");
    }
    d->content.bytes = d->taken;
    return r;
}

int snapshot_decode(const struct snapshot_source *source, const struct snapshot_now *now,
                    struct snapshot_content *ret_content, struct err *err)
{
    struct decoder d = {.source = source,
                        .checksum = XXH3_createState(),
                        .err = err,
                        .loader = store_loader_new(),
                        .name.len = 1};
    if (!d.checksum) {
        xalloc_out_of_memory();
    }
    (void)XXH3_64bits_reset(d.checksum); /* fails on NULL alone */
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_init(&d.content.sections[i], SNAPSHOT_SECTION_MAX);
    }
    int r = snapshot_decode_parts(&d, now);
    (void)XXH3_freeState(d.checksum);
    store_loader_free(d.loader);
    if (r == 0) {
        *ret_content = d.content;
    } else {
        snapshot_content_fini(&d.content);
    }
    return r;
}

/* ---- What was read ---- */

void snapshot_content_fini(struct snapshot_content *content)
{
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_fini(&content->sections[i]);
    }
    store_writer_free(STEAL(content->writer));
}
