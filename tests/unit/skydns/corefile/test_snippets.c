/* Snippets of Corefiles, and their limits. */
#include "skydns/corefile/lexer_internal.h"
#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

/* A snippet is where it is imported, in blocks and in plugins, however deep. */
UNIT_TEST(test_snippets)
{
    static const struct corefile_row rows[] = {
        {"(s) {\nbind 10.0.0.1\n}\n. {\nimport s\n}", {"-addr=10.0.0.1:53 "}, "0.0.0.0"},
        {"(s) {\nimport t\n}\n(t) {\nbind 10.0.0.1\n}\n. {\nimport s\n}",
         {"-addr=10.0.0.1:53 "},
         "0.0.0.0"},
        {"(s) { bind 10.0.0.1\n}\n. { import s\nany\n}",
         {"-addr=10.0.0.1:53 ", "-any=hinfo"},
         NULL},
        {". {\nimport s\n}\n(s) {\nbind 10.0.0.1\n}", {"-addr=10.0.0.1:53 "}, "0.0.0.0"},
        {"(s) {\nacl {\nallow net 10.0.0.0/8\nblock\n}\n}\n. {\nimport s\n}",
         {"-allow=10.0.0.0/8"},
         NULL},
        {"(s) {\nblock\n}\n. {\nacl {\nallow net 10.0.0.0/8\nimport s\n}\n}",
         {"-allow=10.0.0.0/8"},
         "import"},
        {"(s) {\ntls_servername dns.test\n}\n. {\nforward . tls://9.9.9.9 {\nimport s\n}\n}",
         {"-nameservers=tls://9.9.9.9:853#dns.test"},
         "import"},
        {"(s) {\na.org {\nbind 10.0.0.1\nforward . 10.0.0.2\n}\n}\nimport s\n",
         {"-addr=10.0.0.1:53 ", "-stub=a.org=10.0.0.2:53 "},
         "import"},
        {"a.org\nimport s\n", {"Corefile:2: import s: files are not read"}, NULL},
        {"(s) {\n}\n. {\nimport s\n}", {"-addr=0.0.0.0:53 "}, "import"},
        {"(s) {\nany\n. {\nimport s\n}", {"expected }, found the end of the file"}, NULL},
        {". {\nimport\n}", {"2: import: expected one snippet or file"}, NULL},
        {"(s) {\nbind {args[0]}\n}\n. {\nimport s 10.0.0.1\n}",
         {"5: import: expected one snippet or file"},
         NULL},
        {"(a) {\nimport b\nimport b\nimport b\nimport b\n}\n(b) {\nimport c\nimport c\nimport c\n"
         "import c\nimport c\nimport c\nimport c\nimport c\n}\n(c) {\nimport d\nimport d\nimport "
         "d\n"
         "import d\nimport d\nimport d\nimport d\nimport d\n}\n(d) {\nimport e\nimport e\nimport "
         "e\n"
         "import e\nimport e\nimport e\nimport e\nimport e\n}\n(e) {\nimport f\nimport f\nimport "
         "f\n"
         "import f\nimport f\nimport f\nimport f\nimport f\n}\n(f) {\nimport g\nimport g\nimport "
         "g\n"
         "import g\nimport g\nimport g\nimport g\nimport g\n}\n(g) {\n}\n. {\nimport a\nimport a\n"
         "import a\nimport a\nimport a\nimport a\nimport a\nimport a\n}",
         {"expected at most 1000 imports, with those of snippets"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Text that doubles itself is refused. */
UNIT_TEST(test_limits_of_snippets)
{
    static const struct {
        unsigned lines, words, imports;
        const char *want;
    } rows[] = {
        {100, 4, 100, "-any=hinfo"},
        {1, 4, 1000, "-any=hinfo"},
        {1, 4, 1001, "1006: expected at most 1000 imports, with those of snippets"},
        {3333, 1, 3, "-any=hinfo"},
        {2001, 1, 5, "expected at most 10000 lines, with those of snippets"},
        {500, 20, 10, "-any=hinfo"},
        {500, 20, 11, "expected at most 100000 words from snippets"},
    };
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf out = buf_of(1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&text);
        buf_append_str(&text, "(a) {\n");
        for (unsigned k = 0; k < rows[i].lines * rows[i].words; k++) {
            buf_append_str(&text, k % rows[i].words ? " any" : "\nany");
        }
        buf_append_str(&text, "\n}\n. {\n");
        for (unsigned k = 0; k < rows[i].imports; k++) {
            buf_append_str(&text, "import a\n");
        }
        buf_append_str(&text, "}\n");
        const char *got = corefile_translated(buf_cstr(&text), &out);
        assert_that(strstr(got, rows[i].want), "row %zu: got\n%s", i, got);
    }
}
