/* causes.h: which object a change is told to come from, and who makes room for whom. */
#include "kube2sky/naming/causes.h"

#include "tests/support/unit_test.h"

static void note_event(struct causes *causes, const char *owner, const char *name,
                       const char *version)
{
    causes_note(causes, slice_str(owner),
                &(struct cause_object){
                    .kind = "endpointslices", .ns = "default", .name = name, .version = version});
}

UNIT_FIXTURE_MADE(causes_new(), causes_free)

UNIT_TEST_ON(test_the_last_event_before_the_transaction, struct causes *causes)
{
    static const char owner[] = "svc/default/web";
    assert_null(causes_confirm(causes, slice_str(owner), 1, 1, 0));
    note_event(causes, owner, "web-a", "10");
    assert_null(causes_confirm(causes, slice_str(owner), 1, 1, 0)); /* not by that event */
    note_event(causes, owner, "web-b", "11");
    causes_board(causes, slice_str(owner));
    note_event(causes, owner, "web-c", "12"); /* is of the next one */
    const struct cause *cause = causes_confirm(causes, slice_str(owner), 77, 2, 1);
    assert_non_null(cause);
    assert_string_equal(cause->kind, "endpointslices");
    assert_string_equal(cause->object, "default/web-b");
    assert_string_equal(cause->version, "11");
    assert_true(cause->objects == 2 && cause->revision == 77 && cause->puts == 2 &&
                cause->deletes == 1 && cause->time_ms > 0);
    assert_null(causes_confirm(causes, slice_str(owner), 78, 1, 0));
    causes_board(causes, slice_str(owner));
    causes_board(causes, slice_str(owner)); /* it was refused, and planned again */
    assert_string_equal(causes_confirm(causes, slice_str(owner), 79, 1, 0)->version, "12");
    assert_string_equal(causes_get(causes, slice_str(owner), 0)->version, "12");
    assert_string_equal(causes_get(causes, slice_str(owner), 1)->version, "11");
    assert_null(causes_get(causes, slice_str(owner), 2));
    assert_null(causes_get(causes, slice_str("svc/default/other"), 0));
}

UNIT_TEST_ON(test_the_latest_are_kept, struct causes *causes)
{
    static const char owner[] = "svc/default/web";
    for (int i = 0; i < 3 * CAUSES_KEPT; i++) {
        char version[16];
        (void)snprintf(version, sizeof(version), "%d", i);
        note_event(causes, owner, "web-a", version);
        causes_board(causes, slice_str(owner));
        assert_non_null(causes_confirm(causes, slice_str(owner), i + 1, 1, 0));
    }
    for (size_t i = 0; i < CAUSES_KEPT; i++) {
        assert_int_equal(causes_get(causes, slice_str(owner), i)->revision, 3 * CAUSES_KEPT - i);
    }
    assert_null(causes_get(causes, slice_str(owner), CAUSES_KEPT));
}

/* Returns how many of the namespace's owners are known. */
static int count_loud(const struct causes *causes)
{
    int count = 0;
    for (int i = 0; i < 3 * CAUSES_MAX; i++) {
        char owner[32];
        (void)snprintf(owner, sizeof(owner), "svc/loud/web-%d", i);
        count += causes_get(causes, slice_str(owner), 0) != NULL;
    }
    return count;
}

/* A namespace that floods the table pushes out its own. */
UNIT_TEST_ON(test_shares, struct causes *causes)
{
    static const char quiet[] = "svc/quiet/web";
    note_event(causes, quiet, "web-a", "1");
    causes_board(causes, slice_str(quiet));
    (void)causes_confirm(causes, slice_str(quiet), 1, 1, 0);
    for (int i = 0; i < 3 * CAUSES_MAX; i++) {
        char owner[32];
        (void)snprintf(owner, sizeof(owner), "svc/loud/web-%d", i);
        note_event(causes, owner, "web-a", "2");
        causes_board(causes, slice_str(owner));
        assert_non_null(causes_confirm(causes, slice_str(owner), 2, 1, 0));
    }
    assert_int_equal(count_loud(causes), CAUSES_MAX - 1);
    assert_non_null(causes_get(causes, slice_str(quiet), 0));
    assert_null(causes_get(causes, slice_str("svc/loud/web-0"), 0));
    char last[32];
    (void)snprintf(last, sizeof(last), "svc/loud/web-%d", 3 * CAUSES_MAX - 1);
    assert_non_null(causes_get(causes, slice_str(last), 0));
    note_event(causes, "ConfigMap", "odd", ""); /* an owner without a namespace */
    assert_int_equal(count_loud(causes), CAUSES_MAX - 2);
}

UNIT_TEST_ON(test_long_texts_are_cut, struct causes *causes)
{
    char name[2 * CAUSE_TEXT_MAX];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    note_event(causes, "svc/default/web", name, name);
    causes_board(causes, slice_str("svc/default/web"));
    const struct cause *cause = causes_confirm(causes, slice_str("svc/default/web"), 1, 1, 0);
    assert_int_equal(strlen(cause->object), sizeof(cause->object) - 1);
    assert_int_equal(strlen(cause->version), sizeof(cause->version) - 1);
}
