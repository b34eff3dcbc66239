/* missing_names.h and missing_list_internal.h: which NXDOMAINs are mistakes, which of the
 * candidates of one is shown, and that random names hide none. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "common/dns/dns.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_list_internal.h"
#include "skydns/pages/missing_names.h"
#include "skydns/tap/query_tap.h"
#include "tests/support/from_text.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

static const struct bed_key cluster[] = {
    {"local/cluster/svc/default/kubernetes/c1", "{'host':'10.0.0.9'}"},
    {"local/cluster/svc/prod/web/c1", "{'host':'10.0.0.1'}"},
    {"local/cluster/svc/shop/cart/c1", "{'host':'10.0.0.2'}"},
};

struct missing_bed {
    struct pages_bed pages;
    struct name_samples *samples;
    struct query_tap tap;
    struct metrics_sources sources;
    struct missing_names *names;
};

static void missing_start(struct missing_bed *bed)
{
    bed_start(&bed->pages, "-schema=kubernetes");
    bed_fill(&bed->pages, cluster, ARRAY_LEN(cluster));
    bed->samples = name_samples_new(MISSING_SAMPLES_MAX);
    query_tap_init(&bed->tap, NULL, bed->samples, NULL);
    bed->sources = (struct metrics_sources){.publisher = bed->pages.publisher,
                                            .sync = bed->pages.sync,
                                            .explainer = bed->pages.explainer,
                                            .tap = &bed->tap};
    bed->names = missing_names_new(bed->pages.loop, &bed->sources);
}

static void missing_stop(struct missing_bed *bed)
{
    missing_names_free(bed->names);
    name_samples_free(bed->samples);
    bed_stop(&bed->pages);
}

/* Puts a sample; a whole ring is taken at once. */
static void put_sample(struct missing_bed *bed, const char *text)
{
    static const struct addr client;
    uint8_t bytes[512] = {0};
    struct dname name = dname_from(text);
    memcpy(bytes + DNS_HEADER_SIZE, name.wire, name.len);
    bytes[DNS_HEADER_SIZE + name.len + 1] = DNS_TYPE_A;
    const struct engine_query query = {.client = &client};
    const struct response response = {.bytes = bytes, .len = 64, .name_len = name.len};
    const struct query_seen seen = {.query = &query, .response = &response};
    name_samples_put(bed->samples, &seen);
}

static void put_samples(struct missing_bed *bed, const char *const *texts, size_t count,
                        unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        for (size_t k = 0; k < count; k++) {
            put_sample(bed, texts[k]);
        }
        missing_names_take(bed->names);
    }
}

/* Writes "name>near " of each row that is shown. */
static const char *shown_text(struct missing_bed *bed, struct buf *out)
{
    struct missing_list *list = missing_list_new(&bed->sources, missing_names_sketch(bed->names));
    assert_non_null(list);
    while (!missing_list_look(list)) {
    }
    buf_clear(out);
    for (size_t i = 0; i < list->count; i++) {
        char text[DNAME_TEXT_MAX];
        const struct missing_row *row = &list->rows[i];
        if (row->is_shown) {
            buf_append_str(out, dname_to_text(&row->entry.name, text));
            buf_append_char(out, '>');
            buf_append_str(out, row->hint.near.len ? dname_to_text(&row->hint.near, text) : "");
            buf_append_char(out, ' ');
        }
    }
    missing_list_free(list);
    return buf_cstr(out);
}

UNIT_TEST(test_expansions)
{
    static const char *const none[] = {/* An external name, whose candidates come alike */
                                       "api.example.com.prod.svc.cluster.local",
                                       "api.example.com.svc.cluster.local",
                                       "api.example.com.cluster.local",
                                       /* The next candidate has records */
                                       "cart.shop.prod.svc.cluster.local",
                                       /* A whole name is the next one */
                                       "wbe.prod.svc.cluster.local.prod.svc.cluster.local",
                                       /* Not ours */
                                       "www.example.org"};
    CLEANUP(missing_stop) struct missing_bed bed;
    CLEANUP_BUF struct buf out = buf_of(4096);
    missing_start(&bed);
    put_samples(&bed, none, ARRAY_LEN(none), 20);
    assert_string_equal(shown_text(&bed, &out), "");
    assert_int_equal(missing_names_expansions(bed.names), 2 * 20);
}

/* A whole name in a namespace that there is not is no candidate: the others are not asked for. */
UNIT_TEST(test_unexplained)
{
    static const char *const whole[] = {"queue.analytics.svc.cluster.local"};
    CLEANUP(missing_stop) struct missing_bed bed;
    CLEANUP_BUF struct buf out = buf_of(4096);
    missing_start(&bed);
    put_samples(&bed, whole, 1, 20);
    assert_string_equal(shown_text(&bed, &out), "queue.analytics.svc.cluster.local.> ");
}

/* One candidate of a mistake is shown: the one that can be explained. */
UNIT_TEST(test_candidates)
{
    static const char *const short_name[] = {"wbe.prod.svc.cluster.local", "wbe.svc.cluster.local",
                                             "wbe.cluster.local"};
    static const char *const with_namespace[] = {
        "crt.shop.prod.svc.cluster.local", "crt.shop.svc.cluster.local", "crt.shop.cluster.local"};
    CLEANUP(missing_stop) struct missing_bed bed;
    CLEANUP_BUF struct buf out = buf_of(4096);
    missing_start(&bed);
    put_samples(&bed, short_name, ARRAY_LEN(short_name), 20);
    put_samples(&bed, with_namespace, ARRAY_LEN(with_namespace), 10);
    assert_string_equal(shown_text(&bed, &out),
                        "wbe.prod.svc.cluster.local.>web.prod.svc.cluster.local. "
                        "crt.shop.svc.cluster.local.>cart.shop.svc.cluster.local. ");
}

/* A typo between 100,000 random names, a turn's worth at a time, is the first. The clock stands
 * still: a slow machine, or an emulated one, would spend a turn's time on the random names. */
UNIT_TEST(test_random_names)
{
    enum { TURNS = 100, EACH = 1000 };
    static const char wanted[] = "wbe.prod.svc.cluster.local.>web.prod.svc.cluster.local. ";
    CLEANUP(missing_stop) struct missing_bed bed;
    unsigned number = 0;
    CLEANUP_BUF struct buf out = buf_of(64 * 1024);
    missing_start(&bed);
    test_clock_stop();
    for (unsigned i = 0; i < TURNS; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            char text[64];
            (void)snprintf(text, sizeof(text), "random-%u.prod.svc.cluster.local", number++);
            put_sample(&bed, text);
        }
        put_sample(&bed, "wbe.prod.svc.cluster.local");
        missing_names_take(bed.names);
    }
    const char *text = shown_text(&bed, &out);
    assert_that(strncmp(text, wanted, strlen(wanted)) == 0, "%.200s", text);
    assert_int_equal(name_samples_dropped(bed.samples), 0);
    test_clock_run();
}
