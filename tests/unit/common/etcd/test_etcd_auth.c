/* Authentication of the etcd client against a real etcd that requires it: tokens that expire, a
 * password that changes, permissions that come and go. */
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_watch.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000 };

/* The user `app` may read and write below /app/. In base64: L2FwcC8= is /app/, L2FwcDA= /app0. */
static const char app_grant[] =
    "{\"name\":\"app\",\"perm\":{\"permType\":\"READWRITE\",\"key\":\"L2FwcC8=\","
    "\"range_end\":\"L2FwcDA=\"}}";
static const char key_grant[] =
    "{\"name\":\"app\",\"perm\":{\"permType\":\"READ\",\"key\":\"L2tleS9vZi9zdG9yZQ==\"}}";
static const char app_revoke[] =
    "{\"role\":\"app\",\"key\":\"L2FwcC8=\",\"range_end\":\"L2FwcDA=\"}";

static struct {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
    char password_file[64];
} f;

static void connect_as(const char *username, const char *password, const char *password_file)
{
    struct err err;
    const struct etcd_config config = {
        .loop = f.loop,
        .endpoints = etcd_proc_url(f.proc),
        .call_timeout_ms = CALL_TIMEOUT_MS,
        .username = username,
        .password = password,
        .password_file = password_file,
    };
    etcd_free(f.etcd);
    f.etcd = NULL;
    assert_that(etcd_new(&config, &f.etcd, &err) == 0, "%s", err.msg);
}

static void set_password(const char *password)
{
    CLEANUP_FREE char *body = xasprintf("{\"name\":\"app\",\"password\":\"%s\"}", password);
    etcd_proc_post(f.proc, "auth/user/changepw", body);
}

static void write_password_file(const char *text)
{
    replace_file_from(f.password_file, text);
}

static int etcd_auth_start(void **state)
{
    static const char *const arguments[] = {"--auth-token-ttl=1", "--logger=zap",
                                            "--log-outputs=stderr", NULL};
    f.loop = ev_loop_new(EVFLAG_AUTO);
    (void)snprintf(f.password_file, sizeof(f.password_file),
                   "/tmp/etcd-password-XXXXXX"); /* fits */
    int fd = mkstemp(f.password_file);
    assert_true(fd >= 0);
    close(fd);
    f.proc = etcd_proc_start_with(arguments);
    return 0;
}

static int etcd_auth_stop(void **state)
{
    if (f.proc) {
        (void)unlink(f.password_file);
    }
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

static int etcd_auth_each_end(void **state)
{
    etcd_free(f.etcd);
    f.etcd = NULL;
    return 0;
}

UNIT_TESTS_EACH(NULL, etcd_auth_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(etcd_auth_start, etcd_auth_stop)

/* ---- Steps ---- */

struct result {
    bool is_done;
    struct err err;
};

static bool etcd_auth_is_done(const void *data)
{
    return ((const struct result *)data)->is_done;
}

static void etcd_auth_on_range(void *data, const struct etcd_range_reply *reply,
                               const struct err *err)
{
    struct result *r = data;
    r->is_done = true;
    if (err) {
        r->err = *err;
    }
}

static void start_read(const char *key, const char *end, struct result *r)
{
    *r = (struct result){.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str(key), .range_end = slice_str(end)},
               etcd_auth_on_range, r);
    assert_false(r->is_done);
}

/* Retries while etcd is too busy to accept the connection: these tests are about its answers. */
static struct err read_range(const char *key, const char *end)
{
    struct result r;
    int64_t limit_ms = clock_monotonic_ms() + CALL_TIMEOUT_MS;
    do {
        start_read(key, end, &r);
        loop_until(f.loop, etcd_auth_is_done, &r);
    } while (r.err.code == ERR_UNAVAILABLE && clock_monotonic_ms() < limit_ms);
    return r.err;
}

static void expect_ok(struct err err)
{
    assert_that(!err.code, "%s", err.msg);
}

static void expect_err(struct err err, int code, const char *text)
{
    assert_that(err.code == code && strstr(err.msg, text), "want code %d and `%s`, got %d and `%s`",
                code, text, err.code, err.msg);
}

struct seen {
    unsigned ups;
    unsigned downs;
    size_t events;
    struct err down;
    unsigned want_ups;
    unsigned want_downs;
    size_t want_events;
};

static void etcd_auth_on_events(void *data, const struct etcd_event *events, size_t count,
                                int64_t revision)
{
    struct seen *seen = data;
    seen->events += count;
}

static void etcd_auth_on_up(void *data)
{
    struct seen *seen = data;
    seen->ups++;
}

static void count_auth_down(void *data, const struct err *err)
{
    struct seen *seen = data;
    seen->downs++;
    seen->down = *err;
}

static bool is_seen(const void *data)
{
    const struct seen *seen = data;
    return seen->ups >= seen->want_ups && seen->downs >= seen->want_downs &&
           seen->events >= seen->want_events;
}

static struct etcd_watch *watch_app(struct seen *seen)
{
    return etcd_watch_start(f.etcd, &(struct etcd_watch_config){
                                        .key = slice_str("/app/"),
                                        .range_end = slice_str("/app0"),
                                        .start_revision = 1,
                                        .on_events = etcd_auth_on_events,
                                        .on_up = etcd_auth_on_up,
                                        .on_end = count_auth_down,
                                        .data = seen,
                                    });
}

/* ---- Tests, in this order ---- */

/* A client with name and password, first while etcd requires none, then once it does. */
UNIT_TEST(test_switched_on)
{
    etcd_proc_post(f.proc, "auth/user/add", "{\"name\":\"app\",\"password\":\"secret\"}");
    etcd_proc_post(f.proc, "auth/role/add", "{\"name\":\"app\"}");
    etcd_proc_post(f.proc, "auth/role/grant", app_grant);
    etcd_proc_post(f.proc, "auth/user/grant", "{\"user\":\"app\",\"role\":\"app\"}");

    connect_as("app", "secret", NULL);
    expect_ok(read_range("/app/x", ""));
    etcd_proc_enable_auth(f.proc);
    expect_ok(read_range("/app/x", ""));
    sync_put(f.loop, f.etcd, "/app/x", slice_str("1"));
}

UNIT_TEST(test_no_name)
{
    connect_as(NULL, NULL, NULL);
    expect_err(read_range("/app/x", ""), ERR_SHUT_OUT, "etcd requires a user name and password");
}

UNIT_TEST(test_wrong_password)
{
    connect_as("app", "guess", NULL);
    struct err err = read_range("/app/x", "");
    expect_err(err, ERR_SHUT_OUT, "authenticate as `app`");
    expect_err(err, ERR_SHUT_OUT, "invalid user ID or password");
    /* While backing off, it fails the same way without asking etcd. */
    expect_err(read_range("/app/x", ""), ERR_SHUT_OUT, "invalid user ID or password");
}

UNIT_TEST(test_missing_permission)
{
    connect_as("app", "secret", NULL);
    expect_err(read_range("/other", ""), ERR_REFUSED, "permission denied, to read /other");
    expect_err(read_range("/", "0"), ERR_REFUSED, "permission denied, to read / up to 0");

    const struct etcd_op ops[] = {
        {.kind = ETCD_OP_PUT, .key = slice_str("/b"), .value = slice_str("1")},
        {.kind = ETCD_OP_DELETE, .key = slice_str("/app/x")},
        {.kind = ETCD_OP_DELETE, .key = slice_str("/a")},
    };
    struct err err = {.code = 0};
    (void)!sync_txn(f.loop, f.etcd, &(struct etcd_txn){.ops = ops, .op_count = ARRAY_LEN(ops)},
                    NULL, &err);
    expect_err(err, ERR_REFUSED, "permission denied, to write 3 keys from /a to /b");
}

/* Many calls at once with an invalid token: all are resent, with one new token. */
UNIT_TEST(test_token_worthless)
{
    enum { CALLS = 50 };
    static struct result results[CALLS];
    connect_as("app", "secret", NULL);
    expect_ok(read_range("/app/x", ""));
    set_password("secret"); /* etcd forgets the user's tokens */
    for (int i = 0; i < CALLS; i++) {
        start_read("/app/x", "", &results[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        loop_until(f.loop, etcd_auth_is_done, &results[i]);
        expect_ok(results[i].err);
    }
}

UNIT_TEST(test_token_expired)
{
    struct seen seen = {.want_ups = 1};
    /* Its own user: tokens of other users expire, too. */
    etcd_proc_post(f.proc, "auth/user/add", "{\"name\":\"late\",\"password\":\"secret\"}");
    etcd_proc_post(f.proc, "auth/user/grant", "{\"user\":\"late\",\"role\":\"app\"}");
    connect_as("late", "secret", NULL);
    struct etcd_watch *watch = watch_app(&seen);
    loop_until(f.loop, is_seen, &seen);
    etcd_proc_wait_for_log(f.proc, "\"deleted a simple token\",\"user-name\":\"late\"");

    /* The watch continues, a call is resent; a second watch is created again. */
    sync_put(f.loop, f.etcd, "/app/y", slice_str("1"));
    seen.want_events = 1;
    loop_until(f.loop, is_seen, &seen);
    struct seen second = {.want_ups = 1};
    struct etcd_watch *other = watch_app(&second);
    loop_until(f.loop, is_seen, &second);
    assert_int_equal(seen.downs + second.downs, 0);
    etcd_watch_stop(watch);
    etcd_watch_stop(other);
}

/* The first call with the invalid token is a watch's. */
UNIT_TEST(test_watch_with_a_worthless_token)
{
    struct seen seen = {.want_ups = 1};
    connect_as("app", "secret", NULL);
    expect_ok(read_range("/app/x", ""));
    set_password("secret");
    struct etcd_watch *watch = watch_app(&seen);
    loop_until(f.loop, is_seen, &seen);
    assert_int_equal(seen.downs, 0);
    etcd_watch_stop(watch);
}

UNIT_TEST(test_permission_removed_and_granted)
{
    struct seen seen = {.want_downs = 1};
    connect_as("app", "secret", NULL);
    expect_ok(read_range("/app/x", ""));
    etcd_proc_post(f.proc, "auth/role/revoke", app_revoke);
    expect_err(read_range("/app/x", ""), ERR_REFUSED, "permission denied, to read /app/x");

    struct etcd_watch *watch = watch_app(&seen);
    loop_until(f.loop, is_seen, &seen);
    expect_err(seen.down, ERR_REFUSED, "permission denied, to read /app/ up to /app0");
    assert_int_equal(seen.ups, 0);
    etcd_watch_stop(watch);

    etcd_proc_post(f.proc, "auth/role/grant", app_grant);
    watch = watch_app(&seen);
    seen.want_ups = 1;
    loop_until(f.loop, is_seen, &seen);
    expect_ok(read_range("/app/x", ""));
    etcd_watch_stop(watch);
}

/* ---- A mirror's permissions ---- */

struct mirrored {
    unsigned ups, reads, keys, caught_ups;
    unsigned keys_then;  /* at the last of these */
    struct err down;     /* the last one */
    struct err key_err;  /* reading the store key; code 0: allowed */
    unsigned key_states; /* reported */
    unsigned want_ups;
};

static void etcd_auth_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    struct mirrored *seen = data;
    seen->keys = 0;
}

static void etcd_auth_on_put(void *data, const struct etcd_kv *kv)
{
    struct mirrored *seen = data;
    seen->keys++;
}

static void etcd_auth_on_del(void *data, struct slice key, int64_t revision)
{
}

static void etcd_auth_on_commit(void *data, int64_t revision, bool full)
{
    struct mirrored *seen = data;
    seen->reads += full;
}

static void etcd_auth_on_state(void *data, const struct err *err)
{
    struct mirrored *seen = data;
    if (err) {
        seen->down = *err;
    } else {
        seen->ups++;
    }
}

static void etcd_auth_on_store_key_state(void *data, const struct err *err)
{
    struct mirrored *seen = data;
    seen->key_states++;
    seen->key_err = err ? *err : (struct err){.code = 0};
}

static void etcd_auth_on_caught_up(void *data)
{
    struct mirrored *seen = data;
    seen->caught_ups++;
    seen->keys_then = seen->keys;
}

static struct etcd_mirror *mirror_saved(const char *prefix, const char *store_key,
                                        struct slice saved, struct mirrored *seen)
{
    *seen = (struct mirrored){.ups = 0};
    return etcd_mirror_start(f.etcd, &(struct etcd_mirror_config){
                                         .saved = saved,
                                         .prefix = slice_str(prefix),
                                         .store_key = slice_str(store_key),
                                         .full_begin = etcd_auth_on_full_begin,
                                         .put = etcd_auth_on_put,
                                         .del = etcd_auth_on_del,
                                         .commit = etcd_auth_on_commit,
                                         .state = etcd_auth_on_state,
                                         .store_key_state = etcd_auth_on_store_key_state,
                                         .caught_up = etcd_auth_on_caught_up,
                                         .data = seen,
                                     });
}

static struct etcd_mirror *mirror_app(const char *store_key, struct mirrored *seen)
{
    return mirror_saved("/app/", store_key, slice_of(NULL, 0), seen);
}

static bool is_mirrored(const void *data)
{
    const struct mirrored *seen = data;
    return seen->ups >= seen->want_ups;
}

static bool is_mirror_refused(const void *data)
{
    const struct mirrored *seen = data;
    return seen->down.code == ERR_REFUSED;
}

static void wait_mirrored(struct mirrored *seen, unsigned ups)
{
    seen->want_ups = ups;
    loop_until(f.loop, is_mirrored, seen);
}

/* Without the store key the range is still followed, and resumed after an outage. */
UNIT_TEST(test_store_key_may_not_be_read)
{
    struct mirrored seen;
    connect_as("app", "secret", NULL);
    struct etcd_mirror *mirror = mirror_app("/key/of/store", &seen);
    wait_mirrored(&seen, 1);
    assert_true(seen.keys > 0);
    expect_err(seen.key_err, ERR_REFUSED, "permission denied, to read /key/of/store");
    etcd_proc_kill(f.proc);
    etcd_proc_restart(f.proc);
    wait_mirrored(&seen, 2);
    assert_int_equal(seen.reads, 1);
    assert_int_equal(etcd_mirror_counts(mirror).resumed, 1);
    assert_int_equal(seen.key_states, 1);

    etcd_proc_post(f.proc, "auth/role/grant", key_grant);
    etcd_proc_kill(f.proc);
    etcd_proc_restart(f.proc);
    wait_mirrored(&seen, 3);
    assert_int_equal(seen.key_states, 2);
    assert_int_equal(seen.key_err.code, 0);
    assert_int_equal(seen.reads, 1);
    etcd_mirror_stop(mirror);
}

static bool has_caught_up(const void *data)
{
    const struct mirrored *seen = data;
    return seen->caught_ups > 0;
}

/* A new process, after this key (NULL: none) was written. */
static struct etcd_mirror *start_again(struct etcd_mirror *mirror, const char *prefix,
                                       const char *key, struct mirrored *seen)
{
    CLEANUP_BUF struct buf saved = buf_of(4096);
    loop_until(f.loop, has_caught_up, seen);
    assert_true(etcd_mirror_save(mirror, &saved));
    etcd_mirror_stop(mirror);
    if (key) {
        sync_put(f.loop, f.etcd, key, slice_str("1"));
    }
    mirror = mirror_saved(prefix, "/key/of/store", buf_slice(&saved), seen);
    loop_until(f.loop, has_caught_up, seen);
    return mirror;
}

/* A new process without permission: keys of the range prove the store; and if there are none, the
 * store key that was readable before proves nothing. */
UNIT_TEST(test_saved_and_store_key_may_not_be_read)
{
    struct mirrored seen;
    connect_as("app", "secret", NULL);
    etcd_proc_post(f.proc, "kv/put", "{\"key\":\"L2tleS9vZi9zdG9yZQ==\",\"value\":\"aWQ=\"}");
    struct etcd_mirror *mirror = mirror_app("/key/of/store", &seen);
    mirror = start_again(mirror, "/app/", NULL, &seen);
    assert_int_equal(seen.reads, 0);
    etcd_mirror_stop(mirror);

    mirror = mirror_saved("/app/none/", "/key/of/store", slice_of(NULL, 0), &seen);
    mirror = start_again(mirror, "/app/none/", NULL, &seen);
    assert_int_equal(seen.reads, 0);
    assert_true(etcd_mirror_counts(mirror).has_store_key);
    etcd_proc_post(f.proc, "auth/role/revoke",
                   "{\"role\":\"app\",\"key\":\"L2tleS9vZi9zdG9yZQ==\"}");
    mirror = start_again(mirror, "/app/none/", NULL, &seen);
    assert_int_equal(seen.reads, 1);
    assert_int_equal(etcd_mirror_counts(mirror).reads[ETCD_MIRROR_UNCERTAIN], 1);
    assert_int_equal(seen.key_states, 1);
    etcd_mirror_stop(mirror);

    mirror = mirror_app("/key/of/store", &seen);
    mirror = start_again(mirror, "/app/", "/app/new", &seen);
    assert_int_equal(seen.reads, 0);
    assert_int_equal(seen.keys_then, 1);
    assert_int_equal(seen.key_states, 1);
    etcd_mirror_stop(mirror);
}

/* Its own range may no longer be read: the error names the range, not the single key requested, nor
 * the store key. */
UNIT_TEST(test_mirror_loses_its_range)
{
    struct mirrored seen;
    connect_as("app", "secret", NULL);
    struct etcd_mirror *mirror = mirror_app("/key/of/other", &seen);
    wait_mirrored(&seen, 1);
    etcd_proc_post(f.proc, "auth/role/revoke", app_revoke);
    etcd_proc_kill(f.proc); /* an existing watch would continue */
    etcd_proc_restart(f.proc);
    loop_until(f.loop, is_mirror_refused, &seen);
    expect_err(seen.down, ERR_REFUSED, "permission denied, to read /app/ up to /app0");
    etcd_proc_post(f.proc, "auth/role/grant", app_grant);
    wait_mirrored(&seen, 2);
    assert_int_equal(seen.reads, 1);
    etcd_mirror_stop(mirror);
}

static bool etcd_auth_was_silent(const void *data)
{
    return etcd_mirror_counts(data).silences > 0 && etcd_mirror_counts(data).is_following;
}

static bool has_two_puts(const void *data)
{
    const struct mirrored *seen = data;
    return seen->keys == 2;
}

/* Lets a user that is permitted one key follow it, in either way to request it; a longer one is not
 * told. */
UNIT_TEST(test_one_key_may_be_read)
{
    static const char put[] = "{\"key\":\"L2tleS9vZi9zdG9yZQ==\",\"value\":\"aWQ=\"}",
                      put_longer[] = "{\"key\":\"L2tleS9vZi9zdG9yZXM=\",\"value\":\"aWQ=\"}";
    struct mirrored seen = {.ups = 0};
    connect_as("app", "secret", NULL);
    etcd_proc_post(f.proc, "auth/role/grant", key_grant);
    etcd_proc_post(f.proc, "kv/put", put);
    etcd_proc_post(f.proc, "kv/put", put_longer);
    struct etcd_mirror *mirror =
        etcd_mirror_start(f.etcd, &(struct etcd_mirror_config){
                                      .prefix = slice_str("/key/of/store"),
                                      .is_one_key = true,
                                      .store_key = slice_str("/key/of/store"),
                                      .check_ms = 20,
                                      .full_begin = etcd_auth_on_full_begin,
                                      .put = etcd_auth_on_put,
                                      .del = etcd_auth_on_del,
                                      .commit = etcd_auth_on_commit,
                                      .state = etcd_auth_on_state,
                                      .data = &seen,
                                  });
    wait_mirrored(&seen, 1);
    assert_int_equal(seen.keys, 1);
    etcd_proc_post(f.proc, "kv/put", put_longer);
    loop_until(f.loop, etcd_auth_was_silent, mirror); /* begun anew, as the other range */
    assert_int_equal(seen.keys, 1);
    etcd_proc_post(f.proc, "kv/put", put);
    loop_until(f.loop, has_two_puts, &seen);
    assert_int_equal(seen.reads, 1);
    assert_int_equal(seen.down.code, 0);
    etcd_mirror_stop(mirror);
    etcd_proc_post(f.proc, "auth/role/revoke",
                   "{\"role\":\"app\",\"key\":\"L2tleS9vZi9zdG9yZQ==\"}");
}

UNIT_TEST(test_password_changed_then_the_file)
{
    write_password_file("secret\n");
    connect_as("app", NULL, f.password_file);
    expect_ok(read_range("/app/x", ""));

    set_password("better");
    expect_err(read_range("/app/x", ""), ERR_SHUT_OUT, "invalid user ID or password");
    expect_err(read_range("/app/x", ""), ERR_SHUT_OUT, "invalid user ID or password");
    write_password_file("better\n");
    expect_ok(read_range("/app/x", ""));
    set_password("secret");
}

UNIT_TEST(test_password_file_comes_later)
{
    assert_int_equal(unlink(f.password_file), 0);
    connect_as("app", NULL, f.password_file);
    struct err err = read_range("/app/x", "");
    expect_err(err, ERR_SHUT_OUT, "read password file");
    expect_err(err, ERR_SHUT_OUT, "No such file");
    write_password_file("secret");
    expect_ok(read_range("/app/x", ""));
}

UNIT_TEST(test_etcd_restarted)
{
    struct seen seen = {.want_ups = 1};
    connect_as("app", "secret", NULL);
    struct etcd_watch *watch = watch_app(&seen);
    loop_until(f.loop, is_seen, &seen);
    etcd_proc_kill(f.proc);
    seen.want_downs = 1;
    loop_until(f.loop, is_seen, &seen);
    etcd_watch_stop(watch);
    etcd_proc_restart(f.proc); /* its old tokens are gone */
    watch = watch_app(&seen);
    seen.want_ups = 2;
    loop_until(f.loop, is_seen, &seen);
    etcd_watch_stop(watch);
}
