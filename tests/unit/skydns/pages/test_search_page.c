/* search_page_internal.h: which records match, in which order; how many are shown; the work of one
 * step. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <jansson.h>

#include "skydns/pages/search_page_internal.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/pages/read_pages.h"

enum { PAGE_MAX = 8 << 20, TEXT_MAX = 4096 };

static struct http_reply pages_search_page_begin(struct pages_bed *bed, const char *text)
{
    struct http_reply reply = {.status = 200};
    buf_init(&reply.body, 1024);
    search_page(bed->sync, text, &reply);
    return reply;
}

static void pages_search_page_end(struct http_reply *reply)
{
    if (reply->stream.end) {
        reply->stream.end(reply->stream.data);
    }
    buf_fini(&reply->body);
}

/* The caller owns the result. */
static json_t *search_page_search(struct pages_bed *bed, const char *text, unsigned *ret_pieces)
{
    struct http_reply reply = pages_search_page_begin(bed, text);
    assert_int_equal(reply.status, 200);
    json_t *json = read_streamed_json(&reply, PAGE_MAX, ret_pieces);
    pages_search_page_end(&reply);
    return json;
}

static const char *search_page_text_of(const json_t *object, const char *field)
{
    return json_string_value(json_object_get(object, field));
}

/* "exact:web.cluster.local. value:db.cluster.local." */
static const char *search_page_found(struct pages_bed *bed, const char *text, char out[TEXT_MAX])
{
    unsigned pieces;
    json_t *page = search_page_search(bed, text, &pieces), *record;
    size_t used = 0, i;
    out[0] = '\0';
    json_array_foreach(json_object_get(page, "records"), i, record)
    {
        used += (size_t)snprintf(out + used, TEXT_MAX - used, "%s%s:%s", i ? " " : "",
                                 search_page_text_of(record, "match"),
                                 search_page_text_of(record, "name"));
        assert_true(used < TEXT_MAX);
        assert_true(json_integer_value(json_object_get(record, "revision")) > 0);
        assert_non_null(json_object_get(record, "known_s"));
    }
    assert_int_equal(json_integer_value(json_object_get(page, "matches")), i);
    json_decref(page);
    return out;
}

static void search_page_set_up(struct pages_bed *bed)
{
    bed_start(bed, "-no-rec");
}

UNIT_FIXTURE(struct pages_bed, search_page_set_up, bed_stop)

UNIT_TEST_ON(test_matches, struct pages_bed *bed)
{
    static const struct bed_key keys[] = {
        {"local/cluster/svc/default/web", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/default/website", "{'host':'10.0.0.2'}"},
        {"local/cluster/svc/default/my-web", "{'host':'10.0.0.3'}"},
        {"local/cluster/svc/default/db", "{'host':'Web.example.com.'}"},
        {"local/cluster/txt", "{'text':'the WEB of <b>'}"},
        {"local/cluster/web", "{'host':'fd00::9'}"},
    };
    static const struct {
        const char *text, *found;
    } rows[] = {
        {"web.cluster.local", "exact:web.cluster.local."},
        {"WEB.cluster.local.", "exact:web.cluster.local."},
        {"web", "label:web.cluster.local. label:web.default.svc.cluster.local. "
                "label:website.default.svc.cluster.local. name:my-web.default.svc.cluster.local. "
                "value:txt.cluster.local. value:db.default.svc.cluster.local."},
        {"site.def", "name:website.default.svc.cluster.local."},
        {"t.SVC.clusters", ""},
        {"<B>", "value:txt.cluster.local."},
        {"10.0.0.3", "value:my-web.default.svc.cluster.local."},
        {"FD00", "value:web.cluster.local."},
        {"/skydns/local/cluster/web", "exact:web.cluster.local."},
        {"default/we", "label:web.default.svc.cluster.local. "
                       "label:website.default.svc.cluster.local."},
        {"t/my", "name:my-web.default.svc.cluster.local."},
        {"nothing", ""},
    };
    char text[TEXT_MAX];
    bed_fill(bed, keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_that(strcmp(search_page_found(bed, rows[i].text, text), rows[i].found) == 0,
                    "%s: `%s`, expected `%s`", rows[i].text, text, rows[i].found);
    }
    assert_non_null(strstr(search_page_found(bed, "", text), "web.cluster.local."));
}

/* Among many it finds the best hundred, in steps; each search has its share of a step. */
UNIT_TEST_ON(test_many, struct pages_bed *bed)
{
    enum { KEYS = 5000, RUNNING = 4, STEPS_MIN = KEYS / 513 };
    struct http_reply others[RUNNING - 1];
    unsigned alone, together;
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (unsigned i = 0; i < KEYS; i++) {
        char key[BED_KEY_MAX];
        assert_true(
            snprintf(key, sizeof(key), "local/cluster/%s%u", i % 40 ? "a-node" : "node", i) > 0);
        bed_put(bed, &(struct bed_key){key, "{'host':'10.0.0.1'}"});
    }
    bed_mirror.commit(bed_mirror.data, bed->revision, true);
    json_t *page = search_page_search(bed, "node", &alone), *record;
    size_t i;
    assert_int_equal(json_integer_value(json_object_get(page, "scanned")), KEYS);
    assert_int_equal(json_integer_value(json_object_get(page, "matches")), KEYS);
    assert_int_equal(json_array_size(json_object_get(page, "records")), SEARCH_RESULTS_MAX);
    json_array_foreach(json_object_get(page, "records"), i, record)
    {
        assert_string_equal(search_page_text_of(record, "match"), "label");
    }
    json_decref(page);
    assert_true(alone >= STEPS_MIN);
    for (i = 0; i < RUNNING - 1; i++) {
        others[i] = pages_search_page_begin(bed, "x");
    }
    json_decref(search_page_search(bed, "node", &together));
    assert_true(together >= STEPS_MIN * (RUNNING - 1));
    for (i = 0; i < RUNNING - 1; i++) {
        pages_search_page_end(&others[i]);
    }
}

UNIT_TEST_ON(test_refusals, struct pages_bed *bed)
{
    char text[SEARCH_TEXT_MAX + 2];
    struct http_reply replies[SEARCH_RUNNING_MAX], one;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    one = pages_search_page_begin(bed, text);
    assert_int_equal(one.status, 400);
    assert_non_null(strstr(buf_cstr(&one.body), "at most 255 bytes"));
    pages_search_page_end(&one);
    one = pages_search_page_begin(bed, NULL);
    assert_int_equal(one.status, 400);
    pages_search_page_end(&one);
    for (size_t i = 0; i < SEARCH_RUNNING_MAX; i++) {
        replies[i] = pages_search_page_begin(bed, text + 1);
        assert_int_equal(replies[i].status, 200);
    }
    one = pages_search_page_begin(bed, "x");
    assert_int_equal(one.status, 503);
    pages_search_page_end(&one);
    pages_search_page_end(&replies[0]);
    replies[0] = pages_search_page_begin(bed, "x");
    assert_int_equal(replies[0].status, 200);
    for (size_t i = 0; i < SEARCH_RUNNING_MAX; i++) {
        pages_search_page_end(&replies[i]);
    }
}

/* Before the first read there is nothing; a record that goes meanwhile is not shown. */
UNIT_TEST_ON(test_changes, struct pages_bed *bed)
{
    static const struct bed_key keys[] = {{"local/cluster/web", "{'host':'10.0.0.1'}"},
                                          {"local/cluster/web2", "{'host':'10.0.0.1'}"}};
    char text[TEXT_MAX];
    assert_string_equal(search_page_found(bed, "web", text), "");
    bed_fill(bed, keys, ARRAY_LEN(keys));
    CLEANUP(pages_search_page_end) struct http_reply reply = pages_search_page_begin(bed, "web");
    CLEANUP_BUF struct buf piece = buf_of(HTTP_PIECE_MAX);
    assert_true(reply.stream.more(reply.stream.data, &piece));
    assert_true(reply.stream.more(reply.stream.data, &piece)); /* all are found */
    bed_fill(bed, keys, 1);
    while (reply.stream.more(reply.stream.data, &piece)) {
    }
    assert_non_null(strstr(buf_cstr(&piece), "\"matches\":2"));
    assert_non_null(strstr(buf_cstr(&piece), "web.cluster.local."));
    assert_null(strstr(buf_cstr(&piece), "web2.cluster.local."));
}
