/* The ConfigMap's way to the reconciler, which this file stands for: what each state makes of it,
 * what is told, and what stays when a state is refused. */
#include "kube2sky/config_source.h"

#include "kube2sky/naming/config_map.h"
#include "kube2sky/reconcile/reconciler.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/objects.h"

/* ---- In place of the reconciler ---- */

static struct {
    unsigned wanted, lacked;
    size_t keys; /* of the last map wanted */
    char nameservers[128];
} told;

void reconciler_want_config(struct reconciler *reconciler, struct config_map *map)
{
    assert_null(reconciler);
    struct slice text = buf_slice(&map->nameservers);
    told.wanted++;
    told.keys = map->keys.count;
    assert_true(text.len < sizeof(told.nameservers));
    if (text.len > 0) {
        memcpy(told.nameservers, text.ptr, text.len);
    }
    told.nameservers[text.len] = '\0';
}

void reconciler_lack_config(struct reconciler *reconciler)
{
    assert_null(reconciler);
    told.lacked++;
}

/* ---- The bed ---- */

struct bed {
    struct ev_loop *loop;
    struct config_source *source;
};

static void config_source_set_up(struct bed *bed)
{
    memset(&told, 0, sizeof(told));
    bed->loop = ev_loop_new(0);
    bed->source = config_source_new(
        &(struct config_source_config){.loop = bed->loop, .domain = "cluster.local.", .ttl_s = 30});
}

static void config_source_tear_down(struct bed *bed)
{
    config_source_free(bed->source);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, config_source_set_up, config_source_tear_down)

/* Returns the source's log lines about a map with this content of `data`; NULL: there is none. */
static const char *kube2sky_config_source_take(struct bed *bed, const char *data,
                                               struct log_capture *capture)
{
    struct kube_object *map = NULL;
    if (data) {
        CLEANUP_FREE char *text =
            xasprintf("{'metadata':{'namespace':'kube-system','name':'kube-dns'},"
                      "'data':{%s}}",
                      data);
        map = object_from(KUBE_CONFIG_MAP, text);
    }
    log_capture_begin(capture);
    config_source_take(bed->source, map);
    return log_capture_end(capture);
}

#define STUB    "'stubDomains':'{\\'acme.local\\':[\\'10.0.0.1\\']}'"
#define SERVERS "'upstreamNameservers':'[\\'8.8.8.8\\']'"
#define BAD     "'upstreamNameservers':'no list'"

static const char *config_source_explained(const struct bed *bed, struct buf *out)
{
    buf_clear(out);
    bool is_refused = config_source_explain(bed->source, out);
    assert_int_equal(is_refused, kube2sky_config_source_is_refused(bed->source));
    assert_int_equal(is_refused, out->len > 0);
    return buf_cstr(out);
}

/* ---- Tests ---- */

UNIT_TEST_ON(test_read, struct bed *bed)
{
    struct log_capture capture;
    const char *text = kube2sky_config_source_take(bed, STUB "," SERVERS, &capture);
    assert_int_equal(log_occurrences(text, "ConfigMap read keys=1 "), 1);
    assert_int_equal(told.wanted, 1);
    assert_int_equal(told.keys, 1);
    assert_non_null(strstr(told.nameservers, "8.8.8.8:53"));
    assert_false(kube2sky_config_source_is_refused(bed->source));

    assert_string_equal(kube2sky_config_source_take(bed, STUB "," SERVERS, &capture),
                        ""); /* listed again */
    assert_int_equal(told.wanted, 1);
}

UNIT_TEST_ON(test_refused, struct bed *bed)
{
    struct log_capture capture;
    CLEANUP_BUF struct buf out = buf_of(1024);
    (void)kube2sky_config_source_take(bed, SERVERS, &capture);
    const char *text = kube2sky_config_source_take(bed, BAD, &capture);
    assert_int_equal(log_occurrences(text, "ConfigMap refused, its last good settings stay"), 1);
    assert_int_equal(told.wanted, 1);
    assert_int_equal(told.lacked, 1);
    assert_non_null(
        strstr(config_source_explained(bed, &out), "refused, its last good settings stay: "));
    assert_non_null(strstr(config_source_explained(bed, &out), "upstreamNameservers"));

    text = kube2sky_config_source_take(bed, SERVERS, &capture);
    assert_int_equal(log_occurrences(text, "ConfigMap read keys=0 "), 1);
    assert_int_equal(told.wanted, 2);
    assert_string_equal(config_source_explained(bed, &out), "");
}

/* The API's own words about it have no line breaks of the map's author. */
UNIT_TEST_ON(test_garbled, struct bed *bed)
{
    struct log_capture capture;
    CLEANUP_BUF struct buf out = buf_of(1024);
    struct kube_object *map = object_from(
        KUBE_CONFIG_MAP, "{'metadata':{'namespace':'kube-system','name':'kube-dns'},'data':{}}");
    map->is_garbled = true;
    map->faults = "data: b\n: expected a string";
    log_capture_begin(&capture);
    config_source_take(bed->source, map);
    (void)log_capture_end(&capture);
    assert_int_equal(told.lacked, 1);
    assert_non_null(strstr(config_source_explained(bed, &out), "data: b?: expected a string"));
    map->faults = NULL; /* not the map's own */
    map->is_garbled = false;
}

UNIT_TEST_ON(test_gone, struct bed *bed)
{
    struct log_capture capture;
    assert_string_equal(kube2sky_config_source_take(bed, NULL, &capture),
                        ""); /* there never was one */
    assert_int_equal(told.wanted, 1);
    (void)kube2sky_config_source_take(bed, STUB, &capture);
    assert_int_equal(told.keys, 1);
    const char *text = kube2sky_config_source_take(bed, NULL, &capture);
    assert_int_equal(log_occurrences(text, "ConfigMap is gone, removing its keys"), 1);
    assert_int_equal(told.wanted, 3);
    assert_int_equal(told.keys, 0);
    assert_string_equal(told.nameservers, "");
}

UNIT_TEST_ON(test_settings_without_effect, struct bed *bed)
{
    struct log_capture capture;
    const char *text = kube2sky_config_source_take(bed, "'federations':'x','other':'y'", &capture);
    assert_int_equal(log_occurrences(text, "there are no federations any more"), 1);
    assert_int_equal(log_occurrences(text, "setting of the ConfigMap ignored: unknown key=other"),
                     1);
    text = kube2sky_config_source_take(bed, "'federations':'z','other':'y','new':''", &capture);
    assert_int_equal(log_occurrences(text, "ignored"), 1);
    assert_int_equal(log_occurrences(text, "key=new"), 1);
    (void)kube2sky_config_source_take(bed, "", &capture);
    text = kube2sky_config_source_take(bed, "'other':'y'", &capture); /* again, after it was gone */
    assert_int_equal(log_occurrences(text, "key=other"), 1);
}

/* The reconciler does not wait for ever for an API server that says nothing. */
UNIT_TEST_ON(test_timeout, struct bed *bed)
{
    while (told.lacked == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(told.wanted, 0);
    config_source_lack(bed->source);
    assert_int_equal(told.lacked, 2);
    config_source_free(NULL);
}
