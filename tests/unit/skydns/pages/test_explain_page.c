/* Explanations as text and as JSON: every item shows up, bytes from etcd are escaped, and empty
 * items are left out. The JSON is read with jansson. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "common/base/buf.h"
#include "skydns/pages/explain_page.h"
#include "skydns/pages/record_page_internal.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/pages/read_pages.h"

enum { PAGE_MAX = 4 * 1024 * 1024 };

static const struct bed_key keys[] = {
    {"local/cluster/x/a", "{'host':'10.0.0.1','port':80,'ttl':30,'text':'t\\u0001','group':'g'}"},
    {"local/cluster/x/b", "{'host':'10.0.0.1','port':80,'ttl':31,'text':'t\\u0001','group':'g'}"},
    {"local/cluster/x/d", "{'host':'y.cluster.local.','group':'g'}"},
    {"local/cluster/x/h", "{'host':'10.0.0.8','port':'80'}"},
    {"local/cluster/x/_tcp/_http/j", "{'host':'x.cluster.local.','port':80}"},
    {"local/cluster/y", "{'host':'10.0.0.2'}"},
    {"local/cluster/out", "{'host':'db.example.com.'}"},
};

struct pages {
    struct pages_bed bed;
    struct buf page;
};

static void explain_page_setup(struct pages *p)
{
    buf_init(&p->page, PAGE_MAX);
    bed_start(&p->bed, "-nameservers=127.0.0.1:10253");
    bed_fill(&p->bed, keys, ARRAY_LEN(keys));
}

static void explain_page_teardown(struct pages *p)
{
    bed_stop(&p->bed);
    buf_fini(&p->page);
}

UNIT_FIXTURE(struct pages, explain_page_setup, explain_page_teardown)

static const char *explain_page_text_of(struct pages *p, const char *name, const char *type)
{
    return read_explained_text(bed_explain(&p->bed, name, type), &p->page);
}

static json_t *explain_page_json_of(struct pages *p, const char *name, const char *type)
{
    return read_explained_json(bed_explain(&p->bed, name, type), &p->page);
}

static void explain_page_expect(const char *text, const char *part)
{
    assert_that(strstr(text, part), "`%s` is not in:\n%s", part, text);
}

static const char *string_at(const json_t *object, const char *field)
{
    const char *value = json_string_value(json_object_get(object, field));
    assert_non_null(value);
    return value;
}

static json_int_t number_at(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The object in the array whose field has this value. */
static const json_t *explain_page_find(const json_t *array, const char *field, const char *value)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        if (strcmp(string_at(object, field), value) == 0) {
            return object;
        }
    }
    fail_msg("no %s %s", field, value);
    return NULL;
}

/* ---- Text ---- */

UNIT_TEST_ON(test_text_of_an_answer, struct pages *p)
{
    const char *text = explain_page_text_of(p, "x.cluster.local", "A");
    explain_page_expect(text, "x.cluster.local. A: NOERROR, answers: ");
    explain_page_expect(text, "; etcd revision 7\n");
    explain_page_expect(text, "\nanswer     x.cluster.local. ");
    explain_page_expect(text, " A 10.0.0.1\n");
    explain_page_expect(text, "\n  + /skydns/local/cluster/x/d = y.cluster.local. group g\n");
    explain_page_expect(text,
                        "\n  - /skydns/local/cluster/x/_tcp/_http/j = x.cluster.local. port 80\n");
    explain_page_expect(
        text, "/x/a = 10.0.0.1 port 80 text \"t?\" group g\n"); /* not a control character */
    explain_page_expect(text, "\ny.cluster.local. (the host of /skydns/local/cluster/x/d) exists");
    explain_page_expect(text, "\n  ! /skydns/local/cluster/x/h\n      revision 4; ");
    explain_page_expect(text, "\n      revision 5, ");
    /* Either a or b gave the record; the other one refers to it. */
    const char *a = strstr(text, "+ /skydns/local/cluster/x/a = ");
    explain_page_expect(text, a ? " /skydns/local/cluster/x/a\n" : " /skydns/local/cluster/x/b\n");
}

/* The page escapes text that was written and text that is served. */
UNIT_TEST_ON(test_text_with_escapes, struct pages *p)
{
    static const struct bed_key key = {"local/cluster/txt", "{'text':'a\\\\;\\\\009b'}"};
    bed_fill(&p->bed, &key, 1);
    const char *text = explain_page_text_of(p, "txt.cluster.local", "TXT");
    explain_page_expect(text, " TXT \"a;\\009b\"\n");
    explain_page_expect(text, " text \"a\\;\\009b\" served as \"a;?b\"\n");
    json_t *json = explain_page_json_of(p, "txt.cluster.local", "TXT");
    const json_t *keys_of_name =
        json_object_get(json_array_get(json_object_get(json, "names"), 0), "keys");
    const json_t *shown = explain_page_find(keys_of_name, "key", "/skydns/local/cluster/txt");
    assert_string_equal(string_at(shown, "text"), "a\\;\\009b");
    assert_string_equal(string_at(shown, "served"), "a;\tb");
    json_decref(json);
}

UNIT_TEST_ON(test_text_of_an_authority, struct pages *p)
{
    const char *text = explain_page_text_of(p, "z.x.cluster.local", "A");
    explain_page_expect(text, "z.x.cluster.local. A: NXDOMAIN; etcd revision 7\n");
    explain_page_expect(text, "\nauthority  cluster.local. ");
    explain_page_expect(text, " SOA ");
    explain_page_expect(text, " x.cluster.local.\n"); /* the closest existing parent */
    text = explain_page_text_of(p, "xy.cluster.local", "A");
    explain_page_expect(text, " x.cluster.local.");
    explain_page_expect(text, " y.cluster.local.");
    assert_null(
        strstr(explain_page_text_of(p, "nothing.alike.cluster.local", "A"), " x.cluster.local."));
}

UNIT_TEST_ON(test_text_of_a_port, struct pages *p)
{
    const char *text = explain_page_text_of(p, "_http._tcp.x.cluster.local", "SRV");
    explain_page_expect(text, "\nanswer     _http._tcp.x.cluster.local. ");
    explain_page_expect(text, "\nadditional x.cluster.local. ");
}

UNIT_TEST_ON(test_text_without_keys, struct pages *p)
{
    explain_page_expect(explain_page_text_of(p, "www.example.com", "TYPE65280"),
                        "www.example.com. TYPE65280: not from here");
    explain_page_expect(explain_page_text_of(p, "www.example.com", "A"), "\nwhy        ");
    const char *text = explain_page_text_of(p, "out.cluster.local", "A");
    explain_page_expect(text, "\nexternal   db.example.com. A: an upstream is queried; SERVFAIL");
    assert_null(strstr(text, "\nauthority"));
    explain_page_expect(text, "answers: ");
}

/* In two units at most. */
UNIT_TEST_ON(test_ages, struct pages *p)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {
        {0, " 0 s;"},
        {59, " 59 s;"},
        {60, " 1 m 0 s;"},
        {3600 - 1, " 59 m 59 s;"},
        {3600, " 1 h 0 m;"},
        {86400 - 60, " 23 h 59 m;"},
        {86400 + 2 * 3600 + 59, " 1 d 2 h;"},
    };
    int64_t passed_s = 0;
    test_clock_stop();
    bed_add(&p->bed, "local/cluster/age", "{'text':'has no host'}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        test_clock_advance_ms((rows[i].s - passed_s) * 1000);
        passed_s = rows[i].s;
        explain_page_expect(explain_page_text_of(p, "age.cluster.local", "A"), rows[i].text);
    }
    test_clock_run();
}

UNIT_TEST_ON(test_text_of_many, struct pages *p)
{
    char key[64], value[64];
    for (unsigned i = 0; i < EXPLAIN_RECORDS_MAX + 3; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/many/k%u", i);         /* fits */
        (void)snprintf(value, sizeof(value), "{'host':'10.1.0.%u'}", i % 250); /* fits */
        bed_add(&p->bed, key, value);
    }
    explain_page_expect(explain_page_text_of(p, "many.cluster.local", "A"), "\n  ... 3 more\n");
    json_t *json = explain_page_json_of(p, "many.cluster.local", "A");
    const json_t *name = json_array_get(json_object_get(json, "names"), 0);
    assert_int_equal(number_at(name, "key_count"), EXPLAIN_RECORDS_MAX + 3);
    assert_int_equal(json_array_size(json_object_get(name, "keys")), EXPLAIN_RECORDS_MAX);
    json_decref(json);
}

/* ---- JSON ---- */

UNIT_TEST_ON(test_json_of_an_answer, struct pages *p)
{
    json_t *json = explain_page_json_of(p, "x.cluster.local", "A");
    assert_string_equal(string_at(json, "name"), "x.cluster.local.");
    assert_string_equal(string_at(json, "type"), "A");
    assert_string_equal(string_at(json, "status"), "NOERROR");
    assert_int_equal(number_at(json, "revision"), 7);
    assert_null(json_object_get(json, "why"));
    assert_null(json_object_get(json, "external"));
    assert_null(json_object_get(json, "authority"));
    assert_true(json_array_size(json_object_get(json, "answer")) >= 2);

    const json_t *names = json_object_get(json, "names");
    const json_t *asked = explain_page_find(names, "name", "x.cluster.local.");
    assert_true(json_is_true(json_object_get(asked, "exists")));
    assert_null(json_object_get(asked, "host_of"));
    assert_int_equal(number_at(asked, "key_count"), 4);
    const json_t *a =
        explain_page_find(json_object_get(asked, "keys"), "key", "/skydns/local/cluster/x/a");
    const json_t *b =
        explain_page_find(json_object_get(asked, "keys"), "key", "/skydns/local/cluster/x/b");
    const json_t *gave = strcmp(string_at(a, "rule"), "gave") == 0 ? a : b;
    const json_t *same = gave == a ? b : a;
    assert_string_equal(string_at(gave, "rule"), "gave");
    assert_string_equal(string_at(gave, "text"), "t\x01");
    assert_string_equal(string_at(same, "rule"), "duplicate");
    assert_string_equal(string_at(same, "instead"), string_at(gave, "key"));
    const json_t *broken = json_array_get(json_object_get(asked, "broken"), 0);
    assert_string_equal(string_at(broken, "key"), "/skydns/local/cluster/x/h");
    assert_int_equal(number_at(broken, "revision"), 4);
    assert_true(*string_at(broken, "reason") != '\0');
    const json_t *target = explain_page_find(names, "name", "y.cluster.local.");
    assert_string_equal(string_at(target, "host_of"), "/skydns/local/cluster/x/d");
    json_decref(json);
}

UNIT_TEST_ON(test_json_of_an_absent_name, struct pages *p)
{
    json_t *json = explain_page_json_of(p, "xx.cluster.local", "SRV");
    assert_string_equal(string_at(json, "status"), "NXDOMAIN");
    assert_int_equal(json_array_size(json_object_get(json, "authority")), 1);
    const json_t *name = json_array_get(json_object_get(json, "names"), 0);
    assert_true(json_is_false(json_object_get(name, "exists")));
    assert_string_equal(string_at(name, "closest"), "cluster.local.");
    const json_t *near = json_object_get(name, "near");
    assert_true(json_array_size(near) >= 1);
    assert_null(json_object_get(name, "keys"));
    json_decref(json);
}

UNIT_TEST_ON(test_json_without_keys, struct pages *p)
{
    json_t *json = explain_page_json_of(p, "out.cluster.local", "A");
    const json_t *external = json_object_get(json, "external");
    assert_int_equal(json_array_size(external), 1);
    assert_string_equal(json_string_value(json_array_get(external, 0)), "db.example.com. A");
    json_decref(json);

    json = explain_page_json_of(p, "a\\\"b.example.com", "A");
    assert_string_equal(string_at(json, "status"), "not from here");
    assert_true(*string_at(json, "why") != '\0');
    assert_null(json_object_get(json, "answer"));
    assert_int_equal(json_array_size(json_object_get(json, "names")), 0);
    json_decref(json);
}

/* The page tells changes by etcd's events, not by a full read: nobody is inside a version, so all
 * see them at once. */
UNIT_TEST_ON(test_changes, struct pages *p)
{
    assert_null(strstr(explain_page_text_of(p, "y.cluster.local", "A"), "changed"));
    bed_add(&p->bed, "local/cluster/y", "{'host':'10.0.0.9'}");
    explain_page_expect(explain_page_text_of(p, "y.cluster.local", "A"),
                        "revision 8, known for 0 s; changed 0 s ago, seen by all threads ");
    json_t *json = explain_page_json_of(p, "y.cluster.local", "A");
    const json_t *name = json_array_get(json_object_get(json, "names"), 0);
    const json_t *change =
        json_object_get(json_array_get(json_object_get(name, "keys"), 0), "change");
    assert_string_equal(string_at(change, "kind"), "put");
    assert_string_equal(string_at(change, "name"), "y.cluster.local.");
    assert_string_equal(string_at(change, "key"), "/skydns/local/cluster/y");
    assert_int_equal(number_at(change, "revision"), 8);
    assert_true(number_at(change, "took_us") >= 0 && number_at(change, "time_ms") > 0);
    json_decref(json);
    bed_mirror.del(bed_mirror.data, slice_str("/skydns/local/cluster/y"), 9);
    bed_mirror.commit(bed_mirror.data, 9, false);
    explain_page_expect(explain_page_text_of(p, "y.cluster.local", "A"),
                        "\n  its key was deleted 0 s ago, seen by all ");
    json = explain_page_json_of(p, "y.cluster.local", "A");
    name = json_array_get(json_object_get(json, "names"), 0);
    assert_string_equal(string_at(json_object_get(name, "change"), "kind"), "delete");
    json_decref(json);
    buf_clear(&p->page);
    change_page_list(p->bed.sync, 1, &p->page);
    explain_page_expect(buf_cstr(&p->page), "\"kind\":\"delete\",\"name\":\"y.cluster.local.\"");
    assert_null(strstr(buf_cstr(&p->page), "put"));
    buf_clear(&p->page);
    change_page_list(p->bed.sync, 20, &p->page);
    explain_page_expect(buf_cstr(&p->page), "},{\"time_ms\":");
}

/* From the root down to the name, as far as it exists. */
UNIT_TEST_ON(test_tree, struct pages *p)
{
    static const struct {
        const char *name;
        bool exists, record;
        unsigned records;
    } rows[] = {
        {"local.", true, false, 5},
        {"cluster.local.", true, false, 5},
        {"x.cluster.local.", true, false, 3}, /* without the port, which is hidden */
        {"a.x.cluster.local.", true, true, 1},
        {"z.a.x.cluster.local.", false, false, 0},
    };
    json_t *json = explain_page_json_of(p, "Z.a.x.cluster.local", "A");
    const json_t *tree = json_object_get(json, "tree");
    assert_int_equal(json_array_size(tree), ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const json_t *level = json_array_get(tree, i);
        assert_string_equal(string_at(level, "name"), rows[i].name);
        assert_int_equal(json_is_true(json_object_get(level, "exists")), rows[i].exists);
        assert_int_equal(json_is_true(json_object_get(level, "record")), rows[i].record);
        assert_int_equal(number_at(level, "records"), rows[i].records);
    }
    json_decref(json);
}
