/* Clients: pods in a store, and kube2sky's keys about them. */
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/clients_bed.h"

UNIT_TESTS_EACH(setup, teardown)

UNIT_TEST_ON(test_pods, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.2"); /* the host counts */
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.0.0.2"), "x");
    pod(f, "10-0-0-3.y.pod.a.test.", "10.0.0.3"); /* without a hash */
    assert_string_equal(who(f, "10.0.0.3"), "y");
    pod(f, "h.fd00--1.y.pod.a.test.", "fd00::1");
    assert_string_equal(who(f, "fd00::1"), "y");
    pod(f, "h.10-0-0-1.x.pod.a.test.", "");
    assert_string_equal(who(f, "10.0.0.2"), "");
}

/* Neither too few labels nor too many, neither in another tree nor with capitals. */
UNIT_TEST_ON(test_names_of_no_pod, struct fixture *f)
{
    static const char *const names[] = {
        "x.pod.a.test.",
        "pod.a.test.",
        "a.h.10-0-0-9.x.pod.a.test.",
        "h.10-0-0-9.x.svc.a.test.",
        "h.10-0-0-9.x.pod.b.test.",
        "h.10-0-0-9.x.POD.a.test.",
        "h.10-0-0-9.X.pod.a.test.",
        "h.10-0-0-9.x.pod.A.test.",
        "10-0-0-9.xpod.a.test.",
    };
    start(f);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        pod(f, names[i], "10.0.0.9");
        assert_string_equal(who(f, "10.0.0.9"), "");
    }
    pod(f, "h.10-0-0-8.x.pod.a.test.", "www.test");
    set(f, false, 1);
    start(f); /* reads all again */
    assert_string_equal(who(f, "10.0.0.9"), "");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        pod(f, names[i], "");
    }
}

UNIT_TEST_ON(test_nobody_before_node_addresses_are_known, struct fixture *f)
{
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    set(f, true, 1);
    assert_string_equal(who(f, "10.0.0.1"), "");
    pod(f, "h.10-0-0-2.x.pod.a.test.", "10.0.0.2");
    assert_string_equal(who(f, "10.0.0.2"), "");
    begin(NODES, false);
    mark(NODES, "10-0-0-2", "{\"host\":\"10.0.0.2\"}");
    assert_string_equal(who(f, "10.0.0.1"), "");
    end(NODES, true);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "");
}

/* A name that is hidden may be one to show, until it is known which are. */
UNIT_TEST_ON(test_nothing_is_known_before_the_lists_are, struct fixture *f)
{
    assert_true(clients_are_settled(f->clients)); /* off */
    set(f, true, 1);
    read_none(NODES);
    assert_false(is_known(f, "a.test.") || clients_are_settled(f->clients));
    unsigned known = f->known;
    read_none(VIS);
    assert_true(is_known(f, "a.test.") && clients_are_settled(f->clients));
    assert_int_equal(f->known, known + 1);
    assert_int_equal(f->told, 0); /* there are none */
}

UNIT_TEST_ON(test_node_addresses, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.1\"}");
    assert_string_equal(who(f, "10.0.0.1"), "x"); /* not committed */
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "");
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.3\",\"x\":[1]}"); /* unusual, and another address */
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.1\"}");
    mark(NODES, "other", "{\"host\":\"10.0.0.1\"}"); /* the value counts */
    end(NODES, false);
    unmark(NODES, "10-0-0-1");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "");
    unmark(NODES, "other");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "x");
}

/* kube2sky cannot know the pods: what it wrote of them may be another pod's. */
UNIT_TEST_ON(test_an_address_for_all, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    mark(NODES, "0-0-0-0", "{\"host\":\"0.0.0.0\"}");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "");
    pod(f, "h.10-0-0-2.x.pod.a.test.", "10.0.0.2");
    assert_string_equal(who(f, "10.0.0.2"), "");
    assert_true(clients_are_settled(f->clients)); /* readiness does not wait for it */
    unmark(NODES, "0-0-0-0");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "x");
}

/* A read that is not finished takes nothing away; one that keeps old keys takes nothing away. */
UNIT_TEST_ON(test_node_addresses_read_again, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.1\"}");
    end(NODES, false);
    begin(NODES, true);
    end(NODES, true);
    assert_string_equal(who(f, "10.0.0.1"), "");
    begin(NODES, false);
    mark(NODES, "10-0-0-2", "{\"host\":\"10.0.0.2\"}");
    begin(NODES, false); /* failed midway */
    assert_string_equal(who(f, "10.0.0.1"), "");
    end(NODES, true);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    pod(f, "h.10-0-0-2.x.pod.a.test.", "10.0.0.2");
    assert_string_equal(who(f, "10.0.0.2"), "x");
}

/* Between the puts of a version and its commit, everything may be read again. */
UNIT_TEST_ON(test_marks_while_a_version_is_built, struct fixture *f)
{
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    put(f, "h.10-0-0-1.x.pod.a.test.", "");
    put(f, "h.10-0-0-2.y.pod.a.test.", "10.0.0.2");
    start(f); /* only now are names noted */
    put(f, "h.10-0-0-3.y.pod.a.test.", "10.0.0.3");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "");
    publish(f);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.0.0.2"), "y");
    assert_string_equal(who(f, "10.0.0.3"), "y");
    put(f, "h.10-0-0-3.y.pod.a.test.", ""); /* noted */
    set(f, true, 2);
    read_none(NODES_B);
    publish(f);
    assert_string_equal(who(f, "10.0.0.3"), "");
    assert_string_equal(who(f, "10.0.0.2"), "y");
}

UNIT_TEST_ON(test_one_version_changes_a_name_often, struct fixture *f)
{
    start(f);
    put(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    put(f, "h.10-0-0-1.x.pod.a.test.", "");
    put(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    put(f, "h.10-0-0-1.y.pod.a.test.", "10.0.0.1");
    put(f, "h.10-0-0-1.y.pod.a.test.", "");
    publish(f);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    put(f, "h.10-0-0-1.x.pod.a.test.", "");
    put(f, "h.10-0-0-1.y.pod.a.test.", "10.0.0.1");
    publish(f);
    assert_string_equal(who(f, "10.0.0.1"), "y");
}

UNIT_TEST_ON(test_more_changes_than_are_noted, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    for (unsigned i = 0; i < CLIENT_PODS_NOTED_MAX + 10; i++) {
        char name[64], host[16];
        (void)snprintf(name, sizeof(name), "h.p%u.y.pod.a.test.", i); /* fits */
        (void)snprintf(host, sizeof(host), "10.1.%u.%u", i / 256, i % 256);
        put(f, name, host);
    }
    put(f, "h.10-0-0-1.x.pod.a.test.", "");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    publish(f);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.1.0.0"), "y");
    assert_string_equal(who(f, "10.1.64.9"), "y");
}

/* Acts as after a compaction: keys that are not put again are gone. */
UNIT_TEST_ON(test_records_read_again, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    pod(f, "h.10-0-0-2.y.pod.a.test.", "10.0.0.2");
    clients_read_again(f->clients);
    store_writer_clear(f->writer);
    put(f, "h.10-0-0-2.z.pod.a.test.", "10.0.0.2");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    publish(f);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.0.0.2"), "z");
    pod(f, "h.10-0-0-2.z.pod.a.test.", ""); /* names are noted again */
    assert_string_equal(who(f, "10.0.0.2"), "");
}

/* The pods of a domain of which this is not known yet identify nobody, and conflict with others. */
UNIT_TEST_ON(test_two_domains, struct fixture *f)
{
    set(f, true, 2);
    read_none(NODES);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    pod(f, "h.10-0-0-2.x.pod.a.test.", "10.0.0.2");
    pod(f, "h.10-0-0-2.x.pod.b.test.", "10.0.0.2");
    pod(f, "h.10-0-0-3.x.pod.b.test.", "10.0.0.3");
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "");
    assert_string_equal(who(f, "10.0.0.3"), "");
    read_none(NODES_B);
    assert_string_equal(who(f, "10.0.0.2"), "x");
    assert_string_equal(who(f, "10.0.0.3"), "x");
    pod(f, "h.10-0-0-1.y.pod.b.test.", "10.0.0.1");
    assert_string_equal(who(f, "10.0.0.1"), "");
    mark(NODES_B, "10-0-0-2", "{\"host\":\"10.0.0.2\"}");
    end(NODES_B, false);
    assert_string_equal(who(f, "10.0.0.2"), "");
    set(f, true, 1);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "x");
    assert_string_equal(who(f, "10.0.0.3"), "");
}

UNIT_TEST_ON(test_off_and_on, struct fixture *f)
{
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    set(f, false, 1);
    assert_int_equal(started, 0);
    start(f);
    mark(VIS, "x", "y");
    end(VIS, false);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    unsigned before = started;
    set(f, true, 1); /* as it is */
    assert_int_equal(started, before);
    set(f, false, 1);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(f->listed, "");
    pod(f, "h.10-0-0-1.x.pod.a.test.", "");
    start(f);
    assert_string_equal(who(f, "10.0.0.1"), "");
}

UNIT_TEST_ON(test_lists, struct fixture *f)
{
    set(f, true, 2);
    assert_int_equal(f->told, 0);
    begin(VIS, false);
    mark(VIS, "x", "y, z");
    assert_int_equal(f->told, 0);
    end(VIS, true);
    assert_string_equal(f->listed, "x=y, z ");
    begin(VIS, false);
    mark(VIS, "x", "y, z");
    end(VIS, true);
    assert_int_equal(f->told, 1); /* nothing else */
    begin(VIS_B, false);
    mark(VIS_B, "x", "*");
    end(VIS_B, true);
    assert_string_equal(f->listed, "x=y, z x=* ");
    mark(VIS, "x", "");
    end(VIS, false);
    assert_string_equal(f->listed, "x= x=* ");
    unmark(VIS, "x");
    end(VIS, false);
    assert_string_equal(f->listed, "x=* ");
    set(f, true, 1);
    assert_string_equal(f->listed, "");
}

/* ---- What is of no use ---- */

struct wanted_key {
    const char *key, *reason;
    bool is_found;
};

static bool clients_check(void *data, const struct broken_key *key)
{
    struct wanted_key *wanted = data;
    if (slice_equal(key->key, slice_str(wanted->key))) {
        assert_string_equal(key->reason, wanted->reason);
        wanted->is_found = true;
    }
    return true;
}

static bool is_remembered(const struct fixture *f, const char *key, const char *reason)
{
    struct wanted_key wanted = {.key = key, .reason = reason};
    broken_each(f->broken, clients_check, &wanted);
    return wanted.is_found;
}

UNIT_TEST_ON(test_values_of_no_use, struct fixture *f)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "{}",
                                      "null",
                                      "{\"host\":\"www.test\"}",
                                      "{\"host\":\"10.0.0.1 \"}",
                                      "{\"host\":7}",
                                      "10.0.0.1"};
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        mark(NODES, "10-0-0-1", bad[i]);
        end(NODES, false);
        assert_string_equal(who(f, "10.0.0.1"), "x");
        assert_true(is_remembered(f, NODES "10-0-0-1", "its host is no address"));
    }
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.1\"}");
    assert_int_equal(broken_count(f->broken), 0);
    mark(NODES, "", "{\"host\":\"10.0.0.1\"}");
    mark(NODES, "a/b", "{\"host\":\"10.0.0.1\"}");
    mark(VIS, "a.b", "*");
    mark(VIS, "a_b", "*");
    assert_int_equal(broken_count(f->broken), 4);
    assert_true(is_remembered(f, NODES "a/b", "not one label behind its prefix"));
    broken_begin_read(f->broken); /* the records are read again */
    broken_end_read(f->broken);
    clients_remember_broken(f->clients);
    assert_int_equal(broken_count(f->broken), 4);
    unmark(NODES, "a/b");
    assert_int_equal(broken_count(f->broken), 3);
    read_none(NODES);
    read_none(VIS);
    assert_int_equal(broken_count(f->broken), 0);
}

UNIT_TEST_ON(test_long_lists, struct fixture *f)
{
    CLEANUP_FREE char *text = calloc(1, CLIENT_MARKS_LIST_MAX + 1);
    assert_non_null(text);
    memset(text, ',', CLIENT_MARKS_LIST_MAX + 1);
    start(f);
    mark_bytes(VIS, "x", slice_of(text, CLIENT_MARKS_LIST_MAX + 1));
    assert_true(is_remembered(f, VIS "x", "a list of more than 64 KiB"));
    for (unsigned i = 0; i < CLIENT_MARKS_LISTS_HELD_MAX / CLIENT_MARKS_LIST_MAX; i++) {
        char label[16];
        (void)snprintf(label, sizeof(label), "n%u", i); /* fits */
        mark_bytes(VIS, label, slice_of(text, CLIENT_MARKS_LIST_MAX));
    }
    assert_int_equal(broken_count(f->broken), 1);
    mark(VIS, "y", "a");
    assert_true(is_remembered(f, VIS "y", "more than 8 MiB of lists"));
    mark(VIS, "n0", "b"); /* in the place of a long one */
    mark(VIS, "y", "a");
    assert_int_equal(broken_count(f->broken), 1);
}

static void count_listed(void *data, const struct visible_namespace *listed, size_t count)
{
    struct fixture *f = data;
    size_t short_ones = 0;
    f->told++;
    for (size_t i = 0; i < count; i++) {
        short_ones += listed[i].text.len < 10;
    }
    (void)snprintf(f->listed, sizeof(f->listed), "%zu of %zu", short_ones, count);
}

/* Nor for the sake of longer ones, whatever came first. */
UNIT_TEST_ON(test_short_lists_are_never_left_out, struct fixture *f)
{
    enum { FULL = CLIENT_MARKS_LISTS_MAX / CLIENT_MARKS_LIST_MAX };
    char *text = calloc(1, CLIENT_MARKS_LIST_MAX), label[16];
    char expected[16];
    assert_non_null(text);
    memset(text, ',', CLIENT_MARKS_LIST_MAX);
    listed_to = count_listed;
    start(f);
    CLEANUP_BUF struct buf why = buf_of(1000);
    for (unsigned i = 0; i < FULL; i++) {
        (void)snprintf(label, sizeof(label), "n%02u", i); /* fits */
        mark_bytes(VIS, label, slice_of(text, CLIENT_MARKS_LIST_MAX));
    }
    end(VIS, false);
    (void)snprintf(expected, sizeof(expected), "0 of %d", FULL);
    assert_string_equal(f->listed, expected);
    assert_false(clients_explain_trouble(f->clients, &why));
    mark(VIS, "y", "a");
    mark(VIS, "z", "b");
    end(VIS, false);
    (void)snprintf(expected, sizeof(expected), "2 of %d", FULL + 1);
    assert_string_equal(f->listed, expected);
    assert_true(clients_explain_trouble(f->clients, &why));
    assert_non_null(strstr(buf_cstr(&why), "1 lists below " VIS " are left out"));
    unmark(VIS, "n00");
    end(VIS, false);
    assert_string_equal(f->listed, expected);
    assert_false(clients_explain_trouble(f->clients, &why));
    listed_to = NULL;
    free(text);
}

/* It is not known which pods share their address, then. */
UNIT_TEST_ON(test_more_addresses_than_are_kept, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    for (unsigned i = 0; i <= CLIENT_MARKS_ADDRESSES_MAX; i++) {
        char label[24], value[48];
        (void)snprintf(label, sizeof(label), "n%u", i); /* fits */
        (void)snprintf(value, sizeof(value), "{\"host\":\"11.%u.%u.%u\"}", i >> 16, i >> 8 & 255,
                       i & 255);
        mark(NODES, label, value);
    }
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "");
    unmark(NODES, "n0");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.1"), "");
    read_none(NODES);
    assert_string_equal(who(f, "10.0.0.1"), "x");
}

static void clients_refuse(const char *prefix)
{
    const struct err denied = {.code = ERR_REFUSED, .msg = "permission denied"};
    struct etcd_mirror *mirror = mirror_of(prefix);
    mirror->config.state(mirror->config.data, &denied);
}

/* One line, and another try in 10 s; others still know what they know. */
UNIT_TEST_ON(test_denied, struct fixture *f)
{
    set(f, true, 2);
    read_none(NODES_B);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    pod(f, "h.10-0-0-2.x.pod.b.test.", "10.0.0.2");
    const struct err away = {.code = ERR_TIMEOUT, .msg = "away"};
    struct etcd_mirror *mirror = mirror_of(NODES);
    mirror->config.state(mirror->config.data, &away);
    assert_true(mirror->is_running);
    struct log_capture capture;
    log_capture_begin(&capture);
    clients_refuse(NODES);
    clients_refuse(VIS);
    const char *lines = log_capture_end(&capture);
    assert_non_null(strstr(lines, "no client is identified keys=" NODES));
    assert_non_null(strstr(lines, "reason=\"permission denied\""));
    assert_non_null(strstr(lines, "visible to others: none is keys=" VIS));
    assert_false(mirror->is_running);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.0.0.2"), "x");
    read_none(VIS_B);
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    assert_true(clients_save(f->clients, &saved)); /* snapshots do without */
    assert_true(client_marks_is_saved(buf_slice(&saved)));
}

/* Content that was read before counts until it is denied for the second time; then nobody is
 * identified and nothing shown. Reading again restores it. */
/* A waiter for knowledge of clients hears of the last denial, too. */
UNIT_TEST_ON(test_denied_last, struct fixture *f)
{
    set(f, true, 1);
    read_none(VIS);
    assert_false(clients_are_settled(f->clients));
    unsigned changes = f->changed;
    clients_refuse(NODES);
    assert_true(clients_are_settled(f->clients));
    assert_int_equal(f->changed, changes + 1);
}

UNIT_TEST_ON(test_denied_after_the_start, struct fixture *f)
{
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    mark(VIS, "y", "x");
    end(VIS, false);
    for (unsigned i = 0; i < 2; i++) {
        struct etcd_mirror *nodes = mirror_of(NODES), *lists = mirror_of(VIS);
        const struct err denied = {.code = ERR_REFUSED, .msg = "permission denied"};
        clients_refuse(NODES);
        clients_refuse(VIS);
        assert_true(is_known(f, "a.test."));
        assert_string_equal(who(f, "10.0.0.1"), "x");
        assert_string_equal(f->listed, "y=x ");
        nodes->config.state(nodes->config.data, &denied); /* as another try's mirror would */
        lists->config.state(lists->config.data, &denied);
        assert_false(is_known(f, "a.test."));
        assert_string_equal(who(f, "10.0.0.1"), "");
        assert_string_equal(f->listed, "");
        assert_true(clients_are_settled(f->clients));

        nodes->is_running = lists->is_running = true; /* which is permitted again */
        nodes->config.state(nodes->config.data, NULL);
        lists->config.state(lists->config.data, NULL);
        read_none(NODES);
        begin(VIS, false);
        mark(VIS, "y", "x");
        end(VIS, true);
        assert_true(is_known(f, "a.test."));
        assert_string_equal(who(f, "10.0.0.1"), "x");
        assert_string_equal(f->listed, "y=x ");
        nodes->is_running = lists->is_running = i == 0; /* no more than the first ones are */
    }
}

/* ---- Snapshots ---- */

static void clients_catch_up(const char *prefix)
{
    struct etcd_mirror *mirror = mirror_of(prefix);
    mirror->config.caught_up(mirror->config.data);
}

UNIT_TEST_ON(test_saved, struct fixture *f)
{
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    assert_true(clients_save(f->clients, &saved)); /* off: nothing */
    assert_int_equal(saved.len, 0);
    set(f, true, 1);
    assert_false(clients_save(f->clients, &saved)); /* not known yet */
    read_none(VIS);
    assert_false(clients_save(f->clients, &saved));
    begin(NODES, false);
    mark(NODES, "10-0-0-2", "{\"host\":\"10.0.0.2\"}");
    mark(NODES, "fd00--2", "{\"host\":\"fd00::2\"}");
    end(NODES, true);
    mark(VIS, "x", "y");
    end(VIS, false);
    can_save = false;
    assert_false(clients_save(f->clients, &saved));
    can_save = true;
    assert_int_equal(saved.len, 0);
    assert_true(clients_save(f->clients, &saved));
    assert_true(client_marks_is_saved(buf_slice(&saved)));

    close_clients(f);
    f->told = 0;
    open_clients(f, buf_slice(&saved), slice_of(NULL, 0));
    set(f, true, 1);
    assert_string_equal(mirror_of(NODES)->saved, "mirror a");
    assert_string_equal(mirror_of(VIS)->saved, "mirror v");
    put(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    put(f, "h.10-0-0-2.x.pod.a.test.", "10.0.0.2");
    put(f, "h.fd00--2.x.pod.a.test.", "fd00::2");
    publish(f);
    assert_true(clients_are_settled(f->clients)); /* but nothing is believed yet */
    assert_false(clients_save(f->clients, &saved));
    assert_int_equal(f->told, 0);
    clients_catch_up(NODES);
    assert_string_equal(who(f, "10.0.0.1"), ""); /* the records are a snapshot's */
    clients_confirm(f->clients);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_false(is_known(f, "a.test."));
    clients_catch_up(VIS);
    assert_true(is_known(f, "a.test."));
    assert_int_equal(f->told, 1);
    assert_string_equal(f->listed, "x=y ");
    assert_string_equal(who(f, "10.0.0.2"), "");
    assert_string_equal(who(f, "fd00::2"), "");
    unmark(NODES, "10-0-0-2");
    end(NODES, false);
    assert_string_equal(who(f, "10.0.0.2"), "x");
    for (size_t len = 1; len < saved.len; len++) {
        assert_false(client_marks_is_saved(slice_of(saved.data, len)));
    }
    buf_append_u8(&saved, 0);
    assert_false(client_marks_is_saved(buf_slice(&saved)));
}

/* It holds for the first domains alone: later ones are asked of etcd. */
UNIT_TEST_ON(test_saved_of_others, struct fixture *f)
{
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    start(f);
    assert_true(clients_save(f->clients, &saved));
    close_clients(f);
    open_clients(f, buf_slice(&saved), slice_of(NULL, 0));
    set(f, false, 1);
    set(f, true, 1);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    assert_string_equal(mirror_of(NODES)->saved, "");
    assert_string_equal(who(f, "10.0.0.1"), "");
}
