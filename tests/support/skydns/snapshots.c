#include "tests/support/skydns/snapshots.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/records/store_loader.h"
#include "skydns/snapshot/snapshot_encode_internal.h"

static void snapshots_require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "snapshots: %s\n", what);
        abort();
    }
}

/* ---- Bytes ---- */

static int append_piece(void *data, struct slice piece)
{
    snapshots_require(piece.len > 0 && piece.len <= SNAPSHOT_PIECE_MAX, "a piece of another size");
    buf_append_slice(data, piece);
    return 0;
}

void snapshots_encode(const struct snapshot_image *image, uint32_t now_s, struct buf *out)
{
    snapshots_require(snapshot_encode(image, now_s, append_piece, out) == 0 && !out->failed,
                      "not encoded");
}

static int64_t read_piece(void *data, void *bytes, size_t len)
{
    struct reader *r = data;
    size_t n = reader_left(r) < len ? reader_left(r) : len;
    if (n > 0) {
        memcpy(bytes, reader_take(r, n), n);
    }
    return (int64_t)n;
}

int snapshots_decode(struct slice bytes, const struct snapshot_now *now,
                     struct snapshot_content *ret_content, struct err *err)
{
    struct reader r = reader_of(bytes.ptr, bytes.len);
    const struct snapshot_source source = {.read = read_piece, .data = &r, .bytes = bytes.len};
    return snapshot_decode(&source, now, ret_content, err);
}

void snapshots_seal(struct buf *bytes)
{
    if (bytes->len >= sizeof(uint64_t)) {
        bytes->len -= sizeof(uint64_t);
        buf_append_u64(bytes, XXH3_64bits(bytes->data, bytes->len));
    }
}

/* ---- Random ones ---- */

/* splitmix64 */
static uint32_t snapshots_random_below(uint64_t *state, uint32_t n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) % n);
}

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"
#define NAME_255                           \
    LABEL_63 "." LABEL_63 "." LABEL_63 "." \
             "a2345678901234567890123456789012345678901234567890123456789012"

static const char *const labels[] = {"a", "b",     "_tcp",  "_http",  "web",     "Web",
                                     "*", "\\000", "x\\.y", LABEL_63, "c88f1059"};
static const char *const hosts[] = {
    "",         "10.0.0.1",        "010.0.0.1",      "2001:db8::1", "FD00::1",
    "a.b.",     "db.Example.com.", "without.dot",    "a..b",        NAME_255,
    "\\200.x.", "very bad host\n", "255.255.255.255"};
static const char *const texts[] = {"", "text", "with \\\"escapes\\\" \\001", "\xff\xfe", " "};

static struct dname snapshots_random_name(uint64_t *state)
{
    enum { DEEP = 4 };
    char text[DNAME_TEXT_MAX] = "";
    struct dname name;
    for (unsigned i = snapshots_random_below(state, DEEP); i > 0; i--) {
        char longer[DNAME_TEXT_MAX];
        const char *label = labels[snapshots_random_below(state, ARRAY_LEN(labels))];
        snapshots_require(snprintf(longer, sizeof(longer), "%s.%s", label, text) <
                              (int)sizeof(longer),
                          "a long name");
        memcpy(text, longer, sizeof(text));
    }
    snapshots_require(dname_from_text(slice_str(text[0] ? text : "."), &name), "a bad name");
    return name;
}

static void put_random(struct store_writer *writer, uint64_t *state)
{
    enum { REVISIONS = 1000, NUMBERS = 3, LONG = 2000 };
    static const uint16_t numbers[NUMBERS] = {0, 1, UINT16_MAX};
    static const uint32_t ttls_s[NUMBERS] = {0, 30, INT32_MAX};
    struct dname name = snapshots_random_name(state);
    CLEANUP_FREE char *long_text = xmalloc(LONG);
    memset(long_text, 'x', LONG);
    const char *text = texts[snapshots_random_below(state, ARRAY_LEN(texts))];
    struct record view = {
        .host = slice_str(hosts[snapshots_random_below(state, ARRAY_LEN(hosts))]),
        .text = snapshots_random_below(state, 8) == 0 ? slice_of(long_text, LONG) : slice_str(text),
        .group = slice_str(texts[snapshots_random_below(state, ARRAY_LEN(texts))]),
        .ttl_s = ttls_s[snapshots_random_below(state, NUMBERS)],
        .port = numbers[snapshots_random_below(state, NUMBERS)],
        .priority = numbers[snapshots_random_below(state, NUMBERS)],
        .weight = numbers[snapshots_random_below(state, NUMBERS)],
        .targetstrip = numbers[snapshots_random_below(state, NUMBERS)],
        .mail = snapshots_random_below(state, 2),
    };
    (void)store_writer_put_view(writer, &name, &view, 1 + snapshots_random_below(state, REVISIONS));
}

const struct store *snapshots_random_store(struct store_writer *writer, uint64_t seed, size_t count,
                                           int64_t revision)
{
    struct store_garbage *garbage;
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++) {
        put_random(writer, &state);
    }
    const struct store *store = store_writer_commit(writer, revision, &garbage);
    store_garbage_free(garbage);
    return store;
}

void snapshots_random_image(struct snapshot_image *image, uint64_t seed, const struct store *store)
{
    enum { SECTION_MAX = 4000, HEARD_S = 1760704496 };
    uint64_t state = seed;
    snapshot_image_init(image);
    image->header =
        (struct snapshot_header){.version = "1.2.3",
                                 .prefix = "/skydns/",
                                 .schema = (uint8_t)snapshots_random_below(&state, 2),
                                 .revision = 1 + snapshots_random_below(&state, UINT32_MAX),
                                 .heard_ms = INT64_C(1000) * HEARD_S};
    image->header.domain = snapshots_random_name(&state);
    image->store = store;
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        for (unsigned n = snapshots_random_below(&state, SECTION_MAX); n > 0; n--) {
            buf_append_u8(&image->sections[i], (uint8_t)snapshots_random_below(&state, 256));
        }
    }
}

/* ---- Text ---- */

static void snapshots_add_bytes(struct buf *out, const char *name, struct slice bytes)
{
    static const char digits[] = "0123456789abcdef";
    buf_printf(out, " %s=", name);
    for (size_t i = 0; i < bytes.len; i++) {
        buf_append_char(out, digits[(uint8_t)bytes.ptr[i] >> 4]);
        buf_append_char(out, digits[(uint8_t)bytes.ptr[i] & 15]);
    }
}

static bool snapshots_add_record(void *data, const struct store_record *record)
{
    struct buf *out = data;
    struct store_saved saved = store_record_saved(record);
    snapshots_add_bytes(out, "name", store_record_name_wire(record));
    snapshots_add_bytes(out, "host", saved.host_bytes);
    snapshots_add_bytes(out, "host_text", saved.record.host);
    snapshots_add_bytes(out, "text", saved.record.text);
    snapshots_add_bytes(out, "text_bytes", store_record_text_bytes(record));
    snapshots_add_bytes(out, "group", saved.record.group);
    buf_printf(out,
               " kind=%u revision=%" PRId64 " ttl=%" PRIu32 " known=%" PRIu32
               " port=%u priority=%u weight=%u targetstrip=%u mail=%d\n",
               saved.host, saved.mod_revision, saved.record.ttl_s, saved.known_s, saved.record.port,
               saved.record.priority, saved.record.weight, saved.record.targetstrip,
               saved.record.mail);
    return true;
}

static void snapshots_describe(const struct snapshot_header *header, const struct buf *sections,
                               const struct store *store, struct buf *out)
{
    buf_printf(out, "%s %s schema=%u revision=%" PRId64 " heard=%" PRId64, header->version,
               header->prefix, header->schema, header->revision, header->heard_ms);
    snapshots_add_bytes(out, "domain", slice_of(header->domain.wire, header->domain.len));
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        snapshots_add_bytes(out, "\nsection", buf_slice(&sections[i]));
    }
    buf_append_char(out, '\n');
    (void)store_each_record(store, snapshots_add_record, out); /* stops nowhere */
    snapshots_require(!out->failed, "too long to describe");
}

void snapshots_describe_image(const struct snapshot_image *image, struct buf *out)
{
    snapshots_describe(&image->header, image->sections, image->store, out);
}

void snapshots_describe_content(struct snapshot_content *content, struct buf *out)
{
    struct store_garbage *garbage;
    size_t count = store_writer_count(content->writer);
    const struct store *store =
        store_writer_commit(content->writer, content->header.revision, &garbage);
    store_garbage_free(garbage);
    snapshots_require(count == content->records, "another count of records");
    snapshots_require(store_revision(store) == content->header.revision, "another revision");
    snapshots_describe(&content->header, content->sections, store, out);
}
