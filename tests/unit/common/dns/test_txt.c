/* The escapes of a TXT record's text. */
#include "common/dns/record.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_escapes)
{
    static const struct {
        const char *text, *want;
        size_t len;
    } rows[] = {
        {"", "", 0},
        {"plain \"text\" $%&", "plain \"text\" $%&", 16},
        {"v=DKIM1\\; k=rsa", "v=DKIM1; k=rsa", 14},
        {"\\\\", "\\", 1},
        {"a\\\\065", "a\\065", 5}, /* the backslash is itself escaped */
        {"\\065\\066", "AB", 2},
        {"\\000x", "\0x", 2},
        {"\\255", "\377", 1},
        {"\\300\\999", "\x2c\xe7", 2}, /* modulo 256 */
        {"\\06", "06", 2},
        {"\\6", "6", 1},
        {"\\06x", "06x", 3},
        {"\\0655", "A5", 2},
        {"\\t\\n\\\"", "tn\"", 3},
        {"end\\", "end", 3},
        {"\\", "", 0},
        {"\xc3\xa9\\\xc3\xa9", "\xc3\xa9\xc3\xa9", 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice text = slice_str(rows[i].text);
        uint8_t *out = malloc(rows[i].len + 1); /* exact, for the sanitizer */
        assert_non_null(out);
        out[rows[i].len] = 0xaa;
        size_t counted = txt_unescape(text, NULL), len = txt_unescape(text, out);
        assert_that(counted == rows[i].len && len == counted &&
                        memcmp(out, rows[i].want, len) == 0 && out[len] == 0xaa &&
                        txt_has_escapes(text) == (strchr(rows[i].text, '\\') != NULL),
                    "`%s`: %zu, %zu: %.*s", rows[i].text, counted, len, (int)len, out);
        free(out);
    }
}
