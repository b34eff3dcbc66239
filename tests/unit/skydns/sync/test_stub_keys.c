/* Stub zones in etcd's keys: which zones they name, which keys are of no use, and when they are
 * read again. */
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "skydns/records/store.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/stub_keys_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

enum { TEXT_MAX = 4096 };

struct fixture {
    struct store_writer *writer;
    struct broken_table *broken;
    struct stub_keys *keys;
    int64_t revision;
    unsigned told;
    size_t zone_count;
    char zones[TEXT_MAX]; /* as told last: "a.test.=10.0.0.1:53,10.0.0.2:53 " */
};

static void stub_keys_on_changed(void *data, const struct forward_zone *zones, size_t count)
{
    struct fixture *f = data;
    size_t n = 0;
    f->told++;
    f->zone_count = count;
    f->zones[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char name[DNAME_TEXT_MAX], address[ADDR_TEXT_MAX];
        assert_int_equal(zones[i].origin, ZONE_FROM_KEYS);
        n += (size_t)snprintf(f->zones + n, n < TEXT_MAX ? TEXT_MAX - n : 0,
                              "%s=", dname_to_text(&zones[i].name, name));
        for (size_t k = 0; k < zones[i].server_count; k++) {
            n += (size_t)snprintf(f->zones + n, n < TEXT_MAX ? TEXT_MAX - n : 0, "%s%s",
                                  k ? "," : "", addr_format(&zones[i].servers[k].address, address));
        }
        n += (size_t)snprintf(f->zones + n, n < TEXT_MAX ? TEXT_MAX - n : 0, " ");
        n = n < TEXT_MAX ? n : TEXT_MAX - 1;
    }
}

/* A key below /skydns/; the value with ' for ". */
static void stub_keys_put(struct fixture *f, const char *key, const char *value)
{
    char json[256], path[512];
    struct dname name;
    struct record record;
    struct err err;
    (void)snprintf(json, sizeof(json), "%s", value); /* fits */
    (void)snprintf(path, sizeof(path), "/skydns/%s", key);
    for (char *p = json; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    assert_int_equal(record_from_json(slice_str(json), &record, &err), 0);
    assert_true(record_key_to_name(slice_str("/skydns/"), slice_str(path), &name));
    (void)records_put(f->writer, &name, &record, ++f->revision); /* also hosts that are bad */
}

static void stub_keys_del(struct fixture *f, const char *key)
{
    char path[512];
    struct dname name;
    (void)snprintf(path, sizeof(path), "/skydns/%s", key);
    assert_true(record_key_to_name(slice_str("/skydns/"), slice_str(path), &name));
    store_writer_del(f->writer, &name);
}

static void sync_stub_keys_follow(struct fixture *f)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, f->revision, &garbage);
    stub_keys_follow(f->keys, store);
    store_garbage_free(garbage); /* at once, so that stale pointers show under ASan */
}

static void sync_stub_keys_set(struct fixture *f, bool is_on, const char *first, const char *second)
{
    struct dname domains[2] = {dname_from(first), dname_from(second ? second : ".")};
    stub_keys_set(f->keys, is_on, domains, second ? 2 : 1);
}

static void stub_keys_setup(struct fixture *f)
{
    record_json_use_xalloc();
    f->writer = store_writer_new();
    f->broken = broken_new();
    f->keys = stub_keys_new(&(struct stub_keys_config){.prefix = slice_str("/skydns/"),
                                                       .broken = f->broken,
                                                       .changed = stub_keys_on_changed,
                                                       .data = f});
    sync_stub_keys_set(f, true, "cluster.local", NULL);
}

static void stub_keys_teardown(struct fixture *f)
{
    stub_keys_free(f->keys);
    broken_free(f->broken);
    store_writer_free(f->writer);
}

UNIT_FIXTURE(struct fixture, stub_keys_setup, stub_keys_teardown)

static void assert_zones(const struct fixture *f, unsigned told, const char *want)
{
    assert_string_equal(f->zones, want);
    assert_int_equal(f->told, told);
}

#define STUB "local/cluster/dns/stub/"

UNIT_TEST_ON(test_zones_of_keys, struct fixture *f)
{
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1','port':5353}");
    stub_keys_put(f, STUB "local/acme/2", "{'host':'fd00::2','port':0}");
    stub_keys_put(f, STUB "local/acme/3", "{'host':'10.0.0.1','port':5353,'text':'the same'}");
    stub_keys_put(f, STUB "local/acme/eu/a", "{'host':'10.0.0.3'}");
    stub_keys_put(f, STUB "arpa/in-addr/10/x", "{'host':'10.0.0.4'}");
    stub_keys_put(f, STUB "Test/B/x", "{'host':'10.0.0.5'}");
    stub_keys_put(f, "local/cluster/dns/stubs/local/no/1", "{'host':'10.0.0.9'}");
    stub_keys_put(f, "local/other/dns/stub/local/no/1", "{'host':'10.0.0.9'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 1,
                 "b.test.=10.0.0.5:53 10.in-addr.arpa.=10.0.0.4:53 "
                 "eu.acme.local.=10.0.0.3:53 acme.local.=10.0.0.1:5353,[fd00::2]:53 ");
    assert_int_equal(broken_count(f->broken), 0);
}

/* Only what changes is told. */
UNIT_TEST_ON(test_following, struct fixture *f)
{
    sync_stub_keys_follow(f);
    assert_int_equal(f->told, 0); /* none, as at first */
    stub_keys_put(f, "local/cluster/web", "{'host':'10.0.0.9'}");
    sync_stub_keys_follow(f);
    assert_int_equal(f->told, 0);
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 1, "acme.local.=10.0.0.1:53 ");
    stub_keys_put(f, "local/cluster/web", "{'host':'10.0.0.8'}");
    sync_stub_keys_follow(f);
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1','ttl':7}");
    sync_stub_keys_follow(f);
    assert_int_equal(f->told, 1);
    stub_keys_put(f, STUB "local/acme/2", "{'host':'10.0.0.2'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "acme.local.=10.0.0.1:53,10.0.0.2:53 ");
    stub_keys_del(f, STUB "local/acme/1");
    sync_stub_keys_follow(f);
    assert_zones(f, 3, "acme.local.=10.0.0.2:53 ");
    stub_keys_del(f, STUB "local/acme/2");
    sync_stub_keys_follow(f);
    assert_zones(f, 4, "");
}

/* A value that is no record: the store does not have it, only the broken ones do. */
static void put_garbage(struct fixture *f, const char *key)
{
    char path[512];
    struct dname name;
    (void)snprintf(path, sizeof(path), "/skydns/%s", key);
    assert_true(record_key_to_name(slice_str("/skydns/"), slice_str(path), &name));
    stub_keys_del(f, key);
    (void)broken_put(f->broken, slice_str(path), ++f->revision, "not JSON");
    stub_keys_note(f->keys, &name);
}

/* The zone of garbage has no nameserver, instead of the general ones. */
UNIT_TEST_ON(test_values_that_are_no_records, struct fixture *f)
{
    put_garbage(f, STUB "local/Acme/1");
    put_garbage(f, STUB "local/cluster/1");
    put_garbage(f, "local/cluster/web");
    sync_stub_keys_follow(f);
    assert_zones(f, 1, "acme.local.= ");
    stub_keys_put(f, STUB "local/acme/2", "{'host':'10.0.0.2'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "acme.local.=10.0.0.2:53 ");
    put_garbage(f, STUB "local/acme/2");
    sync_stub_keys_follow(f);
    assert_zones(f, 3, "acme.local.= ");
    broken_del(f->broken, slice_str("/skydns/" STUB "local/acme/2"));
    broken_del(f->broken, slice_str("/skydns/" STUB "local/Acme/1"));
    struct dname name = dname_from("1.acme.local.stub.dns.cluster.local");
    stub_keys_note(f->keys, &name);
    sync_stub_keys_follow(f);
    assert_zones(f, 4, "");
}

/* However often it is said before a version is followed. */
UNIT_TEST_ON(test_turned_off_twice, struct fixture *f)
{
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1'}");
    sync_stub_keys_follow(f);
    sync_stub_keys_set(f, false, "cluster.local", NULL);
    sync_stub_keys_set(f, false, "cluster.local", NULL);
    stub_keys_read_again(f->keys);
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "");
}

/* A Service's addresses are followed; the order is theirs, not that of the tree. */
UNIT_TEST_ON(test_names_as_hosts, struct fixture *f)
{
    stub_keys_put(f, STUB "local/acme/1", "{'host':'Dns.corp.svc.cluster.local.','port':5353}");
    sync_stub_keys_follow(f);
    assert_zones(f, 1, "acme.local.= ");
    stub_keys_put(f, "local/cluster/svc/corp/dns/b", "{'host':'10.0.0.2'}");
    stub_keys_put(f, "local/cluster/svc/corp/dns/c", "{'host':'fd00::1'}");
    stub_keys_put(f, "local/cluster/svc/corp/dns/d", "{'host':'elsewhere.test'}");
    stub_keys_put(f, "local/cluster/svc/corp/dns/_tcp/_dns/b", "{'host':'10.0.0.7','port':53}");
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "acme.local.=10.0.0.2:5353,[fd00::1]:5353 ");
    stub_keys_put(f, "local/cluster/svc/corp/dns/a", "{'host':'10.0.0.1'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 3, "acme.local.=10.0.0.1:5353,10.0.0.2:5353,[fd00::1]:5353 ");
    stub_keys_put(f, "local/cluster/svc/corp/web/a", "{'host':'10.0.0.6'}");
    sync_stub_keys_follow(f);
    assert_int_equal(f->told, 3);
    stub_keys_del(f, "local/cluster/svc/corp/dns/a");
    stub_keys_del(f, "local/cluster/svc/corp/dns/b");
    stub_keys_del(f, "local/cluster/svc/corp/dns/c");
    sync_stub_keys_follow(f);
    assert_zones(f, 4, "acme.local.= ");
    assert_int_equal(broken_count(f->broken), 1);
    stub_keys_put(f, "local/cluster/svc/corp/dns/a", "{'host':'10.0.0.1'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 5, "acme.local.=10.0.0.1:5353 ");
    assert_int_equal(broken_count(f->broken), 0);
}

struct reasons {
    char text[TEXT_MAX];
};

static bool see_reason(void *data, const struct broken_key *key)
{
    struct reasons *reasons = data;
    size_t n = strlen(reasons->text);
    (void)snprintf(reasons->text + n, sizeof(reasons->text) - n, "%.*s: %s\n", (int)key->key.len,
                   key->key.ptr, key->reason);
    return true;
}

UNIT_TEST_ON(test_keys_of_no_use, struct fixture *f)
{
    static const struct {
        const char *key, *value, *reason;
    } rows[] = {
        {STUB "local/acme/1", "{'host':'ns.elsewhere.test'}", "its host is an external name"},
        {STUB "local/acme/2", "{'text':'x'}", "it has no host"},
        {STUB "local/acme/3", "{'host':'none.cluster.local'}", "its host has no address"},
        {STUB "local/cluster/1", "{'host':'10.0.0.1'}", "its zone is one of the domains"},
        {STUB "root", "{'host':'10.0.0.1'}", "the root is not a stub zone"},
    };
    struct log_capture capture;
    struct reasons reasons = {{0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        stub_keys_put(f, rows[i].key, rows[i].value);
    }
    stub_keys_put(f, STUB "local/acme/4", "{'host':'a..b'}");
    stub_keys_put(f, STUB "local/cluster/below/1", "{'host':'10.0.0.2'}");
    log_capture_begin(&capture);
    sync_stub_keys_follow(f);
    stub_keys_put(f, STUB "test/x/1", "{'host':'10.0.0.3'}");
    sync_stub_keys_follow(f);
    stub_keys_read_again(f->keys);
    sync_stub_keys_follow(f);
    const char *log = log_capture_end(&capture);
    assert_zones(f, 2, "x.test.=10.0.0.3:53 acme.local.= below.cluster.local.=10.0.0.2:53 ");
    broken_each(f->broken, see_reason, &reasons);
    assert_int_equal(broken_count(f->broken), ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char want[256];
        (void)snprintf(want, sizeof(want), "/skydns/%s: %s", rows[i].key, rows[i].reason);
        assert_that(strstr(reasons.text, want), "no `%s` in: %s", want, reasons.text);
        (void)snprintf(want, sizeof(want), "cannot be used key=/skydns/%s ", rows[i].key);
        if (log_occurrences(log, want) != 1) { /* however often they are read */
            fail_msg("not one `%s` in: %s", want, log);
        }
    }
}

/* Off: no zones, nothing broken, nothing looked at. */
UNIT_TEST_ON(test_off_and_on, struct fixture *f)
{
    sync_stub_keys_set(f, false, "cluster.local", NULL);
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1'}");
    stub_keys_put(f, STUB "local/acme/2", "{'text':'x'}");
    sync_stub_keys_follow(f);
    assert_int_equal(f->told, 0);
    sync_stub_keys_set(f, true, "cluster.local", NULL);
    sync_stub_keys_follow(f);
    assert_zones(f, 1, "acme.local.=10.0.0.1:53 ");
    assert_int_equal(broken_count(f->broken), 1);
    sync_stub_keys_set(f, false, "cluster.local", NULL);
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "");
    assert_int_equal(broken_count(f->broken), 0);
}

UNIT_TEST_ON(test_domains, struct fixture *f)
{
    stub_keys_put(f, STUB "local/acme/1", "{'host':'10.0.0.1'}");
    stub_keys_put(f, STUB "test/other/1", "{'host':'10.0.0.2'}");
    stub_keys_put(f, "test/other/dns/stub/local/acme/2", "{'host':'10.0.0.3'}");
    sync_stub_keys_follow(f);
    assert_zones(f, 1, "acme.local.=10.0.0.1:53 other.test.=10.0.0.2:53 ");
    sync_stub_keys_set(f, true, "cluster.local", "other.test");
    sync_stub_keys_follow(f);
    assert_zones(f, 2, "acme.local.=10.0.0.1:53,10.0.0.3:53 ");
    sync_stub_keys_set(f, true, "other.test", NULL);
    sync_stub_keys_follow(f);
    assert_zones(f, 3, "acme.local.=10.0.0.3:53 ");
}

/* Zones and upstreams are taken as far as there is room for. */
UNIT_TEST_ON(test_limits, struct fixture *f)
{
    enum { BEYOND = 3 };
    char key[128], value[64];
    for (unsigned i = 0; i < ZONE_SERVERS_MAX + BEYOND; i++) {
        (void)snprintf(key, sizeof(key), STUB "a/%02u", i);
        (void)snprintf(value, sizeof(value), "{'host':'10.0.0.%u'}", i);
        stub_keys_put(f, key, value);
    }
    for (unsigned i = 0; i < ZONE_TABLE_MAX + BEYOND - 1; i++) {
        (void)snprintf(key, sizeof(key), STUB "b/z%u/1", i);
        stub_keys_put(f, key, "{'host':'10.0.1.1'}");
    }
    sync_stub_keys_follow(f);
    assert_int_equal(f->zone_count, ZONE_TABLE_MAX);
    assert_int_equal(broken_count(f->broken), BEYOND + BEYOND);
    assert_non_null(strstr(f->zones, "a.=10.0.0.0:53,10.0.0.1:53,"));
    assert_non_null(strstr(f->zones, ",10.0.0.15:53 "));
    assert_null(strstr(f->zones, "10.0.0.16:53"));
}
