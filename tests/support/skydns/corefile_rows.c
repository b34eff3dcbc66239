#include "tests/support/skydns/corefile_rows.h"

#include "skydns/corefile/translate_internal.h"
#include "tests/support/unit_test.h"

static const char *corefile_variable(const char *name)
{
    return strcmp(name, "ZONE") == 0 ? "cluster.local" : NULL;
}

const char *corefile_translated(const char *text, struct buf *out)
{
    struct corefile corefile;
    struct translation t;
    struct err err = {.code = 0};
    buf_clear(out);
    translation_init(&t, "Corefile");
    int r = corefile_parse(slice_str(text), corefile_variable, &corefile, &err);
    if (r == 0) {
        r = corefile_translate(&corefile, &t, &err);
    }
    if (r == 0) {
        translation_print(&t, out);
    } else {
        buf_append_str(out, err.msg);
    }
    translation_fini(&t);
    corefile_fini(&corefile);
    return buf_cstr(out);
}

void corefile_check_rows(const struct corefile_row *rows, size_t count)
{
    CLEANUP_BUF struct buf out = buf_of(64 * 1024 * 1024);
    for (size_t i = 0; i < count; i++) {
        const char *got = corefile_translated(rows[i].text, &out);
        for (size_t j = 0; j < ARRAY_LEN(rows[i].want) && rows[i].want[j]; j++) {
            assert_that(strstr(got, rows[i].want[j]), "%s\ngot\n%s\nwithout `%s`", rows[i].text,
                        got, rows[i].want[j]);
        }
        assert_that(!rows[i].without || !strstr(got, rows[i].without), "%s\ngot\n%s\nwith `%s`",
                    rows[i].text, got, rows[i].without);
    }
}
