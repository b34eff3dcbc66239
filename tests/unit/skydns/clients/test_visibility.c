/* Tests who may see a namespace: the public ones, those of the annotation, and the limits. */
#include "skydns/clients/visibility.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(visibility_unref, struct visibility)

static const struct client_space *visibility_space_of(const char *label)
{
    static struct client_space space;
    if (!label) {
        return NULL;
    }
    space = (struct client_space){.label_len = (uint8_t)strlen(label)};
    memcpy(space.label, label, space.label_len);
    return &space;
}

static bool clients_visibility_shows(const struct visibility *v, const char *ns, const char *client)
{
    return visibility_shows(v, slice_str(ns), visibility_space_of(client));
}

static bool visibility_add_name(void *data, struct slice ns)
{
    char *out = data;
    size_t len = strlen(out);
    (void)snprintf(out + len, 200 - len, "%s%.*s", len ? " " : "", (int)ns.len, ns.ptr);
    return true;
}

/* In no order: sorted by the test's tables. */
static const char *visibility_seen(const struct visibility *v, const char *client)
{
    static char text[200];
    text[0] = '\0';
    assert_true(visibility_each(v, visibility_space_of(client), visibility_add_name, text));
    return text;
}

static const struct slice public_names[] = {{"default", 7}, {"kube-system", 11}};

static struct visibility *with_text(enum visibility_unknown unknown, const char *text)
{
    const struct visible_namespace listed = {slice_str("shop"), slice_str(text)};
    return visibility_new(unknown, public_names, 2, &listed, 1);
}

UNIT_TEST(test_own_and_public)
{
    CLEANUP(visibility_unref_of)
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 2, NULL, 0);
    assert_true(clients_visibility_shows(v, "team-a", "team-a"));
    assert_false(clients_visibility_shows(v, "team-b", "team-a"));
    assert_false(clients_visibility_shows(v, "team", "team-a"));
    assert_false(clients_visibility_shows(v, "team-a", "team"));
    assert_true(clients_visibility_shows(v, "default", "team-a"));
    assert_true(clients_visibility_shows(v, "kube-system", NULL));
    assert_false(clients_visibility_shows(v, "team-a", NULL));
    assert_string_equal(visibility_seen(v, "default"), "default kube-system");
    assert_true(visibility_limits(v, NULL));
    assert_true(visibility_limits(v, visibility_space_of("team-a")));
}

UNIT_TEST(test_unknown_clients_see_all_if_told_so)
{
    CLEANUP(visibility_unref_of)
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_ALL, public_names, 2, NULL, 0);
    assert_false(visibility_limits(v, NULL));
    assert_true(visibility_limits(v, visibility_space_of("team-a")));
    assert_true(clients_visibility_shows(v, "team-a", NULL));
    assert_false(clients_visibility_shows(v, "team-b", "team-a"));
}

UNIT_TEST(test_annotations)
{
    static const struct {
        const char *text;
        bool a, b, everybody;
    } rows[] = {
        {"team-a,team-b", true, true, false},
        {" team-a ,\tteam-b\n", true, true, false},
        {"team-a", true, false, false},
        {"team-b,,team-b,", false, true, false},
        {"", false, false, false},
        {",", false, false, false},
        {" ", false, false, false},
        {"*", true, true, true},
        {"team-x, * ", true, true, true},
        {"team-a team-b", false, false, false}, /* no name */
        {"Team-A,team-b", false, true, false},  /* namespaces have no capitals */
        {"team-a.,-team-a,team_a,*,", true, true, true},
        {"team-*", false, false, false},
        {"**", false, false, false},
        {"\"team-a\"", false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(visibility_unref_of)
        struct visibility *v = with_text(VISIBILITY_UNKNOWN_PUBLIC, rows[i].text);
        bool same = clients_visibility_shows(v, "shop", "team-a") == rows[i].a &&
                    clients_visibility_shows(v, "shop", "team-b") == rows[i].b &&
                    clients_visibility_shows(v, "shop", "nobody") == rows[i].everybody &&
                    clients_visibility_shows(v, "shop", NULL) == rows[i].everybody &&
                    clients_visibility_shows(v, "shop", "shop");
        assert_that(same, "`%s`", rows[i].text);
        assert_false(clients_visibility_shows(v, "team-a", "shop")); /* one way only */
        assert_false(clients_visibility_shows(v, "team-a", "team-b"));
    }
}

UNIT_TEST(test_each_tells_every_namespace_once)
{
    const struct visible_namespace listed[] = {
        {slice_str("shop"), slice_str("team-a,team-a, team-b")},
        {slice_str("team-a"), slice_str("team-a")},
        {slice_str("default"), slice_str("team-a")},
        {slice_str("bank"), slice_str("team-a")},
        {slice_str("bank"), slice_str("team-c")}, /* in another domain */
    };
    struct visibility *v =
        visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 1, listed, ARRAY_LEN(listed));
    assert_string_equal(visibility_seen(v, "team-a"), "team-a default bank shop");
    assert_string_equal(visibility_seen(v, "team-b"), "team-b default shop");
    assert_string_equal(visibility_seen(v, "team-c"), "team-c default bank");
    assert_string_equal(visibility_seen(v, NULL), "default");
    visibility_unref(v);
}

static bool visibility_stop(void *data, struct slice ns)
{
    return --*(int *)data > 0;
}

UNIT_TEST(test_each_stops)
{
    const struct visible_namespace listed = {slice_str("shop"), slice_str("team-a")};
    CLEANUP(visibility_unref_of)
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 2, &listed, 1);
    for (int left = 1; left <= 4; left++) {
        int count = left;
        assert_false(visibility_each(v, visibility_space_of("team-a"), visibility_stop, &count));
        assert_int_equal(count, 0);
    }
}

/* ---- Limits ---- */

static char *names_text(unsigned count)
{
    char *text = xcalloc(count, 8), *at = text;
    for (unsigned i = 0; i < count; i++) {
        at += snprintf(at, 8, "n%u,", i % 100000);
    }
    return text;
}

UNIT_TEST(test_the_names_of_one_annotation)
{
    char *text = names_text(VISIBILITY_NAMES_MAX + 1), last[16], beyond[16];
    struct visibility *v = with_text(VISIBILITY_UNKNOWN_PUBLIC, text);
    (void)snprintf(last, sizeof(last), "n%u", VISIBILITY_NAMES_MAX - 1);
    (void)snprintf(beyond, sizeof(beyond), "n%u", VISIBILITY_NAMES_MAX);
    assert_true(clients_visibility_shows(v, "shop", last));
    assert_false(clients_visibility_shows(v, "shop", beyond));
    visibility_unref(v);
    free(text);
}

UNIT_TEST(test_public_and_listed_namespaces)
{
    struct slice names[VISIBILITY_PUBLIC_MAX + 1];
    char texts[VISIBILITY_PUBLIC_MAX + 1][8];
    CLEANUP_FREE struct visible_namespace *listed =
        xcalloc(VISIBILITY_LISTED_MAX + 1, sizeof(*listed));
    char(*labels)[12] = xcalloc(VISIBILITY_LISTED_MAX + 1, sizeof(*labels));
    for (unsigned i = 0; i <= VISIBILITY_PUBLIC_MAX; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "p%u", i);
        names[i] = slice_str(texts[i]);
    }
    for (unsigned i = 0; i <= VISIBILITY_LISTED_MAX; i++) {
        (void)snprintf(labels[i], sizeof(labels[i]), "l%05u", i);
        listed[i] = (struct visible_namespace){slice_str(labels[i]), slice_str("team-a")};
    }
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, names, ARRAY_LEN(names),
                                          listed, VISIBILITY_LISTED_MAX + 1);
    assert_true(clients_visibility_shows(v, "p63", NULL));
    assert_false(clients_visibility_shows(v, "p64", NULL));
    assert_true(clients_visibility_shows(v, "l00000", "team-a"));
    assert_true(clients_visibility_shows(v, "l65535", "team-a"));
    assert_false(clients_visibility_shows(v, "l65536", "team-a"));
    visibility_unref(v);
    free(labels);
}

UNIT_TEST(test_pairs_in_all)
{
    CLEANUP_FREE char *text = names_text(VISIBILITY_NAMES_MAX);
    enum { FULL = VISIBILITY_PAIRS_MAX / VISIBILITY_NAMES_MAX };
    struct visible_namespace listed[FULL + 2];
    char labels[FULL + 1][12];
    for (unsigned i = 0; i <= FULL; i++) {
        (void)snprintf(labels[i], sizeof(labels[i]), "l%04u", i);
        listed[i] = (struct visible_namespace){slice_str(labels[i]), slice_str(text)};
    }
    listed[FULL + 1] = (struct visible_namespace){slice_str("short"), slice_str("n1")};
    struct visibility *v =
        visibility_new(VISIBILITY_UNKNOWN_PUBLIC, NULL, 0, listed, ARRAY_LEN(listed));
    assert_true(clients_visibility_shows(v, "short", "n1")); /* the longest go without */
    assert_true(clients_visibility_shows(v, labels[FULL - 2], "n1"));
    assert_false(clients_visibility_shows(v, labels[FULL], "n1"));
    visibility_unref(v);
}

UNIT_TEST(test_labels_that_no_name_has)
{
    char label[70];
    memset(label, 'a', sizeof(label));
    const struct slice names[] = {slice_of("", 0), slice_of(label, 64), slice_of(label, 63)};
    const struct visible_namespace listed[] = {{names[0], slice_str("*")},
                                               {names[1], slice_str("*")}};
    CLEANUP(visibility_unref_of)
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, names, 3, listed, 2);
    assert_true(visibility_shows(v, names[2], NULL));
    assert_false(visibility_shows(v, names[1], NULL));
    assert_false(visibility_shows(v, names[0], NULL));
}

UNIT_TEST(test_references)
{
    struct visibility *v = with_text(VISIBILITY_UNKNOWN_PUBLIC, "team-a");
    assert_ptr_equal(visibility_ref(v), v);
    visibility_unref(v);
    assert_true(clients_visibility_shows(v, "shop", "team-a"));
    visibility_unref(v);
    assert_null(visibility_ref(NULL));
    visibility_unref(NULL);
}
