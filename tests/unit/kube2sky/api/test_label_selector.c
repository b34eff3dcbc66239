/* label_selector: what the API accepts, and what it would reject. */
#include "kube2sky/api/label_selector.h"

#include "tests/support/unit_test.h"

#define TEN      "abcdefghij"
#define SIXTY    TEN TEN TEN TEN TEN TEN
#define LABELS63 SIXTY "abc"

UNIT_TEST(test_selectors)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: fine */
    } cases[] = {
        {"", NULL},
        {"  ", NULL},
        {"a", NULL},
        {"!a", NULL},
        {"! a", NULL},
        {"a=b", NULL},
        {"a = b", NULL},
        {"a==b", NULL},
        {"a!=b", NULL},
        {"a=", NULL},
        {"a=,b", NULL},
        {"a in (b)", NULL},
        {"a in(b, c ,d)", NULL},
        {"a notin (b,c), !d, e=f", NULL},
        {"a in ( )", "expected a label's value at byte 8"},
        {"a in (,b)", NULL},
        {"in in (in)", NULL},
        {"app.kubernetes.io/name=web_1.x", NULL},
        {"A-1.b_C/x", "expected a label's name at byte 1"},
        {LABELS63 "=" LABELS63, NULL},
        {LABELS63 "d", "expected a label's name at byte 1"},
        {"a=" LABELS63 "d", "expected a label's value at byte 3"},
        {"a b", "expected =, !=, in, notin or `,` at byte 3"},
        {"a inn (b)", "expected =, !=, in, notin or `,` at byte 3"},
        {"a in b", "expected `(` at byte 6"},
        {"a in (b", "expected `,` or `)` at byte 8"},
        {"a in (b c)", "expected `,` or `)` at byte 9"},
        {"a in (b))", "expected `,` or the end at byte 9"},
        {"a,", "expected a label's name at byte 3"},
        {",a", "expected a label's name at byte 1"},
        {"a,,b", "expected a label's name at byte 3"},
        {"!", "expected a label's name at byte 2"},
        {"!a=b", "expected `,` or the end at byte 3"},
        {"=b", "expected a label's name at byte 1"},
        {"a=b=c", "expected `,` or the end at byte 4"},
        {"a=-b", "expected a label's value at byte 3"},
        {"a=b-", "expected a label's value at byte 3"},
        {"a=b/c", "expected a label's value at byte 3"},
        {"a&b", "expected `,` or the end at byte 2"},
        {"a>1", "expected `,` or the end at byte 2"},
        {"a\n", "expected `,` or the end at byte 2"},
        {"/a", "expected a label's name at byte 1"},
        {"a/", "expected a label's name at byte 1"},
        {"a/b/c", "expected a label's name at byte 1"},
        {"a..b/c", "expected a label's name at byte 1"},
        {"-a/c", "expected a label's name at byte 1"},
        {"a-.b/c", "expected a label's name at byte 1"},
        {"a.b-/c", "expected a label's name at byte 1"},
        {"a./c", "expected a label's name at byte 1"},
        {"caf\xc3\xa9", "expected `,` or the end at byte 4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        int rc = label_selector_check(slice_str(cases[i].in), &err);
        assert_that(rc == (cases[i].want ? ERR_SYNTAX : 0) &&
                        (!cases[i].want || strcmp(err.msg, cases[i].want) == 0),
                    "`%s`: got %d %s", cases[i].in, rc, err.msg);
    }
}
