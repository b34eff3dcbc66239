/* A Corefile as text: whatever it says, the translation ends, its notes stay comments, and a shell
 * reads nothing in it but two commands and a hosts file. */
#include <assert.h>

#include "common/base/buf.h"
#include "skydns/corefile/translate_internal.h"
#include "tests/fuzz/fuzz_target.h"

static const char *skydns_corefile_variable(const char *name)
{
    return *name == 'S' ? "a value" : NULL;
}

static bool corefile_starts(const char *line, const char *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Words of commands may have newlines in quotes, so only what is outside of them is checked. */
static void check_lines(const char *text)
{
    bool is_quoted = false, is_hosts = false, begins = true;
    for (const char *c = text; *c; c++) {
        bool is_known = corefile_starts(c, "# ") || corefile_starts(c, "skydns") ||
                        corefile_starts(c, "kube2sky") || corefile_starts(c, "  -") ||
                        corefile_starts(c, "  '") || corefile_starts(c, "cat >") || *c == '\n';
        assert(!begins || is_quoted || is_hosts || is_known);
        if (begins && !is_quoted) {
            is_hosts = is_hosts ? !corefile_starts(c, "END\n") : corefile_starts(c, "cat >");
            if (*c == '#' || is_hosts || corefile_starts(c, "END\n")) {
                c += strcspn(c, "\n");
            }
        }
        if (!is_quoted && c[0] == '\\' && c[1] == '\'') {
            c++; /* an apostrophe between two quotations */
            continue;
        }
        is_quoted ^= *c == '\'';
        begins = *c == '\n' && !is_quoted;
    }
    assert(!is_quoted && !is_hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corefile corefile;
    struct translation t;
    struct err err = {.code = 0};
    CLEANUP_BUF struct buf out = buf_of(256 * 1024 * 1024);
    translation_init(&t, "Corefile");
    int r = corefile_parse(slice_of(data, size), skydns_corefile_variable, &corefile, &err);
    if (r == 0) {
        r = corefile_translate(&corefile, &t, &err);
    }
    if (r == 0) {
        translation_print(&t, &out);
        assert(!out.failed && !memchr(out.data, '\0', out.len));
        check_lines(buf_cstr(&out));
    } else {
        assert(*err.msg);
    }
    translation_fini(&t);
    corefile_fini(&corefile);
    return 0;
}
