/* common/etcd_mirror.h against a real etcd: what the owner holds after each commit is compared with
 * what etcd holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/etcd_mirror.h"
#include "common/xalloc.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"

/* As simple an owner as there can be: keys in an array, in the order they came. */
enum { KEYS_MAX = 2000 };

struct owner {
    char keys[KEYS_MAX][32];
    size_t count;      /* committed and not */
    size_t full_from;  /* where the puts of the full read under way begin */
    bool is_full_read; /* full_begin came, its commit did not */
    unsigned full_begins;
    unsigned fulls;   /* commits of full reads */
    unsigned commits; /* of changes */
    int64_t revision;
    unsigned ups;
    unsigned downs;
    struct err down;
    size_t value_bytes;
    int64_t newest_put;          /* the largest mod_revision of the full read under way */
    void (*between_pages)(void); /* called once, at the first put */

    int64_t want_revision; /* for the waits below */
    unsigned want_fulls;
    unsigned want_ups;
};

struct fixture {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;   /* of the mirror */
    struct etcd *writer; /* of the test */
};

static struct fixture f;
static struct owner o;

static struct etcd *client(void)
{
    struct etcd *etcd;
    struct err err;
    const struct etcd_config config = {
        .loop = f.loop, .endpoints = etcd_proc_url(f.proc), .call_timeout_ms = 60000};
    if (etcd_new(&config, &etcd, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return etcd;
}

static int start(void **state)
{
    (void)state;
    f.loop = ev_loop_new(EVFLAG_AUTO);
    if (!etcd_proc_missing()) {
        f.proc = etcd_proc_start();
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

static int each(void **state)
{
    (void)state;
    memset(&o, 0, sizeof(o));
    if (f.proc) {
        f.etcd = client();
        f.writer = client();
    }
    return 0;
}

static int each_end(void **state)
{
    (void)state;
    etcd_free(f.etcd);
    etcd_free(f.writer);
    f.etcd = f.writer = NULL;
    return 0;
}

static void need_etcd(void)
{
    const char *why = etcd_proc_missing();
    if (why) {
        print_message("skipped: %s\n", why);
        skip();
    }
}

/* ---- The owner ---- */

static size_t find(size_t from, size_t to, struct slice key)
{
    for (size_t i = from; i < to; i++) {
        if (slice_equal(slice_str(o.keys[i]), key)) {
            return i;
        }
    }
    return to;
}

static void on_full_begin(void *data)
{
    (void)data;
    if (o.is_full_read) {
        o.count = o.full_from; /* the earlier one is void */
    }
    o.is_full_read = true;
    o.full_from = o.count;
    o.newest_put = 0;
    o.full_begins++;
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    size_t from = o.is_full_read ? o.full_from : 0;
    (void)data;
    o.value_bytes += kv->value.len;
    o.newest_put = kv->mod_revision > o.newest_put ? kv->mod_revision : o.newest_put;
    if (o.between_pages) {
        o.between_pages();
        o.between_pages = NULL;
    }
    if (find(from, o.count, kv->key) < o.count) {
        assert_false(o.is_full_read); /* a key comes once in a full read */
        return;
    }
    assert_in_range(o.count, 0, KEYS_MAX - 1);
    assert_in_range(kv->key.len, 1, sizeof(o.keys[0]) - 1);
    memcpy(o.keys[o.count], kv->key.ptr, kv->key.len);
    o.keys[o.count++][kv->key.len] = '\0';
}

static void on_del(void *data, struct slice key, int64_t revision)
{
    size_t i = find(0, o.count, key);
    (void)data;
    assert_false(o.is_full_read);
    assert_true(revision > o.revision);
    assert_true(i < o.count); /* all deletions in these tests are of keys that were there */
    memmove(o.keys[i], o.keys[i + 1], (o.count - i - 1) * sizeof(o.keys[0]));
    o.count--;
}

static void on_commit(void *data, int64_t revision, bool full)
{
    (void)data;
    assert_true(full == o.is_full_read);
    assert_true(full ? revision >= o.revision : revision > o.revision);
    if (full) {
        assert_true(o.newest_put <= revision);
        memmove(o.keys, o.keys[o.full_from], (o.count - o.full_from) * sizeof(o.keys[0]));
        o.count -= o.full_from;
        o.fulls++;
    } else {
        o.commits++;
    }
    o.is_full_read = false;
    o.revision = revision;
}

static void on_state(void *data, const struct err *err)
{
    (void)data;
    if (err) {
        o.downs++;
        o.down = *err;
    } else {
        o.ups++;
    }
}

static struct etcd_mirror *mirror(const char *prefix, int64_t page_size)
{
    const struct etcd_mirror_config config = {
        .prefix = slice_str(prefix),
        .page_size = page_size,
        .full_begin = on_full_begin,
        .put = on_put,
        .del = on_del,
        .commit = on_commit,
        .state = on_state,
    };
    return etcd_mirror_start(f.etcd, &config);
}

/* ---- Waits and comparisons ---- */

static bool has_revision(const void *data)
{
    (void)data;
    return o.revision >= o.want_revision;
}

static bool has_fulls(const void *data)
{
    (void)data;
    return o.fulls >= o.want_fulls;
}

static bool has_ups(const void *data)
{
    (void)data;
    return o.ups >= o.want_ups;
}

static bool is_down(const void *data)
{
    (void)data;
    return o.downs > 0;
}

static void wait_revision(int64_t revision)
{
    o.want_revision = revision;
    loop_until(f.loop, has_revision, NULL);
}

static void wait_fulls(unsigned fulls)
{
    o.want_fulls = fulls;
    loop_until(f.loop, has_fulls, NULL);
}

static void wait_ups(unsigned ups)
{
    o.want_ups = ups;
    loop_until(f.loop, has_ups, NULL);
}

static int64_t put(const char *key)
{
    return sync_put(f.loop, f.writer, key, slice_str("v"));
}

struct comparison {
    bool is_done;
    size_t count;
    size_t missing;
};

static void on_compare(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct comparison *c = data;
    assert_null(err);
    c->is_done = true;
    c->count = reply->count;
    for (size_t i = 0; i < reply->count; i++) {
        c->missing += find(0, o.count, reply->kvs[i].key) == o.count;
    }
}

static bool is_compared(const void *data)
{
    return ((const struct comparison *)data)->is_done;
}

static void expect_same_as_etcd(const char *prefix)
{
    char end[32];
    struct comparison c = {.is_done = false};
    const struct etcd_range range = {.key = slice_str(prefix),
                                     .range_end = etcd_prefix_end(slice_str(prefix), end),
                                     .revision = o.revision};
    etcd_range(f.writer, &range, on_compare, &c);
    loop_until(f.loop, is_compared, &c);
    assert_int_equal(o.count, c.count);
    assert_int_equal(c.missing, 0);
}

/* ---- Tests ---- */

static void test_nothing_there(void **state)
{
    (void)state;
    need_etcd();
    int64_t before = put("/elsewhere");
    struct etcd_mirror *m = mirror("/none/", 0);
    wait_ups(1);
    assert_int_equal(o.fulls, 1);
    assert_int_equal(o.count, 0);
    assert_int_equal(o.revision, before);

    wait_revision(put("/none/first"));
    assert_int_equal(o.count, 1);
    wait_revision(sync_del(f.loop, f.writer, "/none/first"));
    assert_int_equal(o.count, 0);
    assert_int_equal(o.commits, 2);
    etcd_mirror_stop(m);
}

static void test_pages_and_changes(void **state)
{
    (void)state;
    need_etcd();
    int64_t revision = sync_put_many(f.loop, f.writer, "/m1/", 1000, slice_str("v"));
    struct etcd_mirror *m = mirror("/m1/", 64);
    wait_ups(1);
    assert_int_equal(o.fulls, 1);
    assert_int_equal(o.full_begins, 1);
    assert_int_equal(o.revision, revision);
    assert_int_equal(o.count, 1000);

    wait_revision(sync_put_many(f.loop, f.writer, "/m1/more/", 300, slice_str("v")));
    assert_int_equal(o.count, 1300);
    assert_in_range(o.commits, 1, 3);
    wait_revision(sync_del(f.loop, f.writer, "/m1/000500"));
    expect_same_as_etcd("/m1/");
    assert_int_equal(o.downs, 0);
    etcd_mirror_stop(m);
}

/* On a loop of its own, while the mirror's waits. */
static void change_pages_to_come(void)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    const struct etcd_config config = {
        .loop = loop, .endpoints = etcd_proc_url(f.proc), .call_timeout_ms = 60000};
    struct etcd *etcd;
    assert_int_equal(etcd_new(&config, &etcd, NULL), 0);
    sync_del(loop, etcd, "/m9/000003");
    sync_put(loop, etcd, "/m9/000004", slice_str("new"));
    o.want_revision = sync_put(loop, etcd, "/m9/000009", slice_str("new"));
    etcd_free(etcd);
    ev_loop_destroy(loop);
}

/* The pages are of one revision; what happens between them comes as changes. */
static void test_changes_between_pages(void **state)
{
    (void)state;
    need_etcd();
    int64_t before = sync_put_many(f.loop, f.writer, "/m9/", 8, slice_str("v"));
    o.between_pages = change_pages_to_come;
    struct etcd_mirror *m = mirror("/m9/", 2);
    wait_fulls(1);
    assert_int_equal(o.revision, before);
    assert_int_equal(o.count, 8);
    wait_revision(o.want_revision);
    assert_int_equal(o.count, 8);
    expect_same_as_etcd("/m9/");
    etcd_mirror_stop(m);
}

/* Every key there is: no prefix at all. */
static void test_empty_prefix(void **state)
{
    (void)state;
    need_etcd();
    put("a");
    put("\xff\xff");
    struct etcd_mirror *m = mirror("", 100);
    wait_ups(1);
    assert_true(find(0, o.count, slice_str("a")) < o.count);
    assert_true(find(0, o.count, slice_str("\xff\xff")) < o.count);
    wait_revision(sync_del(f.loop, f.writer, "\xff\xff"));
    assert_true(find(0, o.count, slice_str("\xff\xff")) == o.count);
    etcd_mirror_stop(m);
}

static void test_killed_and_restarted(void **state)
{
    (void)state;
    need_etcd();
    sync_put_many(f.loop, f.writer, "/m2/", 100, slice_str("v"));
    struct etcd_mirror *m = mirror("/m2/", 0);
    wait_ups(1);
    etcd_proc_kill(f.proc);
    loop_until(f.loop, is_down, NULL);
    assert_int_equal(o.down.code, ERR_UNAVAILABLE);
    etcd_proc_restart(f.proc);
    put("/m2/after");
    wait_revision(sync_del(f.loop, f.writer, "/m2/000050"));
    wait_ups(2);
    expect_same_as_etcd("/m2/");
    assert_int_equal(o.fulls, 1); /* resumed, not read again */
    assert_int_equal(o.downs, 1);
    etcd_mirror_stop(m);
}

/* Away while keys come and go and the history with them: everything is read again, and what is gone
 * is missing from the full read. The mirror's loop does not run between kill and compaction, so it
 * cannot have followed. */
static void test_compacted_while_away(void **state)
{
    (void)state;
    need_etcd();
    sync_put_many(f.loop, f.writer, "/m3/", 100, slice_str("v"));
    struct etcd_mirror *m = mirror("/m3/", 30);
    wait_ups(1);
    etcd_proc_kill(f.proc);
    loop_until(f.loop, is_down, NULL);
    etcd_proc_restart(f.proc);

    /* Another loop for the writer, so that the mirror stands still. */
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct etcd *writer;
    const struct etcd_config config = {
        .loop = loop, .endpoints = etcd_proc_url(f.proc), .call_timeout_ms = 60000};
    assert_int_equal(etcd_new(&config, &writer, NULL), 0);
    sync_del(loop, writer, "/m3/000007");
    int64_t last = sync_put(loop, writer, "/m3/new", slice_str("v"));
    etcd_proc_compact(f.proc, last);
    etcd_free(writer);
    ev_loop_destroy(loop);

    wait_fulls(2);
    wait_ups(2);
    assert_int_equal(o.count, 100);
    assert_true(find(0, o.count, slice_str("/m3/000007")) == o.count);
    expect_same_as_etcd("/m3/");
    wait_revision(put("/m3/follows"));
    assert_int_equal(o.count, 101);
    etcd_mirror_stop(m);
}

static void test_nobody_there_at_first(void **state)
{
    (void)state;
    need_etcd();
    put("/m4/a");
    etcd_proc_kill(f.proc);
    struct etcd_mirror *m = mirror("/m4/", 0);
    loop_until(f.loop, is_down, NULL);
    assert_int_equal(o.full_begins, 0); /* nothing is known */
    etcd_proc_restart(f.proc);
    wait_ups(1);
    assert_int_equal(o.count, 1);
    etcd_mirror_stop(m);
}

/* 25 values of 1.4 MB do not fit one message of 32 MiB: the page is halved until they do. */
static void test_page_too_large(void **state)
{
    (void)state;
    need_etcd();
    enum { VALUES = 25, VALUE = 1400000 };
    char *value = xcalloc(1, VALUE);
    for (int i = 0; i < VALUES; i++) {
        char key[32];
        snprintf(key, sizeof(key), "/m5/%02d", i);
        sync_put(f.loop, f.writer, key, slice_of(value, VALUE));
    }
    free(value);
    struct etcd_mirror *m = mirror("/m5/", 64);
    wait_ups(1);
    assert_int_equal(o.count, VALUES);
    assert_true(o.value_bytes >= (size_t)VALUES * VALUE);
    assert_int_equal(o.downs, 0);
    etcd_mirror_stop(m);
}

static void test_stop_under_way(void **state)
{
    (void)state;
    need_etcd();
    sync_put_many(f.loop, f.writer, "/m6/", 300, slice_str("v"));
    struct etcd_mirror *m = mirror("/m6/", 10);
    ev_run(f.loop, EVRUN_NOWAIT);
    etcd_mirror_stop(m);
    put("/elsewhere"); /* the loop runs */
    assert_int_equal(o.fulls, 0);
    etcd_mirror_stop(NULL);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, each, each_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(test_nothing_there),         WITH_CLIENT(test_pages_and_changes),
        WITH_CLIENT(test_changes_between_pages), WITH_CLIENT(test_empty_prefix),
        WITH_CLIENT(test_killed_and_restarted),  WITH_CLIENT(test_compacted_while_away),
        WITH_CLIENT(test_nobody_there_at_first), WITH_CLIENT(test_page_too_large),
        WITH_CLIENT(test_stop_under_way),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
