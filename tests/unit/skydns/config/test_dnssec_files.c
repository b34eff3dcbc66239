/* Tests which keys are in force as files and settings change: at the start, in rollovers, with
 * files that cannot be used. With real files and keys of the real tools. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skydns/config/dnssec_files.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

enum { PATH_LEN = 128 };

struct fixture {
    struct ev_loop *loop;
    char folder[PATH_LEN / 2];
    struct options options;
    struct dnssec_files *files;
    unsigned changes;
    struct log_capture capture;
};

static void dnssec_files_on_changed(void *data)
{
    struct fixture *f = data;
    f->changes++;
}

static void set_domain(struct fixture *f, const char *domain)
{
    assert_true(dname_from_text(slice_str(domain), &f->options.domains[0]));
    f->options.domain_count = 1;
}

static void dnssec_files_setup(struct fixture *f)
{
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/dnssec_files.XXXXXX"); /* fits */
    assert_non_null(mkdtemp(f->folder));
    f->loop = ev_loop_new(0);
    f->options.scache = 100;
    set_domain(f, "cluster.local");
    f->files = dnssec_files_new(&(struct dnssec_files_config){
        .loop = f->loop, .changed = dnssec_files_on_changed, .data = f});
}

static void dnssec_files_teardown(struct fixture *f)
{
    char command[PATH_LEN];
    dnssec_files_free(f->files);
    ev_loop_destroy(f->loop);
    (void)snprintf(command, sizeof(command), "rm -r %s", f->folder); /* fits */
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a name of our own */
}

UNIT_FIXTURE(struct fixture, dnssec_files_setup, dnssec_files_teardown)

/* ---- Files ---- */

static const char *path_of(const struct fixture *f, const char *base, const char *ending)
{
    static char paths[4][PATH_LEN];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, PATH_LEN, "%s/%s%s", f->folder, base, ending); /* fits */
    return path;
}

/* By renaming, as who cares about readers does. */
static void write_half(const struct fixture *f, const char *base, const char *ending,
                       const char *text)
{
    const char *path = path_of(f, "new", ending);
    file_from(path, text);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(rename(path, path_of(f, base, ending)), 0);
}

static void write_pair(const struct fixture *f, const char *base, enum sample_key_name name)
{
    write_half(f, base, ".key", sample_keys[name].public_text);
    write_half(f, base, ".private", sample_keys[name].private_text);
}

static void remove_pair(const struct fixture *f, const char *base)
{
    assert_int_equal(unlink(path_of(f, base, ".key")), 0);
    assert_int_equal(unlink(path_of(f, base, ".private")), 0);
}

/* "a b": those in the folder. */
static void config_dnssec_files_set_list(struct fixture *f, const char *first, const char *second)
{
    (void)snprintf(f->options.dnssec, sizeof(f->options.dnssec), "%s%s%s", path_of(f, first, ""),
                   second ? "," : "", second ? path_of(f, second, "") : ""); /* fits */
}

static uint16_t dnssec_files_tag_of(enum sample_key_name name)
{
    struct signing_key *key = sample_key_new(name);
    uint16_t tag = key->tag;
    signing_key_free(key);
    return tag;
}

/* ---- What is in force ---- */

static size_t key_count(const struct fixture *f)
{
    const struct dnssec *keys = dnssec_files_keys(f->files);
    size_t count = 0;
    for (size_t i = 0; keys && i < dnssec_zone_count(keys); i++) {
        count += dnssec_zone_at(keys, i)->key_count;
    }
    return count;
}

static bool has_key(const struct fixture *f, enum sample_key_name name)
{
    const struct dnssec *keys = dnssec_files_keys(f->files);
    uint16_t tag = dnssec_files_tag_of(name);
    for (size_t i = 0; keys && i < dnssec_zone_count(keys); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(keys, i);
        for (size_t k = 0; k < zone->key_count; k++) {
            if (zone->keys[k]->tag == tag) {
                return true;
            }
        }
    }
    return false;
}

static void dnssec_files_open_files(struct fixture *f)
{
    struct err err = {0};
    int r = dnssec_files_open(f->files, &f->options, &err);
    if (r == 0) {
        r = dnssec_files_begin(f->files, &f->options, true, &err);
    }
    assert_that(r == 0, "%s", err.msg);
}

static bool dnssec_files_has_changed(const void *data)
{
    const struct fixture *f = data;
    return f->changes > 0;
}

static void dnssec_files_await_change(struct fixture *f)
{
    loop_until(f->loop, dnssec_files_has_changed, f);
    f->changes = 0;
}

static bool has_unusable(const void *data)
{
    const struct fixture *f = data;
    return dnssec_files_unusable(f->files) > 0;
}

static bool has_no_unusable(const void *data)
{
    return !has_unusable(data);
}

/* ---- Start ---- */

UNIT_TEST_ON(test_none, struct fixture *f)
{
    dnssec_files_open_files(f);
    assert_null(dnssec_files_keys(f->files));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
    CLEANUP_BUF struct buf text = buf_of(100);
    dnssec_files_text(f->files, &f->options.domains[0], &text);
    assert_int_equal(text.len, 0);
    dnssec_files_free(NULL);
}

UNIT_TEST_ON(test_two_kinds_of_keys, struct fixture *f)
{
    write_pair(f, "ksk", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "zsk", SAMPLE_ECDSAP256_ZSK);
    config_dnssec_files_set_list(f, "ksk", "zsk");
    log_capture_begin(&f->capture);
    dnssec_files_open_files(f);
    const char *log = log_capture_end(&f->capture);
    char want[PATH_LEN];
    (void)snprintf(want, sizeof(want), "key_signing_keys=%u/13 zone_signing_keys=%u/13\n",
                   dnssec_files_tag_of(SAMPLE_ECDSAP256_KSK),
                   dnssec_files_tag_of(SAMPLE_ECDSAP256_ZSK)); /* fits */
    assert_int_equal(log_occurrences(log, "signing answers zone=cluster.local."), 1);
    assert_int_equal(log_occurrences(log, want), 1);
    assert_int_equal(log_occurrences(log, "\n"), 1);
    assert_int_equal(key_count(f), 2);
    CLEANUP_BUF struct buf text = buf_of(OPTIONS_DNSSEC_MAX);
    dnssec_files_text(f->files, &f->options.domains[0], &text);
    assert_string_equal(buf_cstr(&text), f->options.dnssec);
}

static void expect_unusable(struct fixture *f, int code, const char *part)
{
    struct err err = {0};
    struct dnssec_files *files = dnssec_files_new(&(struct dnssec_files_config){.loop = f->loop});
    int r = dnssec_files_open(files, &f->options, &err);
    if (r == 0) {
        r = dnssec_files_begin(files, &f->options, true, &err);
    }
    assert_that((r == ERR_USAGE) == (code == ERR_USAGE) && r != 0 && strstr(err.msg, part),
                "%d %s, expected %d %s", r, err.msg, code, part);
    dnssec_files_free(files);
}

UNIT_TEST_ON(test_unusable_at_the_start, struct fixture *f)
{
    config_dnssec_files_set_list(f, "a", NULL);
    expect_unusable(f, -ENOENT, "a.key`: No such file");
    write_half(f, "a", ".key", sample_keys[SAMPLE_ED25519].public_text);
    expect_unusable(f, -ENOENT, "a.private`: No such file");
    write_half(f, "a", ".private", sample_keys[SAMPLE_ECDSAP256_ZSK].private_text);
    expect_unusable(f, ERR_SYNTAX, "a.private`");
    write_half(f, "a", ".private", "");
    expect_unusable(f, ERR_SYNTAX, "a.private`");
    write_pair(f, "a", SAMPLE_RSASHA256); /* of skydns.local */
    expect_unusable(f, ERR_USAGE, "a`: a key of skydns.local.: expected one of the domains");
    write_pair(f, "a", SAMPLE_ED25519);
    write_pair(f, "b", SAMPLE_ED25519);
    config_dnssec_files_set_list(f, "a", "b");
    expect_unusable(f, ERR_USAGE, "flag -dnssec");
}

/* Without etcd's document, nobody knows whether the domain is one. */
UNIT_TEST_ON(test_uncertain_domains, struct fixture *f)
{
    struct err err;
    write_pair(f, "a", SAMPLE_RSASHA256);
    config_dnssec_files_set_list(f, "a", NULL);
    assert_int_equal(dnssec_files_open(f->files, &f->options, &err), 0);
    log_capture_begin(&f->capture);
    assert_int_equal(dnssec_files_begin(f->files, &f->options, false, &err), 0);
    dnssec_files_set(f->files, &f->options);
    assert_int_equal(log_occurrences(log_capture_end(&f->capture), "is no zone of ours"), 1);
    assert_null(dnssec_files_keys(f->files));
    set_domain(f, "skydns.local");
    dnssec_files_set(f->files, &f->options);
    assert_int_equal(key_count(f), 1);
    set_domain(f, "cluster.local");
    dnssec_files_set(f->files, &f->options);
    assert_null(dnssec_files_keys(f->files));
}

static void on_time(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
    ev_timer_stop(loop, timer);
    *(bool *)timer->data = true;
}

static bool dnssec_files_is_true(const void *data)
{
    return *(const bool *)data;
}

/* While etcd is asked which domains are ours, no key has a foreign owner, and nothing is
 * published. */
UNIT_TEST_ON(test_files_change_before_the_settings_are_known, struct fixture *f)
{
    struct err err;
    bool is_over = false;
    ev_timer timer;
    set_domain(f, "skydns.local");
    write_pair(f, "a", SAMPLE_RSASHA256);
    config_dnssec_files_set_list(f, "a", NULL);
    assert_int_equal(dnssec_files_open(f->files, &f->options, &err), 0);
    write_pair(f, "a", SAMPLE_RSASHA512);
    log_capture_begin(&f->capture);
    ev_timer_init(&timer, on_time, 5 * DNSSEC_FILES_SETTLE_MS / 1000.0, 0.);
    timer.data = &is_over;
    ev_timer_start(f->loop, &timer);
    loop_until(f->loop, dnssec_files_is_true, &is_over);
    assert_string_equal(log_capture_end(&f->capture), "");
    assert_int_equal(f->changes, 0);
    assert_int_equal(dnssec_files_begin(f->files, &f->options, true, &err), 0);
    assert_true(has_key(f, SAMPLE_RSASHA256));
    dnssec_files_await_change(f);
    assert_true(has_key(f, SAMPLE_RSASHA512));
}

UNIT_TEST_ON(test_warnings, struct fixture *f)
{
    set_domain(f, "skydns.local");
    write_pair(f, "a", SAMPLE_RSASHA1);
    assert_int_equal(chmod(path_of(f, "a", ".private"), 0644), 0);
    config_dnssec_files_set_list(f, "a", NULL);
    log_capture_begin(&f->capture);
    dnssec_files_open_files(f);
    dnssec_files_reload(f->files);
    const char *log = log_capture_end(&f->capture);
    assert_int_equal(log_occurrences(log, "not recommended any more"), 1);
    assert_int_equal(log_occurrences(log, "others may read a private key"), 1);
    assert_int_equal(log_occurrences(log, "\n"), 3);
}

/* ---- Settings ---- */

UNIT_TEST_ON(test_other_settings, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "b", SAMPLE_ED25519);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    const struct dnssec *before = dnssec_files_keys(f->files);
    dnssec_files_set(f->files, &f->options);
    dnssec_files_reload(f->files);
    assert_ptr_equal(dnssec_files_keys(f->files), before); /* with what is kept */
    struct dnssec *held = dnssec_ref(dnssec_files_keys(f->files));
    f->options.scache = 200;
    dnssec_files_set(f->files, &f->options);
    assert_ptr_not_equal(dnssec_files_keys(f->files), held);
    dnssec_unref(held);
    assert_int_equal(dnssec_figures(dnssec_files_keys(f->files)).cached_max >= 200, true);
    config_dnssec_files_set_list(f, "a", "b");
    dnssec_files_set(f->files, &f->options);
    assert_int_equal(key_count(f), 2);
    f->options.dnssec[0] = '\0';
    log_capture_begin(&f->capture);
    dnssec_files_set(f->files, &f->options);
    assert_int_equal(log_occurrences(log_capture_end(&f->capture), "no longer signing answers"), 1);
    assert_null(dnssec_files_keys(f->files));
    assert_int_equal(f->changes, 0); /* who sets publishes */
}

/* A list that cannot be used counts when it can. */
UNIT_TEST_ON(test_list_that_waits, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    config_dnssec_files_set_list(f, "b", NULL);
    log_capture_begin(&f->capture);
    dnssec_files_set(f->files, &f->options);
    dnssec_files_set(f->files, &f->options);
    const char *log = log_capture_end(&f->capture);
    assert_int_equal(log_occurrences(log, "cannot use the keys of the changed list"), 1);
    assert_int_equal(log_occurrences(log, "b.key"), 1);
    assert_true(has_key(f, SAMPLE_ECDSAP256_KSK));
    assert_true(dnssec_files_is_refused(f->files));
    assert_int_equal(dnssec_files_unusable(f->files), 1);
    write_pair(f, "b", SAMPLE_ED25519);
    dnssec_files_await_change(f);
    assert_true(has_key(f, SAMPLE_ED25519));
    assert_int_equal(key_count(f), 1);
    assert_false(dnssec_files_is_refused(f->files));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
    config_dnssec_files_set_list(f, "c", NULL);
    dnssec_files_set(f->files, &f->options);
    assert_true(dnssec_files_is_refused(f->files));
    config_dnssec_files_set_list(f, "b", NULL); /* the one in force */
    dnssec_files_set(f->files, &f->options);
    assert_false(dnssec_files_is_refused(f->files));
    assert_true(has_key(f, SAMPLE_ED25519));
}

UNIT_TEST_ON(test_list_of_another_zone, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "b", SAMPLE_RSASHA256);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    config_dnssec_files_set_list(f, "b", NULL);
    dnssec_files_set(f->files, &f->options);
    assert_true(dnssec_files_is_refused(f->files));
    assert_true(has_key(f, SAMPLE_ECDSAP256_KSK));
    set_domain(f, "skydns.local");
    dnssec_files_set(f->files, &f->options);
    assert_false(dnssec_files_is_refused(f->files));
    assert_true(has_key(f, SAMPLE_RSASHA256));
    assert_int_equal(key_count(f), 1);
}

/* ---- Files that change ---- */

UNIT_TEST_ON(test_broken_files, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_ZSK);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    log_capture_begin(&f->capture);
    write_half(f, "a", ".key", sample_keys[SAMPLE_ED25519].public_text);
    loop_until(f->loop, has_unusable, f);
    const char *log = log_capture_end(&f->capture);
    assert_int_equal(log_occurrences(log, "cannot use the changed files of a key"), 1);
    assert_int_equal(log_occurrences(log, "\n"), 1);
    assert_true(has_key(f, SAMPLE_ECDSAP256_ZSK));
    assert_int_equal(f->changes, 0);
    write_half(f, "a", ".key", sample_keys[SAMPLE_ECDSAP256_ZSK].public_text);
    loop_until(f->loop, has_no_unusable, f);
    assert_int_equal(f->changes, 0); /* the same key */
    write_pair(f, "a", SAMPLE_RSASHA256);
    loop_until(f->loop, has_unusable, f);
    assert_true(has_key(f, SAMPLE_ECDSAP256_ZSK)); /* not of its zone */
    write_pair(f, "a", SAMPLE_ED25519);
    dnssec_files_await_change(f);
    assert_true(has_key(f, SAMPLE_ED25519));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
}

/* Each half is written by itself: nothing is told of the moment between. */
UNIT_TEST_ON(test_replaced_files, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    log_capture_begin(&f->capture);
    write_half(f, "a", ".private", sample_keys[SAMPLE_LDNS_ED25519].private_text);
    ev_run(f->loop, EVRUN_NOWAIT);
    write_half(f, "a", ".key", sample_keys[SAMPLE_LDNS_ED25519].public_text);
    dnssec_files_await_change(f);
    const char *log = log_capture_end(&f->capture);
    assert_int_equal(log_occurrences(log, "signing answers"), 1);
    assert_int_equal(log_occurrences(log, "\n"), 1);
    assert_true(has_key(f, SAMPLE_LDNS_ED25519));
    assert_int_equal(key_count(f), 1);
}

UNIT_TEST_ON(test_rollover_of_files, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "b", SAMPLE_LDNS_ED25519);
    config_dnssec_files_set_list(f, "a", "b");
    dnssec_files_open_files(f);
    remove_pair(f, "a");
    dnssec_files_await_change(f);
    assert_int_equal(key_count(f), 1);
    assert_true(has_key(f, SAMPLE_LDNS_ED25519));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
    log_capture_begin(&f->capture);
    remove_pair(f, "b"); /* the last one of the zone */
    loop_until(f->loop, has_unusable, f);
    assert_int_equal(log_occurrences(log_capture_end(&f->capture), "gone, keeping it"), 1);
    assert_true(has_key(f, SAMPLE_LDNS_ED25519));
    write_pair(f, "a", SAMPLE_LDNS_ECDSAP384);
    dnssec_files_await_change(f);
    assert_int_equal(key_count(f), 1); /* which takes its place */
    assert_true(has_key(f, SAMPLE_LDNS_ECDSAP384));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
}

/* Nothing would lead from the parent's DS record to the other key. */
UNIT_TEST_ON(test_last_key_with_sep, struct fixture *f)
{
    write_pair(f, "ksk", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "zsk", SAMPLE_ECDSAP256_ZSK);
    config_dnssec_files_set_list(f, "ksk", "zsk");
    dnssec_files_open_files(f);
    remove_pair(f, "ksk");
    loop_until(f->loop, has_unusable, f);
    assert_int_equal(key_count(f), 2);
    write_pair(f, "ksk", SAMPLE_ECDSAP256_KSK);
    loop_until(f->loop, has_no_unusable, f);
    remove_pair(f, "zsk");
    dnssec_files_await_change(f);
    assert_int_equal(key_count(f), 1);
    assert_true(has_key(f, SAMPLE_ECDSAP256_KSK));
}

/* Both at once, and then together in one file each. */
UNIT_TEST_ON(test_keys_that_become_the_same, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    write_pair(f, "b", SAMPLE_LDNS_ED25519);
    config_dnssec_files_set_list(f, "a", "b");
    dnssec_files_open_files(f);
    write_pair(f, "b", SAMPLE_ECDSAP256_KSK);
    loop_until(f->loop, has_unusable, f);
    assert_true(dnssec_files_is_refused(f->files));
    assert_true(has_key(f, SAMPLE_LDNS_ED25519)); /* until there is another */
    write_pair(f, "b", SAMPLE_LDNS_ECDSAP384);
    dnssec_files_await_change(f);
    assert_true(has_key(f, SAMPLE_LDNS_ECDSAP384));
    assert_int_equal(dnssec_files_unusable(f->files), 0);
}

/* SIGHUP. */
UNIT_TEST_ON(test_reload, struct fixture *f)
{
    write_pair(f, "a", SAMPLE_ECDSAP256_KSK);
    config_dnssec_files_set_list(f, "a", NULL);
    dnssec_files_open_files(f);
    write_pair(f, "a", SAMPLE_LDNS_ED25519);
    dnssec_files_reload(f->files);
    assert_true(has_key(f, SAMPLE_LDNS_ED25519));
    assert_int_equal(f->changes, 0);
    write_half(f, "a", ".private", "");
    dnssec_files_reload(f->files);
    assert_true(has_key(f, SAMPLE_LDNS_ED25519));
    assert_int_equal(dnssec_files_unusable(f->files), 1);
}
