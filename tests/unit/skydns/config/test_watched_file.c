/* A file that changes in every way that files do, and what of it cannot be read. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skydns/config/watched_file_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { PATH_LEN = 128, BYTES_MAX = 64 };

struct fixture {
    struct ev_loop *loop;
    char folder[PATH_LEN / 2];
    char path[PATH_LEN];
    struct watched_file *file;
    struct buf text;
    unsigned changes;
};

static void watched_file_on_changed(void *data)
{
    struct fixture *f = data;
    f->changes++;
}

static const char *in_folder(const struct fixture *f, const char *name)
{
    static char paths[4][PATH_LEN];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, PATH_LEN, "%s/%s", f->folder, name); /* fits */
    return path;
}

static void watched_file_setup(struct fixture *f)
{
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/watched_file.XXXXXX"); /* fits */
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/file", f->folder); /* fits */
    f->loop = ev_loop_new(0);
    buf_init(&f->text, BYTES_MAX);
}

static void watched_file_teardown(struct fixture *f)
{
    char command[PATH_LEN];
    watched_file_free(f->file);
    buf_fini(&f->text);
    ev_loop_destroy(f->loop);
    (void)snprintf(command, sizeof(command), "rm -r %s", f->folder); /* fits */
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a name of our own */
}

UNIT_FIXTURE(struct fixture, watched_file_setup, watched_file_teardown)

static void config_watched_file_watch(struct fixture *f)
{
    f->file = watched_file_new(&(struct watched_file_config){.loop = f->loop,
                                                             .path = f->path,
                                                             .bytes_max = BYTES_MAX,
                                                             .changed = watched_file_on_changed,
                                                             .data = f});
}

static const char *watched_file_text_of(struct fixture *f)
{
    struct err err;
    assert_that(watched_file_read(f->file, &f->text, &err) >= 0, "%s", err.msg);
    return buf_cstr(&f->text);
}

static bool watched_file_has_changed(const void *data)
{
    const struct fixture *f = data;
    return f->changes > 0;
}

static void watched_file_await_change(struct fixture *f)
{
    loop_until(f->loop, watched_file_has_changed, f);
    assert_int_equal(f->changes, 1);
    f->changes = 0;
}

UNIT_TEST_ON(test_written_replaced_removed, struct fixture *f)
{
    struct err err;
    file_from(f->path, "one");
    config_watched_file_watch(f);
    assert_string_equal(watched_file_text_of(f), "one");
    file_from(f->path, "two, in place");
    watched_file_await_change(f);
    assert_string_equal(watched_file_text_of(f), "two, in place");
    file_from(in_folder(f, "new"), "three");
    assert_int_equal(rename(in_folder(f, "new"), f->path), 0);
    watched_file_await_change(f);
    assert_string_equal(watched_file_text_of(f), "three");
    assert_int_equal(unlink(f->path), 0);
    watched_file_await_change(f);
    assert_int_equal(watched_file_read(f->file, &f->text, &err), -ENOENT);
    assert_non_null(strstr(err.msg, f->path));
    file_from(f->path, "four");
    watched_file_await_change(f);
    assert_string_equal(watched_file_text_of(f), "four");
}

/* Replaces a volume's content as the kubelet does: the old folder goes later, or not at all. */
UNIT_TEST_ON(test_a_link_that_leads_elsewhere, struct fixture *f)
{
    assert_int_equal(mkdir(in_folder(f, "..1"), 0700), 0);
    assert_int_equal(mkdir(in_folder(f, "..2"), 0700), 0);
    file_from(in_folder(f, "..1/file"), "one");
    file_from(in_folder(f, "..2/file"), "two");
    assert_int_equal(symlink("..1", in_folder(f, "..data")), 0);
    assert_int_equal(symlink("..data/file", f->path), 0);
    config_watched_file_watch(f);
    assert_string_equal(watched_file_text_of(f), "one");
    assert_int_equal(symlink("..2", in_folder(f, "..new")), 0);
    assert_int_equal(rename(in_folder(f, "..new"), in_folder(f, "..data")), 0);
    watched_file_await_change(f);
    assert_string_equal(watched_file_text_of(f), "two");
}

/* A change that came before the first read is part of it. */
UNIT_TEST_ON(test_nothing_new, struct fixture *f)
{
    file_from(f->path, "one");
    config_watched_file_watch(f);
    file_from(f->path, "two");
    assert_string_equal(watched_file_text_of(f), "two");
    file_from(in_folder(f, "another"), "x"); /* an event, but not of this file */
    file_from(in_folder(f, "another"), "xy");
    file_from(f->path, "three");
    watched_file_await_change(f);
}

UNIT_TEST_ON(test_what_cannot_be_read, struct fixture *f)
{
    struct err err;
    char text[BYTES_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[BYTES_MAX] = '\0';
    file_from(f->path, text);
    config_watched_file_watch(f);
    assert_string_equal(watched_file_text_of(f), text);
    text[BYTES_MAX] = 'x';
    text[BYTES_MAX + 1] = '\0';
    file_from(f->path, text);
    assert_int_equal(watched_file_read(f->file, &f->text, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.msg, "at most 64 bytes"));
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(watched_file_read(f->file, &f->text, &err), -EINVAL);
    assert_int_equal(rmdir(f->path), 0);
    assert_int_equal(mkfifo(f->path, 0600), 0); /* whose opening would wait for a writer */
    assert_int_equal(watched_file_read(f->file, &f->text, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "a plain file"));
}
