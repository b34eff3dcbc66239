/* Tests which snapshots are used: what must agree with the settings, and what a refused one
 * leaves. */
#include <errno.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "skydns/config/live_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot_file.h"
#include "skydns/snapshot_start.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };

static const int64_t now_ms = 1800000000000;

static struct options snapshot_start_parse(const char *flag, const char *other)
{
    static char strings[3][64] = {"skydns"};
    char *argv[] = {strings[0], strings[1], strings[2], NULL};
    struct options o;
    struct err err;
    (void)snprintf(strings[1], sizeof(strings[1]), "%s", flag);
    (void)snprintf(strings[2], sizeof(strings[2]), "%s", other);
    assert_that(skydns_options_parse(3, argv, &o, &err) == 0, "%s", err.msg);
    return o;
}

static struct snapshot_header header_of(const char *prefix, const char *domain, int64_t age_ms)
{
    struct snapshot_header header = {.schema = ENGINE_SCHEMA_SKYDNS, .heard_ms = now_ms - age_ms};
    (void)snprintf(header.prefix, sizeof(header.prefix), "%s", prefix);
    assert_true(dname_from_text(slice_str(domain), &header.domain));
    return header;
}

UNIT_TEST(test_what_must_agree)
{
    static const struct {
        const char *prefix, *domain;
        int64_t age_ms;
        const char *flag;
        const char *reason; /* NULL: it is used */
    } rows[] = {
        {"/skydns/", "a.test", 12000, "-ndots=2", NULL},
        {"/skydns/", "a.test", 12000, "-domain=a.test,b.test", NULL},
        {"/skydns/", "b.test", 0, "-domain=a.test,b.test", "the domain `b.test.`, not `a.test.`"},
        {"/skydns/", "a.test", 0, "-path-prefix=skydn", "`/skydns/`, not `/skydn/`"},
        {"/skydns/", "a.test", 0, "-path-prefix=skydnss", "`/skydns/`, not `/skydnss/`"},
        {"/other/", "a.test", 0, "-ndots=2", "path prefix `/other/`, not `/skydns/`"},
        {"skydns", "a.test", 0, "-ndots=2", "path prefix"},
        {"", "a.test", 0, "-ndots=2", "path prefix"},
        {"/skydns/", "a.test", 0, "-schema=kubernetes", "another -schema than kubernetes"},
        {"/skydns/", "a.test", 24 * HOUR_MS, "-ndots=2", NULL},
        {"/skydns/", "a.test", 24 * HOUR_MS + 1, "-ndots=2", "24h old, -snapshot-max is 24h"},
        {"/skydns/", "a.test", 2 * HOUR_MS, "-snapshot-max=90m", "2h old, -snapshot-max is 1h30m"},
        {"/skydns/", "a.test", 100000 * (int64_t)HOUR_MS, "-snapshot-max=0", NULL},
        {"/skydns/", "a.test", -HOUR_MS, "-ndots=2", NULL},
        {"/skydns/", "a.test", -HOUR_MS - 1, "-ndots=2", "from the future, 1h ahead"},
        {"/skydns/", "a.test", -2 * HOUR_MS, "-snapshot-max=0", "from the future, 2h ahead"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct options o = snapshot_start_parse("-domain=a.test", rows[i].flag);
        const struct snapshot_header header =
            header_of(rows[i].prefix, rows[i].domain, rows[i].age_ms);
        struct err err = {.msg = ""};
        int r = snapshot_start_check(&header, &o, now_ms, &err);
        assert_that((r == 0) == (rows[i].reason == NULL) &&
                        (!rows[i].reason || strstr(err.msg, rows[i].reason)),
                    "row %zu: %d %s", i, r, err.msg);
    }
}

/* ---- Reading it: the file replaced by one of the test's ---- */

static struct {
    int result;
    struct snapshot_header header;
    const char *document;
    const char *mirror; /* "good", or it makes no sense */
    bool has_writers;
} file;

/* Those of no domain, or nonsense. */
static void append_writers(struct buf *out)
{
    struct writer_documents *none = writer_documents_new(&(struct writer_documents_config){0});
    buf_append_str(out, file.has_writers ? "" : "no documents");
    assert_true(writer_documents_save(none, out));
    writer_documents_free(none);
}

int snapshot_file_read(const char *path, struct snapshot_content *ret_content, struct err *err)
{
    assert_string_equal(path, "/var/lib/skydns/snapshot");
    if (file.result < 0) {
        return err_set(err, file.result, "its checksum differs");
    }
    if (file.result == 0) {
        *ret_content = (struct snapshot_content){.header = file.header, .records = 7};
        for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
            buf_init(&ret_content->sections[i], SNAPSHOT_SECTION_MAX);
        }
        buf_append_str(&ret_content->sections[SNAPSHOT_CONFIG], file.document);
        buf_append_str(&ret_content->sections[SNAPSHOT_MIRROR], file.mirror);
        append_writers(&ret_content->sections[SNAPSHOT_WRITERS]);
    }
    return file.result;
}

int snapshot_file_write(const struct snapshot_file_write *write, size_t *ret_bytes, struct err *err)
{
    *ret_bytes = 0;
    return err_set(err, -EROFS, "no writing of %s here", write->path);
}

/* Checks of the sections only whether store_sync can start with them. */
bool store_sync_can_start(const struct snapshot_content *content, struct err *err)
{
    bool is_good = slice_equal(buf_slice(&content->sections[SNAPSHOT_MIRROR]), slice_str("good"));
    if (!is_good) {
        (void)err_set(err, ERR_SYNTAX, "its marks make no sense"); /* only its text is wanted */
    }
    return is_good;
}

struct fixture {
    struct ev_loop *loop;
    struct options flags;
    struct publisher *publisher;
    struct live_config *live;
};

static int snapshot_start_set_up(void **state)
{
    static struct fixture f;
    struct err err;
    f.loop = ev_loop_new(0);
    f.publisher = publisher_new();
    f.flags = snapshot_start_parse("-domain=flag.test", "-nameservers=192.0.2.1");
    f.live = live_config_new(&(struct live_config_config){
        .loop = f.loop, .flags = &f.flags, .publisher = f.publisher, .resolv_conf = "/nowhere"});
    assert_int_equal(live_config_open_files(f.live, &err), 0);
    file.result = 0;
    file.header = header_of("/skydns/", "flag.test", 0);
    file.header.heard_ms = clock_wall_ms() - 12000;
    file.document = "";
    file.mirror = "good";
    file.has_writers = true;
    *state = &f;
    return 0;
}

static int snapshot_start_tear_down(void **state)
{
    struct fixture *f = *state;
    live_config_free(f->live);
    publisher_free(f->publisher);
    ev_loop_destroy(f->loop);
    return 0;
}

/* The lines logged; used: what is expected. */
static const char *snapshot_start_read_file(struct fixture *f, bool is_used,
                                            struct snapshot_content *ret_content)
{
    static struct log_capture capture;
    log_capture_begin(&capture);
    bool got = snapshot_start_read(f->live, "/var/lib/skydns/snapshot", ret_content);
    const char *lines = log_capture_end(&capture);
    assert_that(got == is_used, "%d: %s", got, lines);
    return lines;
}

static void snapshot_start_assert_refused(struct fixture *f, const char *reason)
{
    struct snapshot_content content;
    const char *lines = snapshot_start_read_file(f, false, &content);
    assert_that(log_occurrences(lines, "\n") == 1 && log_occurrences(lines, "warn ") == 1 &&
                    log_occurrences(lines, "the snapshot is not used") == 1 &&
                    log_occurrences(lines, "file=/var/lib/skydns/snapshot") == 1 &&
                    log_occurrences(lines, reason) == 1,
                "expected one warning with %s: %s", reason, lines);
}

UNIT_TEST_IN(test_used, snapshot_start_set_up, snapshot_start_tear_down)
{
    CLEANUP(snapshot_content_fini) struct snapshot_content content;
    const char *lines = snapshot_start_read_file(*state, true, &content);
    assert_int_equal(log_occurrences(lines, "\n"), 1);
    assert_int_equal(log_occurrences(lines, "answering from a snapshot"), 1);
    assert_int_equal(log_occurrences(lines, "records=7"), 1);
    assert_null(snapshot_start_document(&content).ptr);
}

UNIT_TEST_IN(test_none_yet, snapshot_start_set_up, snapshot_start_tear_down)
{
    struct snapshot_content content;
    file.result = 1;
    const char *lines = snapshot_start_read_file(*state, false, &content);
    assert_int_equal(log_occurrences(lines, "warn "), 0);
}

/* One line each. */
UNIT_TEST_IN(test_refused, snapshot_start_set_up, snapshot_start_tear_down)
{
    struct fixture *f = *state;
    file.result = ERR_SYNTAX;
    snapshot_start_assert_refused(f, "its checksum differs");
    file.result = 0;
    file.mirror = "bad";
    snapshot_start_assert_refused(f, "its marks make no sense");
    file.mirror = "good";
    file.has_writers = false;
    snapshot_start_assert_refused(f, "documents of kube2sky make no sense");
    file.has_writers = true;
    file.header.heard_ms = 0;
    snapshot_start_assert_refused(f, "old, -snapshot-max is 24h");
}

/* It is the snapshot's own document that says what must agree; its other faults are not told before
 * it is used. */
UNIT_TEST_IN(test_settings_of_its_document, snapshot_start_set_up, snapshot_start_tear_down)
{
    struct fixture *f = *state;
    CLEANUP(snapshot_content_fini) struct snapshot_content content;
    file.document = "{\"domain\":\"doc.test\",\"snapshot_max\":10,\"odd\":1}";
    snapshot_start_assert_refused(f, "the domain `flag.test.`, not `doc.test.`");
    file.header = header_of("/skydns/", "doc.test", 0);
    file.header.heard_ms = clock_wall_ms() - 12000;
    snapshot_start_assert_refused(f, "-snapshot-max is 10s");
    file.document = "{\"domain\":\"doc.test\"}";
    (void)snapshot_start_read_file(f, true, &content);
    assert_true(slice_equal(snapshot_start_document(&content), slice_str(file.document)));
}
