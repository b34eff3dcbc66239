/* kube2sky's documents, with fake mirrors. */
#include "common/base/buf.h"
#include "skydns/publish/engine_config.h"
#include "skydns/settings/config_documents.h"
#include "skydns/sync/writer_documents.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/fake_mirrors.h"

/* ---- The mirrors ---- */

/* Its number among those started, so that a document's own comes back. */
static bool can_save = true;

bool etcd_mirror_save(const struct etcd_mirror *mirror, struct buf *out)
{
    assert_true(mirror->is_running);
    buf_append_str(out, "mirror ");
    buf_append_char(out, (char)('0' + (mirror - mirrors)));
    return can_save;
}

/* Called by the support code linked with every test, not by this one. */
struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror)
{
    assert_null(mirror);
    return (struct etcd_mirror_counts){.revision = 0};
}

bool etcd_mirror_is_saved(struct slice saved)
{
    return slice_has_prefix(saved, slice_str("mirror "));
}

static void writer_documents_begin(const struct etcd_mirror *mirror, bool keeps_old)
{
    const struct etcd_mirror_read read = {.keeps_old = keeps_old, .reason = ""};
    mirror->config.full_begin(mirror->config.data, &read);
}

static void writer_documents_put(const struct etcd_mirror *mirror, const char *key,
                                 const char *value)
{
    const struct etcd_kv kv = {.key = slice_str(key), .value = slice_str(value)};
    mirror->config.put(mirror->config.data, &kv);
}

static void writer_documents_del(const struct etcd_mirror *mirror, const char *key)
{
    mirror->config.del(mirror->config.data, slice_str(key), 9);
}

static void writer_documents_commit(const struct etcd_mirror *mirror, bool full)
{
    mirror->config.commit(mirror->config.data, 9, full);
}

/* ---- What is told ---- */

struct fixture {
    int64_t revision; /* of the last one told */
    struct ev_loop *loop;
    struct writer_documents *documents;
    unsigned told;
    char text[256]; /* the last one: "a.test. {}" or "a.test. none" */
    size_t len;
};

static void writer_documents_on_changed(void *data, const struct dname *domain, struct slice value,
                                        int64_t revision)
{
    struct fixture *f = data;
    f->revision = revision;
    char name[DNAME_TEXT_MAX];
    f->told++;
    f->len = value.len;
    (void)snprintf(f->text, sizeof(f->text), "%s %.*s", dname_to_text(domain, name),
                   value.ptr ? (int)value.len : 4, value.ptr ? value.ptr : "none"); /* may cut */
}

static void set_domains(struct fixture *f, const char *first, const char *second)
{
    struct dname domains[2];
    assert_true(dname_from_text(slice_str(first), &domains[0]));
    assert_true(dname_from_text(slice_str(second ? second : "."), &domains[1]));
    writer_documents_set_domains(f->documents, domains, second ? 2 : 1);
}

/* Empty: every document may be read. */
static const char *denied_text(const struct fixture *f)
{
    static char text[256];
    CLEANUP_BUF struct buf out = buf_of(sizeof(text));
    const bool is_denied = writer_documents_explain_denied(f->documents, &out);
    assert_int_equal(is_denied, out.len > 0);
    (void)snprintf(text, sizeof(text), "%s", out.len ? buf_cstr(&out) : ""); /* fits */
    return text;
}

static void writer_documents_setup(struct fixture *f)
{
    started = 0;
    f->loop = ev_loop_new(0);
    f->documents = writer_documents_new(
        &(struct writer_documents_config){.loop = f->loop,
                                          .name = "config",
                                          .stale_max_ms = 5000,
                                          .changed = writer_documents_on_changed,
                                          .data = f});
}

static void writer_documents_teardown(struct fixture *f)
{
    writer_documents_free(f->documents);
    for (unsigned i = 0; i < started; i++) {
        assert_true(mirrors[i].config.is_one_key && !mirrors[i].is_running);
    }
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, writer_documents_setup, writer_documents_teardown)

static void assert_told(const struct fixture *f, unsigned told, const char *want)
{
    assert_string_equal(f->text, want);
    assert_int_equal(f->told, told);
}

static const char key[] = "/kube2sky/a.test/config";

UNIT_TEST_ON(test_a_document_is_followed, struct fixture *f)
{
    set_domains(f, "a.test", NULL);
    const struct etcd_mirror *mirror = &mirrors[0];
    assert_string_equal(mirror->prefix, key);
    writer_documents_begin(mirror, false);
    writer_documents_put(mirror, key, "void");
    writer_documents_begin(mirror, false); /* started over */
    assert_int_equal(f->told, 0);
    writer_documents_commit(mirror, true);
    assert_told(f, 1, "a.test. none");
    writer_documents_put(mirror, key, "{}");
    writer_documents_commit(mirror, false);
    assert_told(f, 2, "a.test. {}");
    writer_documents_commit(mirror, false);
    assert_int_equal(f->told, 2);
    writer_documents_del(mirror, key);
    writer_documents_commit(mirror, false);
    assert_told(f, 3, "a.test. none");
    writer_documents_put(mirror, key, "1");
    writer_documents_commit(mirror, false);
    writer_documents_begin(mirror, true); /* an etcd without its data */
    writer_documents_commit(mirror, true);
    assert_told(f, 4, "a.test. 1");
    writer_documents_begin(mirror, false);
    writer_documents_commit(mirror, true);
    assert_told(f, 5, "a.test. none");
}

UNIT_TEST_ON(test_domains, struct fixture *f)
{
    set_domains(f, "a.test", "b.test");
    assert_int_equal(started, 2);
    writer_documents_put(&mirrors[1], "/kube2sky/b.test/config", "{}");
    writer_documents_commit(&mirrors[1], false);
    assert_told(f, 1, "b.test. {}");
    set_domains(f, "b.test", "c.test");
    assert_int_equal(started, 3);
    assert_false(mirrors[0].is_running);
    assert_true(mirrors[1].is_running);
    assert_string_equal(mirrors[2].prefix, "/kube2sky/c.test/config");
    set_domains(f, "b.test", "b.test");
    assert_int_equal(started, 3);
    assert_false(mirrors[2].is_running);
}

/* So that whoever reads it sees that it is too long. */
UNIT_TEST_ON(test_a_document_that_is_too_long, struct fixture *f)
{
    size_t len = WRITER_DOCUMENT_MAX + 10;
    CLEANUP_FREE char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, ' ', len);
    text[len] = '\0';
    set_domains(f, "a.test", NULL);
    writer_documents_put(&mirrors[0], key, text);
    writer_documents_commit(&mirrors[0], false);
    assert_int_equal(f->len, WRITER_DOCUMENT_MAX + 1);
}

/* Not asked for every second; what was known of it stays. */
UNIT_TEST_ON(test_a_document_that_may_not_be_read, struct fixture *f)
{
    struct log_capture capture;
    const struct err away = {.code = ERR_UNAVAILABLE, .msg = "away"},
                     denied = {.code = ERR_REFUSED, .msg = "permission denied"};
    set_domains(f, "a.test", NULL);
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], false);
    log_capture_begin(&capture);
    mirrors[0].config.state(mirrors[0].config.data, &away);
    assert_true(mirrors[0].is_running);
    mirrors[0].config.state(mirrors[0].config.data, &denied);
    assert_false(mirrors[0].is_running);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "\n"), 1);
    assert_int_equal(log_occurrences(log, "permission denied"), 1);
    assert_string_equal(denied_text(f), "cannot read /kube2sky/a.test/config: permission denied");
    assert_told(f, 1, "a.test. {}");
    set_domains(f, "b.test", NULL); /* while the timer runs */
    assert_int_equal(started, 2);
}

/* ---- Over a restart ---- */

/* The caller frees it, unless nothing is saved. */
static bool check_writer_documents_save(const struct fixture *f, struct buf *out)
{
    buf_init(out, 1 << 20);
    bool is_saved = writer_documents_save(f->documents, out);
    if (!is_saved) {
        assert_int_equal(out->len, 0);
        buf_fini(out);
    }
    return is_saved;
}

/* Ends them, and starts others from what was saved. */
static void writer_documents_restart(struct fixture *f)
{
    struct buf saved;
    assert_true(check_writer_documents_save(f, &saved));
    assert_true(writer_documents_is_saved(buf_slice(&saved)));
    writer_documents_free(f->documents);
    f->documents = writer_documents_new(&(struct writer_documents_config){
        .loop = f->loop,
        .name = "config",
        .stale_max_ms = 5000,
        .saved = buf_slice(&saved),
        .changed = writer_documents_on_changed,
        .data = f,
    });
    f->told = started = 0;
    buf_fini(&saved);
}

static void assert_resumes(const struct etcd_mirror *mirror, const char *saved)
{
    assert_string_equal(mirror->saved, saved);
}

/* Known at once, and not told again by an etcd that has the same. */
UNIT_TEST_ON(test_documents_over_a_restart, struct fixture *f)
{
    set_domains(f, "a.test", "b.test");
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], true);
    writer_documents_commit(&mirrors[1], true);
    writer_documents_restart(f);
    assert_int_equal(f->told, 0);
    set_domains(f, "b.test", "a.test");
    assert_told(f, 2, "a.test. {}");
    assert_resumes(&mirrors[0], "mirror 1");
    assert_resumes(&mirrors[1], "mirror 0");
    writer_documents_del(&mirrors[1], key);
    writer_documents_commit(&mirrors[1], false);
    assert_told(f, 3, "a.test. none");
    writer_documents_put(&mirrors[0], "/kube2sky/b.test/config", "1");
    writer_documents_commit(&mirrors[0], false);
    assert_told(f, 4, "b.test. 1");
    set_domains(f, "a.test", NULL);
    set_domains(f, "a.test", "b.test"); /* what was saved of it is long past */
    assert_int_equal(f->told, 4);
    assert_resumes(&mirrors[2], "");
}

/* A document stays, like the records, until an etcd that came back empty is complete. */
UNIT_TEST_ON(test_a_document_that_another_etcd_lacks, struct fixture *f)
{
    set_domains(f, "a.test", NULL);
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], true);
    writer_documents_restart(f);
    set_domains(f, "a.test", NULL);
    writer_documents_begin(&mirrors[0], true);
    writer_documents_commit(&mirrors[0], true);
    assert_told(f, 1, "a.test. {}");
    writer_documents_begin(&mirrors[0], false);
    writer_documents_commit(&mirrors[0], true);
    assert_told(f, 2, "a.test. none");
}

UNIT_TEST_ON(test_documents_that_cannot_be_saved, struct fixture *f)
{
    const struct err denied = {.code = ERR_REFUSED, .msg = "permission denied"};
    struct buf saved;
    set_domains(f, "a.test", "b.test");
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], true);
    assert_false(check_writer_documents_save(f, &saved)); /* nothing is known of b.test */
    mirrors[1].config.state(mirrors[1].config.data, &denied);
    assert_true(check_writer_documents_save(f, &saved)); /* nothing ever will be */
    buf_fini(&saved);
    can_save = false;
    assert_false(check_writer_documents_save(f, &saved));
    can_save = true;
    buf_init(&saved, 8);
    assert_false(writer_documents_save(f->documents, &saved));
    buf_fini(&saved);
    writer_documents_restart(f);
    set_domains(f, "a.test", "b.test");
    assert_told(f, 2, "b.test. none");
    assert_resumes(&mirrors[0], "mirror 0");
    assert_resumes(&mirrors[1], "");
}

static struct fixture *reentered;

static void set_again(void *data, const struct dname *domain, struct slice value, int64_t revision)
{
    writer_documents_on_changed(data, domain, value, revision);
    set_domains(reentered, "a.test", "b.test");
}

/* Whoever learns of a document sets the same domains again. */
UNIT_TEST_ON(test_the_same_domains_from_inside, struct fixture *f)
{
    struct buf saved;
    set_domains(f, "a.test", "b.test");
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], true);
    writer_documents_put(&mirrors[1], "/kube2sky/b.test/config", "1");
    writer_documents_commit(&mirrors[1], true);
    assert_true(check_writer_documents_save(f, &saved));
    writer_documents_free(f->documents);
    f->told = started = 0;
    reentered = f;
    f->documents = writer_documents_new(&(struct writer_documents_config){
        .loop = f->loop,
        .name = "config",
        .stale_max_ms = 5000,
        .saved = buf_slice(&saved),
        .changed = set_again,
        .data = f,
    });
    buf_fini(&saved);
    set_domains(f, "a.test", "b.test");
    assert_told(f, 2, "b.test. 1");
    assert_int_equal(started, 2);
}

UNIT_TEST_ON(test_bytes_that_are_no_documents, struct fixture *f)
{
    struct buf saved;
    set_domains(f, "a.test", "b.test");
    writer_documents_put(&mirrors[0], key, "{}");
    writer_documents_commit(&mirrors[0], true);
    writer_documents_commit(&mirrors[1], true);
    assert_true(check_writer_documents_save(f, &saved));
    for (size_t len = 0; len < saved.len; len++) {
        assert_false(writer_documents_is_saved(slice_of(saved.data, len)));
    }
    buf_append_char(&saved, 0);
    assert_false(writer_documents_is_saved(buf_slice(&saved)));
    static const char *const wrong[] = {
        "\x01\0\0\0\x01\0\x02\0\0\0\0\0\0\0\0",          /* neither there nor not */
        "\x01\0\0\0\x01\0\0\0\0\0\x01x\0\0\0\0",         /* a text without a document */
        "\x01\0\0\0\x01\0\x01\0\0\0\x01x\0\0\0\x04else", /* no mirror's */
        "\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0",          /* a name, and a byte */
    };
    static const size_t lens[] = {15, 16, 20, 16};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_false(writer_documents_is_saved(slice_of(wrong[i], lens[i])));
    }
    assert_true(writer_documents_is_saved(slice_of("\x01\0\0\0\x01\0\x01\0\0\0\x01x\0\0\0\0", 16)));
    buf_fini(&saved);
}
