/* hosts_files_internal.h: real files that change, that cannot be read, that are too many for the
 * memory; and which of their lines are logged. */
#include "skydns/config/hosts_files_internal.h"

#include <unistd.h>

#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { HOSTS_PATH_LEN = 128, HOSTS_FILES = 2, TABLE_BYTES = 1 << 20 };

struct hosts_bed {
    struct ev_loop *loop;
    char folder[HOSTS_PATH_LEN / 2];
    char paths[HOSTS_FILES][HOSTS_PATH_LEN];
    struct flag_strings flag;
    struct hosts_files *files;
    unsigned changes;
};

static void hosts_bed_write(const struct hosts_bed *bed, size_t i, const char *text)
{
    replace_file_from(bed->paths[i], text);
}

static void hosts_bed_set_up(struct hosts_bed *bed)
{
    (void)snprintf(bed->folder, sizeof(bed->folder), "/tmp/hosts_files.XXXXXX"); /* fits */
    assert_non_null(mkdtemp(bed->folder));
    for (size_t i = 0; i < HOSTS_FILES; i++) {
        (void)snprintf(bed->paths[i], HOSTS_PATH_LEN, "%s/%zu", bed->folder, i); /* fits */
        bed->flag.items[bed->flag.count++] = bed->paths[i];
    }
    bed->loop = ev_loop_new(0);
    hosts_bed_write(bed, 0, "10.0.0.1 printer printer.example.\n");
    hosts_bed_write(bed, 1, "10.0.0.2 printer.example. # another address\nfd00::2 scanner\n");
}

static void hosts_bed_tear_down(struct hosts_bed *bed)
{
    hosts_files_free(bed->files);
    for (size_t i = 0; i < HOSTS_FILES; i++) {
        (void)unlink(bed->paths[i]); /* some tests remove one */
    }
    assert_int_equal(rmdir(bed->folder), 0);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct hosts_bed, hosts_bed_set_up, hosts_bed_tear_down)

static void hosts_bed_on_changed(void *data)
{
    struct hosts_bed *bed = data;
    bed->changes++;
}

static int hosts_bed_read(struct hosts_bed *bed, size_t bytes_max, struct err *err)
{
    return hosts_files_new(&(struct hosts_files_config){.loop = bed->loop,
                                                        .paths = &bed->flag,
                                                        .table_bytes_max = bytes_max,
                                                        .changed = hosts_bed_on_changed,
                                                        .data = bed},
                           &bed->files, err);
}

static void hosts_bed_open(struct hosts_bed *bed)
{
    struct err err = {0};
    assert_that(hosts_bed_read(bed, TABLE_BYTES, &err) == 0, "%s", err.msg);
}

/* Fails unless the name has these addresses: "10.0.0.1 10.0.0.2", "". */
static void hosts_bed_expect(const struct hosts_bed *bed, const char *name, const char *wanted)
{
    char text[256] = "", ip[INET6_ADDRSTRLEN];
    size_t count = 0, len = 0;
    struct dname dname = dname_from(name);
    const struct ip *ips = hosts_table_find(hosts_files_table(bed->files), &dname, &count);
    for (size_t i = 0; ips && i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
                                ip_format(&ips[i], ip));
        assert_true(len < sizeof(text));
    }
    assert_string_equal(text, wanted);
}

static bool hosts_bed_has_changed(const void *data)
{
    return ((const struct hosts_bed *)data)->changes > 0;
}

static bool hosts_bed_is_refused(const void *data)
{
    return hosts_files_is_refused(((const struct hosts_bed *)data)->files);
}

UNIT_TEST_ON(test_files_are_one_table, struct hosts_bed *bed)
{
    hosts_bed_open(bed);
    hosts_bed_expect(bed, "printer.", "10.0.0.1");
    hosts_bed_expect(bed, "printer.example.", "10.0.0.1 10.0.0.2");
    hosts_bed_expect(bed, "scanner.", "fd00::2");
    assert_int_equal(hosts_table_count(hosts_files_table(bed->files)), 3);
    assert_false(hosts_files_is_refused(bed->files));
    assert_int_equal(bed->changes, 0);
}

UNIT_TEST_ON(test_no_files, struct hosts_bed *bed)
{
    bed->flag.count = 0;
    hosts_bed_open(bed);
    assert_null(hosts_files_table(bed->files));
    hosts_files_reload(bed->files);
    assert_null(hosts_files_table(bed->files));
    assert_false(hosts_files_is_refused(bed->files));
}

/* At the start, each file must be there. */
UNIT_TEST_ON(test_a_file_is_missing_at_the_start, struct hosts_bed *bed)
{
    struct err err = {0};
    assert_int_equal(unlink(bed->paths[1]), 0);
    assert_true(hosts_bed_read(bed, TABLE_BYTES, &err) < 0);
    assert_null(bed->files);
    assert_non_null(strstr(err.msg, "flag -hosts: "));
    assert_non_null(strstr(err.msg, bed->paths[1]));
}

/* A changed file has its new names, and the others keep theirs. */
UNIT_TEST_ON(test_a_file_changes, struct hosts_bed *bed)
{
    hosts_bed_open(bed);
    hosts_bed_write(bed, 1, "10.0.0.3 scanner camera\n");
    loop_until(bed->loop, hosts_bed_has_changed, bed);
    hosts_bed_expect(bed, "printer.example.", "10.0.0.1");
    hosts_bed_expect(bed, "scanner.", "10.0.0.3");
    hosts_bed_expect(bed, "camera.", "10.0.0.3");
    assert_int_equal(bed->changes, 1);
}

/* A file that goes leaves its last content, says so, and counts again once it is back. */
UNIT_TEST_ON(test_a_file_goes_and_comes, struct hosts_bed *bed)
{
    struct log_capture capture;
    hosts_bed_open(bed);
    log_capture_begin(&capture);
    assert_int_equal(unlink(bed->paths[1]), 0);
    loop_until(bed->loop, hosts_bed_is_refused, bed);
    const char *text = log_capture_end(&capture);
    assert_non_null(strstr(text, "cannot use the changed hosts file"));
    assert_non_null(strstr(text, bed->paths[1]));
    hosts_bed_expect(bed, "scanner.", "fd00::2");
    assert_int_equal(bed->changes, 0);
    hosts_bed_write(bed, 1, "10.0.0.3 scanner\n");
    loop_until(bed->loop, hosts_bed_has_changed, bed);
    assert_false(hosts_files_is_refused(bed->files));
    hosts_bed_expect(bed, "scanner.", "10.0.0.3");
}

/* Reads all again without calling back: what it cannot read keeps its last content. */
UNIT_TEST_ON(test_reload, struct hosts_bed *bed)
{
    hosts_bed_open(bed);
    hosts_bed_write(bed, 0, "10.0.0.4 printer\n");
    assert_int_equal(unlink(bed->paths[1]), 0);
    hosts_files_reload(bed->files);
    hosts_bed_expect(bed, "printer.", "10.0.0.4");
    hosts_bed_expect(bed, "scanner.", "fd00::2");
    assert_true(hosts_files_is_refused(bed->files));
    assert_int_equal(bed->changes, 0);
    hosts_bed_write(bed, 1, "");
    hosts_files_reload(bed->files);
    hosts_bed_expect(bed, "scanner.", "");
    assert_false(hosts_files_is_refused(bed->files));
}

/* Bad lines are left out; of each file the first few are logged, and how many there are more. */
UNIT_TEST_ON(test_bad_lines, struct hosts_bed *bed)
{
    struct log_capture capture;
    hosts_bed_write(bed, 0,
                    "10.0.0.1 printer\n10.0.0.256 a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n10.0.0.5 last\n");
    hosts_bed_write(bed, 1, "10.0.0.2\n");
    log_capture_begin(&capture);
    hosts_bed_open(bed);
    const char *text = log_capture_end(&capture);
    hosts_bed_expect(bed, "printer.", "10.0.0.1");
    hosts_bed_expect(bed, "last.", "10.0.0.5");
    hosts_bed_expect(bed, "a.", "");
    assert_non_null(strstr(text, "line=2 "));
    assert_non_null(strstr(text, "line=9 "));
    assert_null(strstr(text, "line=10 "));
    assert_non_null(strstr(text, "lines=2\n"));
    assert_non_null(strstr(text, "line=1 "));
    assert_non_null(strstr(text, bed->paths[1]));
}

/* Without room, the first names stay, and the log names the flag, once. */
UNIT_TEST_ON(test_no_room_for_all, struct hosts_bed *bed)
{
    enum { NAMES = 1000, LINE_MAX = 40 };
    struct log_capture capture;
    struct err err = {0};
    CLEANUP_FREE char *text = calloc(NAMES, LINE_MAX);
    size_t len = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < NAMES; i++) {
        len += (size_t)snprintf(text + len, LINE_MAX, "10.1.%u.%u name-%u\n", i / 256, i % 256, i);
    }
    hosts_bed_write(bed, 1, text);
    log_capture_begin(&capture);
    assert_int_equal(hosts_bed_read(bed, 16384, &err), 0);
    const char *shown = log_capture_end(&capture);
    const struct hosts_table *table = hosts_files_table(bed->files);
    hosts_bed_expect(bed, "printer.", "10.0.0.1");
    hosts_bed_expect(bed, "name-0.", "10.1.0.0");
    hosts_bed_expect(bed, "name-999.", "");
    assert_in_range(hosts_table_count(table), 10, NAMES - 1);
    assert_true(hosts_table_left_out(table) > 0);
    const char *first = strstr(shown, "raise -hosts-max");
    assert_non_null(first);
    assert_null(strstr(first + 1, "raise -hosts-max"));
}
