/* The line splitter: the same lines, however the bytes are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/xalloc.h"
#include "kube2sky/kube_lines.h"

/* Pushes a piece and writes the lines it completes, each with a '|'. */
static void feed(struct kube_lines *lines, struct slice piece, struct buf *out)
{
    struct slice line;
    kube_lines_push(lines, piece);
    while (kube_lines_next(lines, &line)) {
        buf_append_slice(out, line);
        buf_append_char(out, '|');
    }
}

static void test_every_cut(void **state)
{
    static const char text[] = "one\n\nthree 3\nx\nunfinished";
    static const char want[] = "one|three 3|x|";
    size_t len = strlen(text);
    (void)state;
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b++) {
            struct kube_lines lines;
            struct buf out;
            kube_lines_init(&lines);
            buf_init(&out, 1024);
            feed(&lines, slice_of(text, a), &out);
            feed(&lines, slice_of(text + a, b - a), &out);
            feed(&lines, slice_of(text + b, len - b), &out);
            assert_false(lines.failed);
            if (strcmp(buf_cstr(&out), want) != 0) {
                fail_msg("cut at %zu and %zu: got %s", a, b, buf_cstr(&out));
            }
            buf_fini(&out);
            kube_lines_fini(&lines);
        }
    }
}

static void test_byte_by_byte(void **state)
{
    static const char text[] = "one\ntwo\n";
    struct kube_lines lines;
    struct buf out;
    (void)state;
    kube_lines_init(&lines);
    buf_init(&out, 1024);
    for (size_t i = 0; i < strlen(text); i++) {
        feed(&lines, slice_of(text + i, 1), &out);
    }
    assert_string_equal(buf_cstr(&out), "one|two|");
    buf_fini(&out);
    kube_lines_fini(&lines);
}

/* A line of the limit passes, one byte more does not, whole or in pieces. */
static void test_limit(void **state)
{
    char *text = xmalloc(KUBE_LINE_MAX + 2);
    (void)state;
    memset(text, 'x', KUBE_LINE_MAX + 1);
    for (size_t len = KUBE_LINE_MAX; len <= KUBE_LINE_MAX + 1; len++) {
        for (size_t cut = 0; cut <= len; cut += len / 2) {
            struct kube_lines lines;
            struct slice line;
            size_t count = 0;
            text[len] = '\n';
            kube_lines_init(&lines);
            kube_lines_push(&lines, slice_of(text, cut));
            assert_false(kube_lines_next(&lines, &line));
            kube_lines_push(&lines, slice_of(text + cut, len + 1 - cut));
            while (kube_lines_next(&lines, &line)) {
                assert_int_equal(line.len, len);
                count++;
            }
            assert_int_equal(count, len == KUBE_LINE_MAX);
            assert_int_equal(lines.failed, len != KUBE_LINE_MAX);
            kube_lines_fini(&lines);
            text[len] = 'x';
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
