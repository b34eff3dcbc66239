/* gone_names.h: which names count as gone, in which domains, and how many are remembered. */
#include "skydns/sync/gone_names.h"

#include "skydns/records/store.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

/* Removes these records; notes what went. */
static void remove_names(struct fixture *f, struct gone_names *gone, const char *const *names,
                         size_t count)
{
    struct store_garbage *garbage;
    const struct dname domain = dname_from("cluster.local");
    const struct store *before = f->store;
    for (size_t i = 0; i < count; i++) {
        const struct dname name = dname_from(names[i]);
        store_writer_del(f->writer, &name);
    }
    f->store = store_writer_commit(f->writer, store_revision(before) + 1, &garbage);
    gone_names_follow(gone, before, f->store, &domain, 1);
    store_garbage_free(garbage);
}

static const char *gone_text(const struct gone_names *gone, const char *text,
                             char out[DNAME_TEXT_MAX])
{
    const struct dname name = dname_from(text);
    const struct gone_name *found = gone_names_find(gone, &name);
    return found ? dname_to_text(&found->name, out) : "";
}

UNIT_TEST(test_names)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/prod/web/c1", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/prod/web/c2", "{'host':'10.0.0.2'}"},
        {"local/cluster/svc/prod/web/_tcp/_http/c1", "{'host':'10.0.0.1','port':80}"},
        {"local/cluster/svc/prod/db/db-0", "{'host':'10.0.0.3'}"},
        {"local/cluster/svc/prod/db/db-1", "{'host':'10.0.0.4'}"},
        {"local/cluster/svc/prod/alias", "{'host':'www.example.com.'}"},
        {"local/cluster/pod/prod/10-0-0-1/c1", "{'host':'10.0.0.1'}"},
        {"com/example/www", "{'host':'10.0.0.9'}"},
    };
    static const char *const first[] = {"c1.web.prod.svc.cluster.local"};
    static const char *const rest[] = {
        "c2.web.prod.svc.cluster.local",      "c1._http._tcp.web.prod.svc.cluster.local",
        "db-0.db.prod.svc.cluster.local",     "alias.prod.svc.cluster.local",
        "c1.10-0-0-1.prod.pod.cluster.local", "www.example.com"};
    char text[DNAME_TEXT_MAX];
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    struct gone_names *gone = gone_names_new();
    remove_names(f, gone, first, ARRAY_LEN(first)); /* the Service has another record */
    assert_string_equal(gone_text(gone, "web.prod.svc.cluster.local", text), "");
    remove_names(f, gone, rest, ARRAY_LEN(rest));
    assert_string_equal(gone_text(gone, "web.prod.svc.cluster.local", text),
                        "web.prod.svc.cluster.local.");
    assert_string_equal(gone_text(gone, "_http._tcp.web.prod.svc.cluster.local", text),
                        "web.prod.svc.cluster.local.");
    assert_string_equal(gone_text(gone, "db-0.db.prod.svc.cluster.local", text),
                        "db-0.db.prod.svc.cluster.local.");
    assert_string_equal(gone_text(gone, "alias.prod.svc.cluster.local", text),
                        "alias.prod.svc.cluster.local.");
    assert_string_equal(gone_text(gone, "10-0-0-1.prod.pod.cluster.local", text), "");
    assert_string_equal(gone_text(gone, "www.example.com", text), "");
    assert_string_equal(gone_text(gone, "other.prod.svc.cluster.local", text), "");
    gone_names_free(gone);
    fixture_free(f);
}

/* The latest GONE_NAMES_MAX are remembered. */
UNIT_TEST(test_bounds)
{
    enum { SERVICES = GONE_NAMES_MAX + 100 };
    struct fixture *f = fixture_new(NULL, 0);
    struct gone_names *gone = gone_names_new();
    char text[DNAME_TEXT_MAX], path[64], name[64];
    for (unsigned i = 0; i < SERVICES; i++) {
        (void)snprintf(path, sizeof(path), "local/cluster/svc/prod/web-%u/c1", i);
        fixture_put(f, &(struct fixture_key){path, "{'host':'10.0.0.1'}"}, 1);
    }
    for (unsigned i = 0; i < SERVICES; i++) {
        const char *const names[] = {name};
        (void)snprintf(name, sizeof(name), "c1.web-%u.prod.svc.cluster.local", i);
        remove_names(f, gone, names, 1);
    }
    assert_string_equal(gone_text(gone, "web-99.prod.svc.cluster.local", text), "");
    assert_string_equal(gone_text(gone, "web-100.prod.svc.cluster.local", text),
                        "web-100.prod.svc.cluster.local.");
    assert_string_equal(gone_text(gone, "web-1123.prod.svc.cluster.local", text),
                        "web-1123.prod.svc.cluster.local.");
    gone_names_free(gone);
    fixture_free(f);
}
