/* Client records: kube2sky's keys that say which pod has an address, beside the pods' keys. */
#include "skydns/sync/record_value_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/clients_bed.h"

UNIT_TESTS_EACH(setup, teardown)

#define WEB "{\"namespace\":\"x\",\"pod\":\"web-0\",\"node\":\"n1\",\"zone\":\"eu-1a\"}"

/* "namespace pod node zone", each "-" if it is empty; "" of nobody. In static storage. */
static const char *client_records_described(const struct fixture *f, const char *address)
{
    static char text[2048];
    struct client_description d;
    struct ip ip = ip_from(address);
    if (!client_index_describe(clients_index(f->clients), &ip, &d)) {
        assert_int_equal(d.ns.len + d.pod.len + d.node.len + d.zone.len, 0);
        return "";
    }
    const struct slice parts[] = {d.ns, d.pod, d.node, d.zone};
    int n = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct slice part = parts[i].len ? parts[i] : slice_str("-");
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%.*s", i ? " " : "", (int)part.len,
                      part.ptr);
    }
    return text;
}

UNIT_TEST_ON(test_a_record_describes_its_client, struct fixture *f)
{
    start(f);
    mark(REC, "10-0-0-1", WEB);
    assert_string_equal(client_records_described(f, "10.0.0.1"), ""); /* not committed */
    end(REC, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"),
                        "x web-0 n1 eu-1a"); /* no pod's key is needed */
    assert_string_equal(who(f, "10.0.0.1"), "x");
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    assert_string_equal(client_records_described(f, "10.0.0.1"), "x web-0 n1 eu-1a");
    unmark(REC, "10-0-0-1");
    end(REC, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "x - - -");
    mark(REC, "fd00--1", "{\"namespace\":\"y\"}");
    mark(REC, "fd00--0", "{ \"zone\": \"z\", \"more\": 1, \"namespace\": \"y\" }");
    end(REC, false);
    assert_string_equal(client_records_described(f, "fd00::1"), "y - - -");
    assert_string_equal(client_records_described(f, "fd00::"), "y - - z");
    assert_string_equal(client_records_described(f, "10.0.0.9"), "");
}

/* Neither source outdoes the other: both change, one after the other. */
UNIT_TEST_ON(test_a_record_and_pods_must_agree, struct fixture *f)
{
    start(f);
    mark(REC, "10-0-0-1", WEB);
    end(REC, false);
    pod(f, "h.10-0-0-1.y.pod.a.test.", "10.0.0.1");
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    mark(REC, "10-0-0-1", "{\"namespace\":\"y\",\"pod\":\"b\"}");
    end(REC, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "y b - -");
    mark(NODES, "10-0-0-1", "{\"host\":\"10.0.0.1\"}"); /* a node's after all */
    end(NODES, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    mark(REC, "10-0-0-1", "{\"namespace\":\"y\",\"pod\":\"c\"}");
    end(REC, false);
    unmark(NODES, "10-0-0-1");
    end(NODES, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "y c - -");
    mark(NODES, "0-0-0-0", "{\"host\":\"0.0.0.0\"}"); /* kube2sky cannot know the pods */
    end(NODES, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    unmark(NODES, "0-0-0-0");
    end(NODES, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "y c - -");
}

UNIT_TEST_ON(test_records_that_are_of_no_use, struct fixture *f)
{
    static const char *const values[] = {
        "",
        "[]",
        "{",
        "{}",
        "{\"namespace\":1}",
        "{\"namespace\":\"\"}",
        "{\"namespace\":\"X\"}",
        "{\"namespace\":\"a.b\"}",
        "{\"namespace\":\"a\",\"pod\":7}",
        "{\"namespace\":\"a\",\"pod\":\"b c\"}",
        "{\"namespace\":\"a\",\"node\":\"\\u0000\"}",
        "{\"namespace\":\"a\",\"zone\":\"\\\"\"}",
        "{\"namespace\":\"a\",\"namespace\":\"b\"}",
    };
    char value[400] = "{\"namespace\":\"a\",\"pod\":\"";
    start(f);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        mark(REC, "10-0-0-1", WEB);
        mark(REC, "10-0-0-1", values[i]);
        end(REC, false);
        assert_string_equal(client_records_described(f, "10.0.0.1"), "");
        assert_int_equal(broken_count(f->broken), 1);
    }
    size_t len = strlen(value);
    memset(value + len, 'x', CLIENT_NAME_MAX);
    (void)snprintf(value + len + CLIENT_NAME_MAX, 8, "\"}");
    mark(REC, "10-0-0-1", value);
    end(REC, false);
    assert_int_equal(strlen(client_records_described(f, "10.0.0.1")),
                     CLIENT_NAME_MAX + strlen("a  - -"));
    assert_int_equal(broken_count(f->broken), 0);
    (void)snprintf(value + len + CLIENT_NAME_MAX, 8, "x\"}");
    mark(REC, "10-0-0-1", value);
    mark(REC, "web", WEB);
    mark(REC, "10-0-0-1/x", WEB);
    end(REC, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    assert_int_equal(broken_count(f->broken), 3);
}

/* A full read removes what it does not tell of, unless it keeps old keys; one that is not finished
 * changes nothing. */
UNIT_TEST_ON(test_client_records_read_again, struct fixture *f)
{
    start(f);
    mark(REC, "10-0-0-1", WEB);
    mark(REC, "10-0-0-2", WEB);
    end(REC, false);
    begin(REC, true);
    mark(REC, "10-0-0-2", "{\"namespace\":\"y\"}");
    end(REC, true);
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_string_equal(who(f, "10.0.0.2"), "y");
    begin(REC, false);
    mark(REC, "10-0-0-3", WEB);
    begin(REC, false); /* failed midway */
    assert_string_equal(who(f, "10.0.0.1"), "x");
    mark(REC, "10-0-0-2", "{\"namespace\":\"y\"}");
    end(REC, true);
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_string_equal(who(f, "10.0.0.2"), "y");
    assert_string_equal(who(f, "10.0.0.3"), "");
    assert_int_equal(client_index_counts(clients_index(f->clients)).records, 1);
}

/* Two clusters' clients, with one index. */
UNIT_TEST_ON(test_records_of_two_domains, struct fixture *f)
{
    set(f, true, 2);
    read_none(NODES);
    read_none(NODES_B);
    read_none(VIS);
    read_none(VIS_B);
    mark(REC, "10-0-0-1", WEB);
    end(REC, false);
    mark(REC_B, "10-0-0-1", "{\"namespace\":\"x\",\"pod\":\"other\"}");
    end(REC_B, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "x web-0 n1 eu-1a");
    mark(REC_B, "10-0-0-1", "{\"namespace\":\"y\"}");
    end(REC_B, false);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    unmark(REC, "10-0-0-1");
    end(REC, false);
    assert_string_equal(who(f, "10.0.0.1"), "y");
    set(f, true, 1); /* the second one is no longer in force */
    assert_string_equal(who(f, "10.0.0.1"), "");
}

/* Until they are read, an address may be of another namespace than its pod's key says; once etcd
 * denies reading them, it goes on without. */
UNIT_TEST_ON(test_denied_records, struct fixture *f)
{
    const struct err denied = {.code = ERR_REFUSED, .msg = "permission denied"};
    CLEANUP_BUF struct buf why = buf_of(1024);
    has_no_records = false;
    start(f);
    pod(f, "h.10-0-0-1.x.pod.a.test.", "10.0.0.1");
    assert_string_equal(who(f, "10.0.0.1"), "");
    assert_false(is_known(f, "a.test.") || clients_are_settled(f->clients));
    struct etcd_mirror *mirror = mirror_of(REC);
    static struct log_capture log;
    log_capture_begin(&log);
    mirror->config.state(mirror->config.data, &denied);
    assert_non_null(strstr(log_capture_end(&log),
                           "cannot read client records: no client's pod is named keys=" REC));
    assert_string_equal(who(f, "10.0.0.1"), "x");
    assert_true(is_known(f, "a.test.") && clients_are_settled(f->clients));
    assert_false(clients_explain_trouble(f->clients, &why)); /* it can do without */
}

UNIT_TEST_ON(test_saved_records, struct fixture *f)
{
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    CLEANUP_BUF struct buf saved_records = buf_of(SIZE_MAX);
    start(f);
    clients_save_records(f->clients, &saved_records);
    assert_int_equal(saved_records.len, 0); /* none: older programs can read the file */
    mark(REC, "10-0-0-1", WEB);
    mark(REC, "fd00--1", "{\"namespace\":\"y\"}");
    end(REC, false);
    assert_true(clients_save(f->clients, &saved));
    clients_save_records(f->clients, &saved_records);
    assert_true(client_marks_are_records_saved(buf_slice(&saved_records)));

    close_clients(f);
    has_no_records = false;
    open_clients(f, buf_slice(&saved), buf_slice(&saved_records));
    set(f, true, 1);
    assert_true(clients_are_settled(f->clients)); /* but nothing is believed yet */
    assert_string_equal(mirror_of(REC)->saved, "mirror v");
    const char *const prefixes[] = {NODES, VIS, REC};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        assert_string_equal(client_records_described(f, "10.0.0.1"), "");
        struct etcd_mirror *mirror = mirror_of(prefixes[i]);
        mirror->config.caught_up(mirror->config.data);
    }
    assert_string_equal(client_records_described(f, "10.0.0.1"), "x web-0 n1 eu-1a");
    assert_string_equal(client_records_described(f, "fd00::1"), "y - - -");
    for (size_t len = 1; len < saved_records.len; len++) {
        assert_false(client_marks_are_records_saved(slice_of(saved_records.data, len)));
    }
    buf_append_u8(&saved_records, 0);
    assert_false(client_marks_are_records_saved(buf_slice(&saved_records)));

    close_clients(f);
    open_clients(f, buf_slice(&saved), slice_of(NULL, 0)); /* a program without records wrote it */
    set(f, true, 1);
    assert_true(clients_are_settled(f->clients));
    assert_string_equal(mirror_of(REC)->saved, "");
}

/* Off and on again, nothing of them is left. */
UNIT_TEST_ON(test_records_off_and_on, struct fixture *f)
{
    start(f);
    mark(REC, "10-0-0-1", WEB);
    end(REC, false);
    set(f, false, 1);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
    assert_int_equal(client_index_counts(clients_index(f->clients)).records, 0);
    start(f);
    assert_string_equal(client_records_described(f, "10.0.0.1"), "");
}

/* A hundred thousand, with the pods' keys of the same addresses. */
UNIT_TEST_ON(test_memory_of_records, struct fixture *f)
{
    enum { COUNT = 100000, BYTES_MAX = 160 };
    char label[32], value[200];
    start(f);
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(label, sizeof(label), "10-%u-%u-%u", 1 + i / 65536, i / 256 % 256, i % 256);
        (void)snprintf(value, sizeof(value),
                       "{\"namespace\":\"team-%u\",\"pod\":\"web-6d4cf56db6-%05u\",\"node\":"
                       "\"node-%u\",\"zone\":\"eu-1%c\"}",
                       i % 500, i, i % 1000, 'a' + (int)(i % 3));
        mark(REC, label, value);
    }
    end(REC, false);
    struct client_index_counts counts = client_index_counts(clients_index(f->clients));
    assert_int_equal(counts.records, COUNT);
    assert_int_equal(counts.shared, 0);
    assert_true(counts.bytes / COUNT < BYTES_MAX);
    assert_string_equal(client_records_described(f, "10.1.1.1"),
                        "team-257 web-6d4cf56db6-00257 node-257 eu-1c");
}
