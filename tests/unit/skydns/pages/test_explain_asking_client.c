/* Explanations for one client: its namespace and why it has none, what is hidden from it, its
 * limits, and its search path. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"
#include "skydns/pages/explain_page.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static const struct bed_key keys[] = {
    {"local/cluster/svc/a/web/1", "{'host':'10.0.0.1'}"},
    {"local/cluster/svc/b/web/1", "{'host':'10.0.0.2'}"},
    {"local/cluster/svc/b/db/1", "{'host':'10.0.0.3'}"},
    {"local/cluster/ext", "{'host':'10.0.0.4'}"},
    {"arpa/in-addr/10/0/0/3", "{'host':'db.b.svc.cluster.local.'}"},
};

struct who_bed {
    struct pages_bed bed;
    struct client_index *index;
    struct buf page;
};

static void explain_asking_client_retire(void *data, void *block, void (*fn)(void *block))
{
    fn(block);
}

static void explain_asking_client_add_pod(struct who_bed *w, const char *address, const char *ns)
{
    const struct ip ip = ip_from(address);
    client_index_add(w->index, &ip, slice_str(ns));
}

/* 10.1.0.1 is of a, .2 of b, .3 of both, .4 of a node. */
static void explain_asking_client_start(struct who_bed *w, const char *flags)
{
    const struct ip node = ip_from("10.1.0.4");
    bed_start(&w->bed, flags);
    bed_fill(&w->bed, keys, ARRAY_LEN(keys));
    w->index =
        client_index_new(&(struct client_index_config){.retire = explain_asking_client_retire});
    explain_asking_client_add_pod(w, "10.1.0.1", "a");
    explain_asking_client_add_pod(w, "10.1.0.2", "b");
    explain_asking_client_add_pod(w, "10.1.0.3", "a");
    explain_asking_client_add_pod(w, "10.1.0.3", "b");
    explain_asking_client_add_pod(w, "10.1.0.4", "a");
    client_index_bar(w->index, &node);
    struct engine_config *config = options_engine_config(&w->bed.options);
    const struct client_options *clients = &w->bed.options.clients;
    config->clients = options_want_client_index(&w->bed.options) ? w->index : NULL;
    config->visibility =
        clients->is_own ? visibility_new(clients->unknown, NULL, 0, NULL, 0) : NULL;
    publisher_configure(w->bed.publisher, config);
    buf_init(&w->page, 1 << 20);
}

static void explain_asking_client_stop(struct who_bed *w)
{
    buf_fini(&w->page);
    bed_stop(&w->bed);
    client_index_free(w->index);
}

static const char *explain_asking_client_page(struct who_bed *w, const char *client,
                                              const char *name, bool is_json)
{
    w->bed.client = client;
    const struct explanation *x = bed_explain(&w->bed, name, "");
    buf_clear(&w->page);
    (is_json ? explain_page_json : explain_page_text)(x, &w->page);
    return buf_cstr(&w->page);
}

static void explain_asking_client_expect(struct who_bed *w, const char *client, const char *name,
                                         const char *text)
{
    const char *got = explain_asking_client_page(w, client, name, text[0] == '"');
    assert_that(strstr(got, text), "%s, %s: `%s` is not in\n%s", client, name, text, got);
}

UNIT_TEST(test_identities)
{
    struct who_bed w;
    explain_asking_client_start(&w, "-no-rec -autopath");
    explain_asking_client_expect(&w, "10.1.0.1", "x.test",
                                 "client     10.1.0.1: namespace a, as the pod");
    explain_asking_client_expect(&w, "::ffff:10.1.0.1", "x.test",
                                 "client     10.1.0.1: namespace a, as the pod");
    explain_asking_client_expect(&w, "10.1.0.3", "x.test",
                                 "client     10.1.0.3: namespace not known: pods of several");
    explain_asking_client_expect(&w, "10.1.0.4", "x.test",
                                 "namespace not known: pods share this address with their");
    explain_asking_client_expect(&w, "10.1.0.9", "x.test",
                                 "namespace not known: no pod has this address");
    explain_asking_client_expect(&w, "10.1.0.2", "x.test",
                                 "\"client\":{\"address\":\"10.1.0.2\",\"identity\":\"pod\","
                                 "\"allowed\":true,\"namespace\":\"b\"}");
    explain_asking_client_expect(&w, "10.1.0.4", "x.test",
                                 "\"identity\":\"node\",\"allowed\":true}");
    assert_null(strstr(explain_asking_client_page(&w, NULL, "x.test", false), "client"));
    assert_null(strstr(explain_asking_client_page(&w, "", "x.test", true), "client"));
    explain_asking_client_stop(&w);
    explain_asking_client_start(&w, "-no-rec");
    explain_asking_client_expect(&w, "10.1.0.1", "x.test",
                                 "namespace not looked for: none of -autopath");
    explain_asking_client_stop(&w);
}

UNIT_TEST(test_what_is_hidden)
{
    CLEANUP(explain_asking_client_stop) struct who_bed w;
    explain_asking_client_start(&w, "-visibility=own -reverse-zones=10.0.0.0/8");
    explain_asking_client_expect(&w, "10.1.0.1", "web.a.svc.cluster.local",
                                 "A: NOERROR, answers: 1");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc.cluster.local", "A: NXDOMAIN");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc.cluster.local",
                                 "hidden     namespace b: not the client's");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc.cluster.local",
                                 "; the client may not see it\n");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc.cluster.local", "\"hidden\":\"b\"");
    explain_asking_client_expect(&w, "10.1.0.1", "absent.b.svc.cluster.local", "\"hidden\":\"b\"");
    explain_asking_client_expect(&w, "10.1.0.9", "web.a.svc.cluster.local", "\"hidden\":\"a\"");
    explain_asking_client_expect(&w, "10.1.0.1", "3.0.0.10.in-addr.arpa", "\"hidden\":\"b\"");
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.2", "3.0.0.10.in-addr.arpa", true),
                       "hidden\":\""));
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.2", "web.b.svc.cluster.local", true),
                       "\"hidden\":\""));
    /* of what a wildcard gives, the others' */
    explain_asking_client_expect(&w, "10.1.0.1", "web.*.svc.cluster.local", "answers: 1");
    explain_asking_client_expect(&w, "10.1.0.1", "web.*.svc.cluster.local", "\"rule\":\"veiled\"");
    /* suggested is only what the client may see */
    explain_asking_client_expect(&w, NULL, "wbe.b.svc.cluster.local",
                                 "did you mean: web.b.svc.cluster.local.");
    explain_asking_client_expect(&w, "10.1.0.2", "wbe.b.svc.cluster.local",
                                 "did you mean: web.b.svc.cluster.local.");
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.1", "wbe.b.svc.cluster.local", true),
                       "[\"web.b."));
    explain_asking_client_expect(&w, NULL, "web.*.svc.cluster.local", "answers: 2");
    assert_null(
        strstr(explain_asking_client_page(&w, NULL, "web.b.svc.cluster.local", false), "hidden"));
}

UNIT_TEST(test_search_paths)
{
    struct who_bed w;
    explain_asking_client_start(&w,
                                "-autopath -search=corp.test -nameservers=127.0.0.1:9 -rcache=0");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.a.svc.cluster.local",
                                 "search     1. ext.a.svc.cluster.local. does not exist\n"
                                 "           2. ext.svc.cluster.local. does not exist\n"
                                 "           3. ext.cluster.local. answers\n");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.a.svc.cluster.local",
                                 "ext.a.svc.cluster.local. A: NOERROR, answers: 1");
    explain_asking_client_expect(&w, "10.1.0.1", "www.x.a.svc.cluster.local",
                                 "3. www.x.cluster.local. does not exist\n"
                                 "           4. www.x.corp.test. an upstream decides");
    explain_asking_client_expect(&w, "10.1.0.1", "db.b.a.svc.cluster.local",
                                 "2. db.b.svc.cluster.local. answers\n");
    explain_asking_client_expect(
        &w, "10.1.0.1", "web.a.svc.cluster.local",
        "\"path\":[{\"name\":\"web.a.svc.cluster.local.\",\"outcome\":\"answers\"}]");
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.2", "ext.a.svc.cluster.local", false),
                       "search"));
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.3", "ext.a.svc.cluster.local", false),
                       "search"));
    assert_null(
        strstr(explain_asking_client_page(&w, NULL, "ext.a.svc.cluster.local", false), "search"));
    explain_asking_client_stop(&w);
    explain_asking_client_start(&w, "-autopath -no-rec -ndots=3");
    explain_asking_client_expect(&w, "10.1.0.1", "x.y.a.svc.cluster.local",
                                 "4. x.y. fewer labels than -ndots: counts as not existing\n");
    explain_asking_client_expect(&w, "10.1.0.1", "x.y.a.svc.cluster.local", "A: NXDOMAIN");
    explain_asking_client_expect(&w, "10.1.0.1", "x.y.z.a.svc.cluster.local",
                                 "4. x.y.z. could not be answered");
    explain_asking_client_expect(&w, "10.1.0.1", "x.y.z.a.svc.cluster.local", "A: SERVFAIL");
    explain_asking_client_stop(&w);
}

UNIT_TEST(test_limits)
{
    struct who_bed w;
    explain_asking_client_start(&w, "-no-rec -allow=10.1.0.0/30 -rate=7/9");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.cluster.local", "A: NOERROR");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.cluster.local",
                                 "limit      7 UDP queries a second, 9 at once");
    explain_asking_client_expect(
        &w, "10.1.0.1", "ext.cluster.local",
        "\"allowed\":true,\"allowed_by\":\"10.1.0.0/30\",\"rate\":7,\"burst\":9");
    explain_asking_client_expect(&w, "10.1.0.9", "ext.cluster.local", "A: REFUSED");
    explain_asking_client_expect(&w, "10.1.0.9", "ext.cluster.local",
                                 "in no network of -allow: REFUSED");
    explain_asking_client_expect(&w, "10.1.0.9", "ext.cluster.local", "\"allowed\":false");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.cluster.local",
                                 "allowed    by the network 10.1.0.0/30 of -allow\n");
    explain_asking_client_stop(&w);
    explain_asking_client_start(&w, "-no-rec -rate-namespace=7/9");
    explain_asking_client_expect(&w, "10.1.0.9", "ext.cluster.local",
                                 "allowed    everybody: -allow is not set\n");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.cluster.local",
                                 "limit      7 queries a second for all clients of namespace a "
                                 "together, 9 at once\n");
    explain_asking_client_expect(&w, "10.1.0.1", "ext.cluster.local",
                                 "\"namespace\":\"a\",\"namespace_rate\":7,\"namespace_burst\":9}");
    explain_asking_client_expect(&w, "10.1.0.9", "ext.cluster.local",
                                 "\"identity\":\"none\",\"allowed\":true}");
    explain_asking_client_stop(&w);
}

/* Nothing is said of it for our own names. */
UNIT_TEST(test_recursion)
{
    CLEANUP(explain_asking_client_stop) struct who_bed w;
    explain_asking_client_start(&w, "-nameservers=127.0.0.1:9 -rcache=0");
    struct engine_config *config = options_engine_config(&w.bed.options);
    config->clients = NULL;
    config->allowed_count = 1;
    config->allowed[0] =
        (struct network){.ip = {.bytes = {10, 1}, .family_bytes = 4}, .prefix_bits = 16};
    publisher_configure(w.bed.publisher, config);
    explain_asking_client_expect(&w, "10.1.0.1", "www.x.test",
                                 "for external names: by the network 10.1.0.0/16 of -allow-recur");
    explain_asking_client_expect(&w, "10.1.0.1", "www.x.test",
                                 "\"recursion\":true,\"recursion_by\":\"10.1.0.0/16\"");
    explain_asking_client_expect(&w, "10.1.0.1", "www.x.test", "\"status\":\"not from here\"");
    explain_asking_client_expect(&w, "10.2.0.1", "www.x.test", "A: REFUSED");
    explain_asking_client_expect(&w, "10.2.0.1", "www.x.test", "in no network of -allow-recursion");
    explain_asking_client_expect(&w, "10.2.0.1", "www.x.test", "\"recursion\":false");
    assert_null(
        strstr(explain_asking_client_page(&w, "10.2.0.1", "ext.cluster.local", true), "recursion"));
    assert_null(strstr(explain_asking_client_page(&w, NULL, "www.x.test", true), "recursion"));
    config->allows_all = true;
    explain_asking_client_expect(&w, "10.2.0.1", "www.x.test", "-allow-recursion lets everybody");
}

UNIT_TEST(test_search_lists)
{
    CLEANUP(explain_asking_client_stop) struct who_bed w;
    explain_asking_client_start(
        &w, "-autopath -search=corp.test -nameservers=127.0.0.1:9 -rcache=0 -ndots=2");
    explain_asking_client_expect(
        &w, "10.1.0.1", "web",
        "search     this pod of namespace a queries these, until one answers:\n"
        "           1. web.a.svc.cluster.local. answers\n"
        "           2. web.svc.cluster.local. does not exist\n"
        "           3. web.cluster.local. does not exist\n"
        "           4. web.corp.test. an upstream decides\n");
    explain_asking_client_expect(&w, "10.1.0.1", "web",
                                 "           5. web. not forwarded: fewer labels than -ndots\n");
    explain_asking_client_expect(&w, NULL, "ext",
                                 "search     a pod of namespace default queries these");
    explain_asking_client_expect(
        &w, NULL, "ext",
        "\"search\":{\"namespace\":\"default\",\"assumed\":true,\"names\":["
        "{\"name\":\"ext.default.svc.cluster.local.\",\"outcome\":\"no-name\"},");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc",
                                 "2. web.b.svc.svc.cluster.local. does not exist");
    explain_asking_client_expect(&w, "10.1.0.1", "web.b.svc",
                                 "3. web.b.svc.cluster.local. answers");
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.1", "web.", false), "queries these"));
    assert_null(strstr(explain_asking_client_page(&w, "10.1.0.1", "ext.cluster.local", false),
                       "queries these"));
    assert_null(
        strstr(explain_asking_client_page(&w, "10.1.0.1", "a.b.c.d.e.f", false), "queries these"));
    w.bed.client = NULL;
    const struct explanation *x = bed_explain(&w.bed, "web.a", "TXT");
    assert_int_equal(x->search.count, 5);
    assert_int_equal(x->search.outcomes[1], EXPLAIN_NO_DATA); /* web.a.svc.cluster.local */
}
