/* flaw_list: the latest first, each once, long texts cut, the oldest gone. */
#include "kube2sky/reconcile/flaw_list.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_flaws)
{
    static struct flaw_list list;
    char text[2 * FLAW_TEXT_MAX];
    for (size_t i = 0; i < FLAWS_KEPT + 3; i++) {
        (void)snprintf(text, sizeof(text), "%zu", i); /* fits */
        flaw_list_add(&list, text, "why");
    }
    assert_int_equal(list.count, FLAWS_KEPT);
    assert_string_equal(list.items[0].what, "22");
    assert_string_equal(list.items[FLAWS_KEPT - 1].what, "3");
    flaw_list_add(&list, "20", "why");
    assert_int_equal(list.count, FLAWS_KEPT);
    assert_string_equal(list.items[0].what, "20");
    assert_string_equal(list.items[1].what, "22");
    assert_string_equal(list.items[3].what, "19");
    assert_string_equal(list.items[FLAWS_KEPT - 1].what, "3");
    flaw_list_add(&list, "20", "another reason");
    assert_string_equal(list.items[1].reason, "why");
    assert_string_equal(list.items[FLAWS_KEPT - 1].what, "4");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    flaw_list_add(&list, text, text);
    flaw_list_add(&list, text, text);
    assert_int_equal(strlen(list.items[0].reason), FLAW_TEXT_MAX);
    assert_string_equal(list.items[1].reason, "another reason");
}
