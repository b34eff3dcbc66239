#include "tests/support/skydns/snapshot_copy.h"

#include <unistd.h>

#include "skydns/snapshot/snapshot_file.h"
#include "tests/support/unit_test.h"

void snapshot_copy(struct snapshot_image *image, struct snapshot_content *ret_content)
{
    char folder[] = "/tmp/snapshot.XXXXXX", path[64];
    struct err err;
    size_t bytes;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder); /* fits */
    const struct snapshot_file_write write = {.path = path, .image = image};
    assert_int_equal(snapshot_file_write(&write, &bytes, &err), 0);
    snapshot_image_fini(image);
    assert_int_equal(snapshot_file_read(path, ret_content, &err), 0);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/file.tmp", folder); /* fits */
    (void)unlink(path);                                        /* perhaps it is not there */
    assert_int_equal(rmdir(folder), 0);
}

void snapshot_copy_set(struct snapshot_content *content, enum snapshot_section section,
                       struct slice bytes)
{
    buf_clear(&content->sections[section]);
    buf_append_slice(&content->sections[section], bytes);
}
