#include "common/base/privileges.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

UNIT_TEST(test_users)
{
    static const struct {
        const char *text;
        uid_t uid;
        gid_t gid;
    } cases[] = {
        {"root", 0, 0},     {"0", 0, 0},      {"root:root", 0, 0},           {"daemon", 1, 1},
        {"daemon:0", 1, 0}, {"1:root", 1, 0}, {"54321:54322", 54321, 54322}, {"0:54322", 0, 54322},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct privileges_user user = {.is_set = false};
        struct err err = {0};
        assert_that(privileges_find_user(cases[i].text, &user, &err) >= 0, "%s: %s", cases[i].text,
                    err.msg);
        assert_true(user.is_set);
        assert_string_equal(user.text, cases[i].text);
        assert_int_equal(user.uid, cases[i].uid);
        assert_int_equal(user.gid, cases[i].gid);
    }
}

UNIT_TEST(test_no_users)
{
    char longest[300];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    const struct {
        const char *text, *want;
    } cases[] = {
        {"", "expected USER"},
        {":root", "expected USER"},
        {longest, "expected USER"},
        {"no-such-user", "no user `no-such-user`"},
        {"1x", "no user `1x`"},
        {"4294967295:0", "no user"}, /* means "no change" */
        {"-1:0", "no user"},
        {"root:no-such-group", "no group `no-such-group`"},
        {"root:", "no group ``"},
        {"54321", "expected UID:GID"},
        {"root:4294967295", "no group"},
        {"root:1:2", "no group `1:2`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct privileges_user user = {.is_set = false};
        struct err err = {0};
        assert_int_equal(privileges_find_user(cases[i].text, &user, &err), ERR_USAGE);
        assert_false(user.is_set);
        assert_that(strstr(err.msg, cases[i].want), "%s: %s", cases[i].text, err.msg);
    }
}

/* In a child: nothing of it can be taken back. Drops, then raises in vain; the second drop has
 * nothing to do. */
UNIT_TEST(test_drop)
{
    const struct privileges_user same = {.is_set = false};
    const char *const files[] = {"", "/dev/null"};
    pid_t child = fork();
    if (child == 0) {
        struct err err;
        privileges_begin(&same);
        bool is_right = privileges_drop(&same, files, ARRAY_LEN(files), &err) == 0;
        privileges_raise_bind();
        is_right = is_right && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        privileges_drop_thread();
        is_right = is_right && privileges_drop(&same, files, ARRAY_LEN(files), &err) == 0;
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The own user needs no privilege; another one does. */
UNIT_TEST(test_become)
{
    pid_t child = fork();
    if (child == 0) {
        struct privileges_user user = {.is_set = true, .text = "me", .uid = getuid()};
        struct err err = {0};
        user.gid = getgid();
        bool is_right = privileges_drop(&user, NULL, 0, &err) == 0;
        user = (struct privileges_user){.is_set = true, .text = "you", .uid = 54321, .gid = 54321};
#ifndef __SANITIZE_THREAD__ /* whose own thread may still switch, so that the C library aborts */
        is_right = is_right && privileges_drop(&user, NULL, 0, &err) == -EPERM &&
                   strncmp(err.msg, "become user you: ", 17) == 0;
#endif
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
