/* Tests that encoded snapshots decode to the same, and that each way of being wrong is refused with
 * its reason. */
#include <errno.h>

#include "common/base/cursor.h"
#include "skydns/records/store_loader.h"
#include "skydns/snapshot/snapshot_encode_internal.h"
#include "tests/support/skydns/services.h"
#include "tests/support/skydns/snapshots.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(store_writer_free, struct store_writer)

/* Later than any clock that the records were made by. */
enum { NOW_S = INT32_MAX };
static const int64_t now_ms = 1760704496000;

/* ---- What is encoded decodes to the same ---- */

/* By the clock that the records were made by, so that they have been known as long as before. */
static struct snapshot_now the_same_moment(const struct snapshot_image *image)
{
    return (struct snapshot_now){.monotonic_s = NOW_S, .unix_ms = image->header.heard_ms};
}

static void snapshot_format_check_round_trip(const struct snapshot_image *image)
{
    CLEANUP(snapshot_content_fini) struct snapshot_content content;
    struct err err = {0};
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    CLEANUP_BUF struct buf before = buf_of(SNAPSHOTS_MAX);
    CLEANUP_BUF struct buf after = buf_of(SNAPSHOTS_MAX);
    snapshots_encode(image, NOW_S, &bytes);
    snapshots_describe_image(image, &before);
    struct snapshot_now now = the_same_moment(image);
    assert_that(snapshots_decode(buf_slice(&bytes), &now, &content, &err) == 0, "%s", err.msg);
    assert_int_equal(content.bytes, bytes.len);
    snapshots_describe_content(&content, &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
}

UNIT_TEST(test_random)
{
    enum { SEEDS = 100, COUNT_MAX = 150 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
        struct snapshot_image image;
        const struct store *store =
            snapshots_random_store(writer, seed, seed % COUNT_MAX, INT64_C(1) << 40);
        snapshots_random_image(&image, seed, store);
        image.header.revision = store_revision(store);
        snapshot_format_check_round_trip(&image);
        snapshot_image_fini(&image);
    }
}

/* Several to a block, one to a block, and a block of the largest there can be. */
UNIT_TEST(test_long_records)
{
    static const size_t lens[] = {0, 1, 1000, 40000, 60000, UINT16_MAX};
    CLEANUP_FREE char *long_text = xmalloc(UINT16_MAX);
    memset(long_text, 'x', UINT16_MAX);
    struct store_garbage *garbage;
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    for (unsigned i = 0; i < 60; i++) {
        struct slice text = slice_of(long_text, lens[i % ARRAY_LEN(lens)]);
        struct record view = {.host = text, .text = text, .group = text};
        struct dname name = services_name(i);
        (void)store_writer_put_view(writer, &name, &view, 1 + i);
    }
    struct snapshot_image image;
    snapshots_random_image(&image, 1, store_writer_commit(writer, 7, &garbage));
    image.header.revision = 7;
    snapshot_format_check_round_trip(&image);
    snapshot_image_fini(&image);
    store_garbage_free(garbage);
}

/* 300,000 keys are to take 20 MB at most. */
UNIT_TEST(test_size)
{
    enum { SERVICES = 20000, KEY_BYTES_MAX = 66 };
    CLEANUP(services_fini) struct services services;
    struct store_garbage *garbage;
    struct snapshot_image image;
    services_init(&services, SERVICES);
    snapshots_random_image(&image, 1, services_fill(&services, &garbage));
    image.header.revision = store_revision(image.store);
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    snapshots_encode(&image, NOW_S, &bytes);
    assert_in_range(bytes.len / (SERVICES * KEYS_PER_SERVICE), 1, KEY_BYTES_MAX);
    snapshot_format_check_round_trip(&image);
    snapshot_image_fini(&image);
    store_garbage_free(garbage);
}

/* The longest of everything. */
UNIT_TEST(test_full_header)
{
    struct store_garbage *garbage;
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    struct snapshot_image image;
    snapshots_random_image(&image, 1, store_writer_commit(writer, INT64_MAX, &garbage));
    memset(image.header.version, 'v', SNAPSHOT_VERSION_MAX - 1);
    memset(image.header.prefix, 'p', SNAPSHOT_PREFIX_MAX - 1);
    image.header.domain.len = DNAME_MAX;
    for (unsigned i = 0; i < DNAME_MAX; i++) {
        image.header.domain.wire[i] = i % 2 == 0 ? 1 : 'd';
    }
    image.header.domain.wire[DNAME_MAX - 1] = 0;
    image.header.revision = INT64_MAX;
    image.header.heard_ms = INT64_MAX;
    snapshot_format_check_round_trip(&image);
    snapshot_image_fini(&image);
}

/* ---- Ages ---- */

static bool add_known_s(void *data, const struct store_record *record)
{
    *(uint64_t *)data += record->known_s;
    return true;
}

/* known_s of the one record, first seen at 1000 s, written at 1600 s, etcd heard from at that time
 * and then loaded. */
static uint32_t loaded_known_s(uint32_t monotonic_s, int64_t later_ms)
{
    struct store_loader *loader = store_loader_new();
    const struct dname name = services_name(1);
    const struct store_saved saved = {.mod_revision = 1, .known_s = 1000};
    assert_true(store_loader_put(loader, &name, 1, &saved));
    struct store_writer *writer = store_loader_end(loader);
    struct store_garbage *garbage;
    struct snapshot_image image;
    struct snapshot_content content;
    uint64_t known_s = 0;
    snapshots_random_image(&image, 1, store_writer_commit(writer, 1, &garbage));
    image.header.heard_ms = now_ms;
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    snapshots_encode(&image, 1600, &bytes);
    const struct snapshot_now now = {.monotonic_s = monotonic_s, .unix_ms = now_ms + later_ms};
    assert_int_equal(snapshots_decode(buf_slice(&bytes), &now, &content, NULL), 0);
    const struct store *store = store_writer_commit(content.writer, 1, &garbage);
    assert_true(store_each_record(store, add_known_s, &known_s));
    snapshot_content_fini(&content);
    snapshot_image_fini(&image);
    store_writer_free(writer);
    return (uint32_t)known_s;
}

UNIT_TEST(test_ages)
{
    assert_int_equal(loaded_known_s(1600, 0), 1000);
    assert_int_equal(loaded_known_s(1700, 100000), 1000); /* the same machine */
    assert_int_equal(loaded_known_s(1700, 99999), 1001);  /* whole seconds only */
    assert_int_equal(loaded_known_s(900, 0), 300);        /* another one, its clock younger */
    assert_int_equal(loaded_known_s(600, 0), 0);
    assert_int_equal(loaded_known_s(500, 0), 0); /* not before its clock began */
    assert_int_equal(loaded_known_s(0, 0), 0);
    assert_int_equal(loaded_known_s(1700, -3600000), 1100); /* written in the future */
    assert_int_equal(loaded_known_s(UINT32_MAX, INT64_C(5000000000) * 1000), 0);
    assert_int_equal(loaded_known_s(1600, INT64_MAX - now_ms), 0);
}

/* ---- Each refusal ---- */

#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }

/* A record of the domain's own length of name, unless something else is said. */
struct draft_record {
    int shared; /* 0: 1 */
    struct slice own;
    unsigned fields;
    uint64_t revision;
    struct slice rest; /* behind the age */
};

/* Values of a file; 0: as in a good one, -1: 0. */
struct draft {
    const char *reason;
    struct slice start; /* instead of magic and format */
    int format, header_len, section_len, block_len, records, checksum;
    struct slice version, prefix, domain, header_rest;
    uint64_t revision, heard_ms;
    struct draft_record record[3];
    unsigned drafted; /* of those */
    struct slice behind;
};

static uint32_t snapshot_format_said(int number, size_t real)
{
    return number < 0 ? 0 : number > 0 ? (uint32_t)number : (uint32_t)real;
}

static struct slice text_said(struct slice text, const char *real)
{
    return text.ptr ? text : slice_str(real);
}

static void draft_header(const struct draft *draft, struct buf *out)
{
    static const uint8_t domain[] = "\7cluster\5local";
    CLEANUP_BUF struct buf fields = buf_of(SNAPSHOTS_MAX);
    buf_append_sized(&fields, text_said(draft->version, "1.0"));
    buf_append_sized(&fields, text_said(draft->prefix, "/skydns/"));
    buf_append_sized(&fields, draft->domain.ptr ? draft->domain : slice_of(domain, sizeof(domain)));
    buf_append_u8(&fields, 0);
    buf_append_u64(&fields, draft->revision ? draft->revision : 1);
    buf_append_u64(&fields, draft->heard_ms ? draft->heard_ms : 1);
    buf_append_slice(&fields, draft->header_rest);
    if (draft->start.ptr) {
        buf_append_slice(out, draft->start);
    } else {
        buf_append(out, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_LEN);
        buf_append_u32(out, snapshot_format_said(draft->format, SNAPSHOT_FORMAT));
    }
    buf_append_u32(out, snapshot_format_said(draft->header_len, fields.len));
    buf_append_slice(out, buf_slice(&fields));
}

static void draft_records(const struct draft *draft, struct buf *out)
{
    CLEANUP_BUF struct buf block = buf_of(SNAPSHOTS_MAX);
    for (unsigned i = 0; i < draft->drafted; i++) {
        const struct draft_record *record = &draft->record[i];
        buf_append_u8(&block, (uint8_t)snapshot_format_said(record->shared, 1));
        buf_append_u8(&block, (uint8_t)record->own.len);
        buf_append_slice(&block, record->own);
        buf_append_u16(&block, (uint16_t)record->fields);
        buf_append_u64(&block, record->revision ? record->revision : 1);
        buf_append_u32(&block, 0);
        buf_append_slice(&block, record->rest);
    }
    if (draft->drafted > 0) {
        buf_append_u32(out, snapshot_format_said(draft->block_len, block.len));
        buf_append_slice(out, buf_slice(&block));
    }
}

static void draft_bytes(const struct draft *draft, struct buf *out)
{
    int format = draft->format ? draft->format : SNAPSHOT_FORMAT;
    bool is_known = format >= SNAPSHOT_FORMAT_OLD && format <= SNAPSHOT_FORMAT;
    size_t sections = is_known ? snapshot_sections_of((unsigned)format) : SNAPSHOT_SECTIONS;
    draft_header(draft, out);
    for (size_t i = 0; i < sections; i++) {
        buf_append_u32(out, i == 0 ? snapshot_format_said(draft->section_len, 0) : 0);
    }
    draft_records(draft, out);
    buf_append_u32(out, 0);
    buf_append_u64(out, snapshot_format_said(draft->records, draft->drafted));
    buf_append_u64(out, 0);
    snapshots_seal(out);
    out->data[out->len - 1] ^= (uint8_t)draft->checksum;
    buf_append_slice(out, draft->behind);
}

#define WWW        BYTES("\3www")
#define ONE(...)   .record = {{__VA_ARGS__}}, .drafted = 1
#define TEXT_64KIB "\xff\xff"

static const struct draft drafts[] = {
    {.reason = NULL}, /* no record */
    {.reason = NULL, ONE(.own = WWW)},
    {.reason = NULL, .record = {{.own = BYTES("")}, {.own = WWW}}, .drafted = 2}, /* the root */
    {.reason = NULL, .record = {{.own = WWW}, {.shared = 5, .own = BYTES("\1a")}}, .drafted = 2},

    {.reason = "not a snapshot", .start = BYTES("{\"host\":\"10.0.0.1\"}")},
    {.reason = NULL, .format = SNAPSHOT_FORMAT_OLD, ONE(.own = WWW)},
    {.reason = NULL, .format = 2, ONE(.own = WWW)},
    {.reason = NULL, .format = 3, ONE(.own = WWW)},
    {.reason = NULL, .format = 4, ONE(.own = WWW)},
    {.reason = "format 6, this program reads 1 to 5", .format = 6},
    {.reason = "format 0, this program reads 1 to 5", .format = -1},
    {.reason = "header is too long", .header_len = SNAPSHOT_HEADER_MAX + 1},
    {.reason = "header makes no sense", .header_len = 30},
    {.reason = "header makes no sense", .header_len = -1},
    {.reason = "header makes no sense", .header_rest = BYTES("x")},
    {.reason = "header makes no sense", .prefix = BYTES("/sky\0dns/")},
    {.reason = "header makes no sense", .version = BYTES("\0")},
    {.reason = "header makes no sense",
     .version = BYTES("0123456789012345678901234567890123456789012345678901234567890123")},
    {.reason = "header makes no sense", .domain = BYTES("")},
    {.reason = "header makes no sense", .domain = BYTES("\7cluster\5local")},
    {.reason = "header makes no sense", .domain = BYTES("\7cluster\5local\0\0")},
    {.reason = "header makes no sense", .domain = BYTES("\7cluster\xc0\0")},
    {.reason = "header makes no sense", .domain = BYTES("\x40")},
    {.reason = "header makes no sense", .revision = UINT64_MAX},
    {.reason = "header makes no sense", .heard_ms = UINT64_MAX},
    {.reason = "header makes no sense", .heard_ms = UINT64_C(1) << 63}, /* less than any time */
    {.reason = "a section is too long", .section_len = SNAPSHOT_SECTION_MAX + 1},
    {.reason = "cut off after", .section_len = SNAPSHOT_SECTION_MAX},

    {.reason = "a block is too long", ONE(.own = WWW), .block_len = SNAPSHOT_BLOCK_MAX + 1},
    {.reason = "cut off after", ONE(.own = WWW), .block_len = SNAPSHOT_BLOCK_MAX},
    {.reason = "a record goes on behind its block", ONE(.own = WWW), .block_len = 19},
    {.reason = "a name is none", ONE(.own = WWW), .block_len = 5},
    {.reason = "a name is none", ONE(.own = WWW), .block_len = 1},
    {.reason = "a name is none", ONE(.own = BYTES("\0"))},
    {.reason = "a name is none", ONE(.own = BYTES("\4www"))},
    {.reason = "a name is none", ONE(.own = BYTES("\2www"))},
    {.reason = "a name is none", ONE(.own = BYTES("\3www\0"))},
    {.reason = "a name is none",
     ONE(.own = BYTES("\x40"
                      "0123456789012345678901234567890123456789"
                      "012345678901234567890123"))},
    {.reason = "a name is none", ONE(.shared = 255, .own = WWW)},
    {.reason = "a name shares more than there is", ONE(.shared = -1, .own = WWW)},
    {.reason = "a name shares more than there is", ONE(.shared = 2, .own = WWW)},
    {.reason = "a record that cannot be, or not here", /* shares `w` */
     .record = {{.own = WWW}, {.shared = 2, .own = BYTES("\1a")}},
     .drafted = 2},
    {.reason = "a record that cannot be, or not here", /* the same name */
     .record = {{.own = WWW}, {.shared = 5}},
     .drafted = 2},
    {.reason = "a record that cannot be, or not here", /* above the one before */
     .record = {{.own = BYTES("\1a\3www")}, {.shared = 5}},
     .drafted = 2},
    {.reason = "a record that cannot be, or not here", /* the root is not the first */
     .record = {{.own = WWW}, {.own = BYTES("")}},
     .drafted = 2},
    {.reason = "a record that cannot be, or not here",
     ONE(.own = WWW, .fields = STORE_HOST_IP, .rest = BYTES("\3\12\0\0"))},
    {.reason = "a record that cannot be, or not here",
     ONE(.own = WWW, .fields = STORE_HOST_NAME, .rest = BYTES("\4\3www"))},
    {.reason = "its names are not in order", /* those below www do not come together */
     .record = {{.own = WWW}, {.own = BYTES("\1a")}, {.own = BYTES("\1b\3www")}},
     .drafted = 3},
    {.reason = "its names are not in order", .record = {{.own = WWW}, {.own = WWW}}, .drafted = 2},
    {.reason = "a record is none", ONE(.own = WWW, .fields = SNAPSHOT_FIELDS + 1)},
    {.reason = "a record is none", ONE(.own = WWW, .revision = UINT64_MAX)},
    {.reason = "a record goes on behind its block",
     ONE(.own = WWW, .fields = SNAPSHOT_TTL, .rest = BYTES("\0\0\0"))},
    {.reason = "a record goes on behind its block",
     ONE(.own = WWW, .fields = SNAPSHOT_STRINGS << RECORD_GROUP,
         .rest = BYTES(TEXT_64KIB "group"))},
    {.reason = "a record goes on behind its block", ONE(.own = WWW, .fields = STORE_HOST_IP)},

    {.reason = "the checksum differs", .checksum = 1},
    {.reason = "its count of records differs", ONE(.own = WWW), .records = 2},
    {.reason = "its count of records differs", .records = 1},
    {.reason = "there are bytes behind its end", .behind = BYTES("\n")},
};

UNIT_TEST(test_refusals)
{
    const struct snapshot_now now = {.monotonic_s = NOW_S, .unix_ms = now_ms};
    for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
        struct snapshot_content content;
        struct err err = {0};
        CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
        draft_bytes(&drafts[i], &bytes);
        int r = snapshots_decode(buf_slice(&bytes), &now, &content, &err);
        const char *reason = drafts[i].reason;
        assert_that(r == (reason ? ERR_SYNTAX : 0) && (!reason || strstr(err.msg, reason)),
                    "draft %zu: %d, %s", i, r, err.msg);
        if (r == 0) {
            assert_int_equal(content.records, drafts[i].drafted);
            snapshot_content_fini(&content);
        }
    }
}

/* Earlier releases read no later ones, and what they lack is empty as long as it is not used. */
UNIT_TEST(test_format_of_an_earlier_release)
{
    for (unsigned used = 0; used < 16; used++) {
        const bool has_clients = used & 1, has_records = used & 2, has_topology = used & 4,
                   has_marks = used & 8;
        struct snapshot_image image;
        CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
        snapshots_random_image(&image, 1, snapshots_random_store(writer, 1, 10, 1));
        buf_clear(&image.sections[SNAPSHOT_CLIENTS]);
        buf_append(&image.sections[SNAPSHOT_CLIENTS], "x", has_clients);
        buf_clear(&image.sections[SNAPSHOT_CLIENT_RECORDS]);
        buf_append(&image.sections[SNAPSHOT_CLIENT_RECORDS], "x", has_records);
        buf_clear(&image.sections[SNAPSHOT_TOPOLOGY]);
        buf_append(&image.sections[SNAPSHOT_TOPOLOGY], "x", has_topology);
        buf_clear(&image.sections[SNAPSHOT_MARKS]);
        buf_append(&image.sections[SNAPSHOT_MARKS], "x", has_marks);
        CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
        snapshots_encode(&image, NOW_S, &bytes);
        assert_int_equal(bytes.data[SNAPSHOT_MAGIC_LEN + 3], has_marks      ? SNAPSHOT_FORMAT
                                                             : has_topology ? SNAPSHOT_FORMAT - 1
                                                             : has_records  ? SNAPSHOT_FORMAT - 2
                                                             : has_clients  ? SNAPSHOT_FORMAT - 3
                                                                            : SNAPSHOT_FORMAT_OLD);
        snapshot_format_check_round_trip(&image);
        snapshot_image_fini(&image);
    }
}

UNIT_TEST(test_empty)
{
    const struct snapshot_now now = {0};
    struct snapshot_content content;
    struct err err;
    assert_int_equal(snapshots_decode(slice_of(NULL, 0), &now, &content, &err), ERR_SYNTAX);
    assert_string_equal(err.msg, "empty");
}

/* ---- Where the bytes go to and come from ---- */

struct slow {
    struct reader reader;
    int64_t error;   /* at the end */
    unsigned pieces; /* sent, or until the sink fails */
};

static int failing_sink(void *data, struct slice piece)
{
    struct slow *slow = data;
    assert_true(slow->pieces > 0); /* not called again */
    return --slow->pieces == 0 ? -1234 : 0;
}

static int64_t slow_source(void *data, void *bytes, size_t len)
{
    struct slow *slow = data;
    assert_true(len > 0);
    if (reader_left(&slow->reader) == 0) {
        return slow->error;
    }
    memcpy(bytes, reader_take(&slow->reader, 1), 1);
    return 1;
}

static int count_piece(void *data, struct slice piece)
{
    (*(unsigned *)data)++;
    return 0;
}

UNIT_TEST(test_sink_and_source)
{
    const struct snapshot_now now = {.monotonic_s = NOW_S, .unix_ms = now_ms};
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    struct snapshot_image image;
    struct snapshot_content content;
    struct err err;
    unsigned pieces = 0;
    snapshots_random_image(&image, 3, snapshots_random_store(writer, 3, 500, 9));
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    snapshots_encode(&image, NOW_S, &bytes);
    assert_int_equal(snapshot_encode(&image, NOW_S, count_piece, &pieces), 0);
    for (unsigned i = 1; i <= pieces; i++) {
        struct slow slow = {.pieces = i};
        assert_int_equal(snapshot_encode(&image, NOW_S, failing_sink, &slow), -1234);
        assert_int_equal(slow.pieces, 0);
    }

    struct slow slow = {.reader = reader_of(bytes.data, bytes.len)};
    const struct snapshot_source source = {.read = slow_source, .data = &slow};
    assert_int_equal(snapshot_decode(&source, &now, &content, &err), 0);
    snapshot_content_fini(&content);
    slow = (struct slow){.reader = reader_of(bytes.data, bytes.len), .error = -EIO};
    assert_int_equal(snapshot_decode(&source, &now, &content, &err), -EIO);
    slow = (struct slow){.reader = reader_of(bytes.data, bytes.len / 2), .error = -EIO};
    assert_int_equal(snapshot_decode(&source, &now, &content, &err), -EIO);
    assert_string_equal(err.msg, "Input/output error");

    snapshot_image_fini(&image);
}

struct freeing {
    struct services *services;
    struct store_garbage *garbage;
    unsigned pieces; /* until it refuses one, with the store gone */
};

static int freeing_sink(void *data, struct slice piece)
{
    struct freeing *freeing = data;
    assert_true(freeing->pieces > 0);
    if (--freeing->pieces > 0) {
        return 0;
    }
    store_garbage_free(freeing->garbage);
    services_fini(freeing->services);
    return ERR_CANCELED;
}

/* The program ends while a disk hangs, which then answers. */
UNIT_TEST(test_store_gone)
{
    enum { SERVICES = 3000 }; /* 9,000 records: several blocks */
    unsigned pieces = 1;
    for (unsigned i = 0; i <= pieces; i++) {
        struct services services;
        struct freeing freeing = {.services = &services, .pieces = i};
        CLEANUP(snapshot_image_fini) struct snapshot_image image;
        services_init(&services, SERVICES);
        snapshots_random_image(&image, 1, services_fill(&services, &freeing.garbage));
        if (i == 0) {
            pieces = 0;
            assert_int_equal(snapshot_encode(&image, NOW_S, count_piece, &pieces), 0);
            store_garbage_free(freeing.garbage);
            services_fini(&services);
        } else {
            assert_int_equal(snapshot_encode(&image, NOW_S, freeing_sink, &freeing), ERR_CANCELED);
        }
    }
    assert_true(pieces > SNAPSHOT_SECTIONS + 2);
}
