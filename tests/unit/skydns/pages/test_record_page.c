/* record_page_internal.h: the list of all records and unusable keys, in pieces, read with jansson.
 */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <jansson.h>

#include "skydns/pages/record_page_internal.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/pages/read_pages.h"

enum { PAGE_MAX = 8 << 20 };

/* The page in as many pieces as it takes; the caller owns the result. */
static json_t *record_page_read(struct pages_bed *bed, unsigned *ret_pieces)
{
    struct http_reply reply = {.status = 200};
    record_page_stream(bed->sync, &reply);
    assert_string_equal(reply.content_type, "application/json");
    json_t *json = read_streamed_json(&reply, PAGE_MAX, ret_pieces);
    reply.stream.end(reply.stream.data);
    return json;
}

static const json_t *record_page_find(const json_t *page, const char *list, const char *key)
{
    const json_t *items = json_object_get(page, list);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (strcmp(json_string_value(json_object_get(item, "key")), key) == 0) {
            return item;
        }
    }
    fail_msg("no %s %s", list, key);
    return NULL;
}

/* Each field as it is in etcd, absent where etcd has none; `rr` in this program's own form. */
UNIT_TEST(test_fields)
{
    static const struct bed_key keys[] = {
        {"com/example/www/3f", "{'host':'192.0.2.1','targetstrip':1,'ttl':30}"},
        {"com/example/any", "{'ttl':60,'rr':['caa 0 issue \\'ca.example.net\\'',"
                            "'MX  10 Mail.example.com.','TYPE65400 \\\\# 2 abCD']}"},
        {"local/cluster/full",
         "{'host':'mx.example.com.','port':25,'priority':5,'weight':7,'text':'t\\u0001',"
         "'mail':true,'group':'g'}"},
        {"com/example/bad", "{'rr':['SOA a. b. 1 2 3 4 5']}"},
    };
    CLEANUP(bed_stop) struct pages_bed bed;
    unsigned pieces;
    bed_start(&bed, "-no-rec");
    bed_fill(&bed, keys, ARRAY_LEN(keys));
    json_t *page = record_page_read(&bed, &pieces);
    assert_int_equal(json_integer_value(json_object_get(page, "revision")), ARRAY_LEN(keys));
    assert_int_equal(json_array_size(json_object_get(page, "records")), 3);

    const json_t *www = record_page_find(page, "records", "/skydns/com/example/www/3f");
    assert_string_equal(json_string_value(json_object_get(www, "host")), "192.0.2.1");
    assert_int_equal(json_integer_value(json_object_get(www, "targetstrip")), 1);
    assert_int_equal(json_integer_value(json_object_get(www, "ttl")), 30);
    assert_int_equal(json_integer_value(json_object_get(www, "revision")), 1);
    assert_null(json_object_get(www, "rr"));
    assert_null(json_object_get(www, "port"));
    assert_null(json_object_get(www, "mail"));
    assert_null(json_object_get(www, "text"));

    const json_t *any = record_page_find(page, "records", "/skydns/com/example/any");
    const json_t *rr = json_object_get(any, "rr");
    assert_int_equal(json_array_size(rr), 3);
    assert_string_equal(json_string_value(json_array_get(rr, 0)), "CAA 0 issue \"ca.example.net\"");
    assert_string_equal(json_string_value(json_array_get(rr, 1)), "MX 10 Mail.example.com.");
    assert_string_equal(json_string_value(json_array_get(rr, 2)), "TYPE65400 \\# 2 abcd");
    assert_null(json_object_get(any, "host"));

    const json_t *full = record_page_find(page, "records", "/skydns/local/cluster/full");
    assert_string_equal(json_string_value(json_object_get(full, "host")), "mx.example.com.");
    assert_int_equal(json_integer_value(json_object_get(full, "port")), 25);
    assert_int_equal(json_integer_value(json_object_get(full, "priority")), 5);
    assert_int_equal(json_integer_value(json_object_get(full, "weight")), 7);
    assert_string_equal(json_string_value(json_object_get(full, "text")), "t\x01");
    assert_string_equal(json_string_value(json_object_get(full, "group")), "g");
    assert_true(json_is_true(json_object_get(full, "mail")));

    const json_t *bad = record_page_find(page, "broken", "/skydns/com/example/bad");
    assert_non_null(strstr(json_string_value(json_object_get(bad, "reason")), "SOA"));
    assert_int_equal(json_integer_value(json_object_get(bad, "revision")), 4);
    json_decref(page);
}

/* Before the first read there is nothing; many records and unusable keys come in pieces. */
UNIT_TEST(test_pieces)
{
    enum { MANY = 3000 };
    CLEANUP(bed_stop) struct pages_bed bed;
    unsigned pieces;
    bed_start(&bed, "-no-rec");
    json_t *page = record_page_read(&bed, &pieces);
    assert_int_equal(json_array_size(json_object_get(page, "records")), 0);
    assert_int_equal(json_array_size(json_object_get(page, "broken")), 0);
    json_decref(page);
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (unsigned i = 0; i < MANY; i++) {
        char key[BED_KEY_MAX];
        (void)snprintf(key, sizeof(key), "local/cluster/%s%u", i % 3 ? "node" : "bad", i);
        bed_put(&bed, &(struct bed_key){key, i % 3 ? "{'host':'10.0.0.1'}" : "{'host':7}"});
    }
    bed_mirror.commit(bed_mirror.data, bed.revision, true);
    page = record_page_read(&bed, &pieces);
    assert_int_equal(json_array_size(json_object_get(page, "records")), MANY - MANY / 3);
    assert_int_equal(json_array_size(json_object_get(page, "broken")), MANY / 3);
    assert_true(pieces > 4);
    json_decref(page);
}
