/* explain_compare_texts: what only one of two explanations has. */
#include "common/base/buf.h"
#include "skydns/pages/explain_client.h"
#include "tests/support/unit_test.h"

enum { TEXT_MAX = 4096 };

static void check_compared(const char *before, const char *after, const char *right)
{
    CLEANUP_BUF struct buf out = buf_of(TEXT_MAX);
    explain_compare_texts(before, after, &out);
    assert_string_equal(buf_cstr(&out), right);
}

#define SAME "no difference: both answers come from the same records\n"

UNIT_TEST(test_compare_labels)
{
    check_compared("a A: NOERROR\n"
                   "past       1\n"
                   "answer     x\n"
                   "           y\n"
                   "authority  y\n",
                   "a A: NOERROR\n"
                   "past       2\n"
                   "answer     y\n"
                   "           z\n"
                   "authority  y\n",
                   "< a A: NOERROR\n"
                   "< past       1\n"
                   "< answer     x\n"
                   "> a A: NOERROR\n"
                   "> past       2\n"
                   "> answer     z\n");
}

UNIT_TEST(test_compare_order_and_number)
{
    check_compared("1\n2\nx\ny\nx\n", "1\n2\ny\nx\nx\n", "< 1\n< 2\n> 1\n> 2\n" SAME);
    check_compared("1\n2\nx\ny\nx\n", "1\n2\ny\nx\n", "< 1\n< 2\n< x\n> 1\n> 2\n");
}

UNIT_TEST(test_compare_keys)
{
    check_compared("1\n2\n\nname exists\n"
                   "  + /a = 1\n"
                   "      revision 5\n"
                   "  + /b = 1\n"
                   "      revision 5\n",
                   "1\n2\n\nname exists\n"
                   "  + /a = 1\n"
                   "      revision 6\n"
                   "  + /b = 1\n"
                   "      revision 5\n",
                   "< 1\n< 2\n"
                   "<   + /a = 1\n"
                   "<       revision 5\n"
                   "> 1\n> 2\n"
                   ">   + /a = 1\n"
                   ">       revision 6\n");
}

/* Whatever a server sends. */
UNIT_TEST(test_compare_odd_texts)
{
    check_compared("", "", SAME);
    check_compared("      x", "           ", "<       x\n>            \n" SAME);
    check_compared("1\n2\n           3\nlonger than a label\n           4", "1\n",
                   "< 1\n< 2\n<            3\n< longer than a label\n< longer than4\n> 1\n");
}
