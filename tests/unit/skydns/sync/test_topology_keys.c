/* Topology keys: kube2sky's keys that say in which zone each address of a headless Service is. */
#include "skydns/clients/topology.h"
#include "skydns/sync/topology_keys_internal.h"
#include "skydns/sync/topology_value_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/clients_bed.h"

UNIT_TESTS_EACH(setup, teardown)

#define TOP "/kube2sky/a.test/topology/"
#define WEB "{\"10.1.0.5\":\"eu-1a\",\"10.1.0.6\":\"eu-1b\",\"fd00::7\":\"eu-1a\"}"

static const struct topology_service *found_service(const struct fixture *f, const char *name)
{
    const struct dname wire = dname_from(name);
    return topology_find(client_index_topology(clients_index(f->clients)),
                         slice_of(wire.wire, wire.len));
}

/* The zone of an address, "-" if it has none; "" without the Service. */
static const char *topology_zone_of(const struct fixture *f, const char *name, const char *address)
{
    static char text[64];
    const struct topology_service *service = found_service(f, name);
    struct topology_entry entry;
    struct ip ip = ip_from(address);
    for (size_t at = 0; service && topology_service_next(service, &at, &entry);) {
        if (ip_equal(&entry.ip, &ip)) {
            (void)snprintf(text, sizeof(text), "%.*s", (int)entry.zone.len, entry.zone.ptr);
            return text;
        }
    }
    return service ? "-" : "";
}

static void start_with_topology(struct fixture *f)
{
    clients_set_topology(f->clients, true);
    start(f);
    read_none(TOP);
}

UNIT_TEST_ON(test_zones_follow_the_keys, struct fixture *f)
{
    start_with_topology(f);
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.5"), "");
    mark(TOP, "prod/web", WEB);
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.5"), "eu-1a");
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.6"), "eu-1b");
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "fd00::7"), "eu-1a");
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.7"), "-");
    assert_string_equal(topology_zone_of(f, "prod.svc.a.test.", "10.1.0.5"), "");
    mark(TOP, "prod/web", " { \"10.1.0.5\" : \"eu-1c\" } ");
    end(TOP, false);
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.5"), "eu-1c");
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.6"), "-");
    mark(TOP, "prod/db", WEB);
    unmark(TOP, "prod/web");
    end(TOP, false);
    assert_string_equal(topology_zone_of(f, "web.prod.svc.a.test.", "10.1.0.5"), "");
    begin(TOP, true); /* an etcd that came back without its data */
    end(TOP, true);
    assert_string_equal(topology_zone_of(f, "db.prod.svc.a.test.", "10.1.0.5"), "eu-1a");
    read_none(TOP);
    assert_string_equal(topology_zone_of(f, "db.prod.svc.a.test.", "10.1.0.5"), "");
}

UNIT_TEST_ON(test_on_and_off, struct fixture *f)
{
    start_with_topology(f);
    mark(TOP, "prod/web", WEB);
    end(TOP, false);
    clients_set_topology(f->clients, false);
    assert_null(found_service(f, "web.prod.svc.a.test."));
    clients_set_topology(f->clients, true);
    mark(TOP, "prod/web", WEB);
    assert_non_null(found_service(f, "web.prod.svc.a.test."));
}

UNIT_TEST_ON(test_values_of_no_use, struct fixture *f)
{
    static const char *const values[] = {
        "",
        "[]",
        "{",
        "{\"10.1.0.5\":1}",
        "{\"10.1.0.5\":\"\"}",
        "{\"10.1.0.5\":\"a b\"}",
        "{\"10.1.0.5\":\"\\u0041\"}",
        "{\"web\":\"eu-1a\"}",
        "{\"10.1.0.5\":\"eu-1a\",}",
        "{\"10.1.0.5\":\"eu-1a\"} x",
    };
    start_with_topology(f);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        mark(TOP, "prod/web", WEB);
        mark(TOP, "prod/web", values[i]);
        end(TOP, false);
        assert_null(found_service(f, "web.prod.svc.a.test."));
        assert_int_equal(broken_count(f->broken), 1);
    }
    mark(TOP, "prod/web", "{}"); /* no zone is known */
    assert_int_equal(broken_count(f->broken), 0);
    mark(TOP, "web", WEB);
    mark(TOP, "Prod/web", WEB);
    mark(TOP, "prod/web/x", WEB);
    assert_int_equal(broken_count(f->broken), 3);
}

static void free_retired(void *data UNUSED, void *block, void (*fn)(void *block))
{
    fn(block); /* there are no readers */
}

/* A namespace that fills its share leaves the others theirs. */
UNIT_TEST(test_room)
{
    struct client_index *index =
        client_index_new(&(struct client_index_config){.retire = free_retired});
    struct topology_keys keys;
    const struct dname domain = dname_from("a.test.");
    char label[32];
    size_t taken = 0;
    CLEANUP_BUF struct buf value = buf_of(TOPOLOGY_VALUE_MAX);
    for (unsigned i = 0; i < 8000; i++) {
        buf_printf(&value, "%s\"10.1.%u.%u\":\"eu-1a\"", i ? "," : "{", i >> 8, i & 255);
    }
    buf_append_char(&value, '}');
    topology_keys_init(&keys, index, &domain);
    const char *refusal = NULL;
    while (!refusal) {
        (void)snprintf(label, sizeof(label), "greedy/s%zu", taken++);
        refusal = topology_keys_put(&keys, slice_str(label), buf_slice(&value));
    }
    print_message("%zu Services of 8,000 addresses: %s\n", taken, refusal);
    assert_true(keys.bytes <= TOPOLOGY_NAMESPACE_BYTES_MAX);
    assert_true(keys.bytes > TOPOLOGY_NAMESPACE_BYTES_MAX / 2);
    assert_null(topology_keys_put(&keys, slice_str("other/web"), buf_slice(&value)));
    topology_keys_del(&keys, slice_str("greedy/s0"));
    assert_null(topology_keys_put(&keys, slice_str(label), buf_slice(&value)));
    topology_keys_fini(&keys);
    assert_int_equal(topology_count(client_index_topology(index)), 0);
    client_index_free(index);
}

UNIT_TEST(test_zones_beyond_the_limit_are_near)
{
    struct topology_service *service = NULL;
    const struct dname name = dname_from("web.a.test.");
    CLEANUP_BUF struct buf value = buf_of(TOPOLOGY_VALUE_MAX);
    for (unsigned i = 0; i < TOPOLOGY_ZONES_MAX + 2; i++) {
        buf_printf(&value, "%s\"10.1.0.%u\":\"z%u\"", i ? "," : "{", i, i);
    }
    buf_append_char(&value, '}');
    assert_null(topology_value_read(buf_slice(&value), slice_of(name.wire, name.len), &service));
    assert_int_equal(service->zone_count, TOPOLOGY_ZONES_MAX);
    const uint8_t last[4] = {10, 1, 0, TOPOLOGY_ZONES_MAX + 1}, first[4] = {10, 1, 0, 0};
    assert_true(topology_service_is_near(service, 1, last, 4));
    assert_false(topology_service_is_near(service, 1, first, 4));
    free(service);
}

UNIT_TEST_ON(test_saved_zones, struct fixture *f)
{
    start_with_topology(f);
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    clients_save_topology(f->clients, &saved);
    assert_int_equal(saved.len, 0); /* none: older programs can read the file */
    mark(TOP, "prod/web", WEB);
    end(TOP, false);
    clients_save_topology(f->clients, &saved);
    assert_true(client_marks_is_topology_saved(buf_slice(&saved)));
    for (size_t len = 1; len < saved.len; len++) {
        assert_false(client_marks_is_topology_saved(slice_of(saved.data, len)));
    }
    buf_append_u8(&saved, 0);
    assert_false(client_marks_is_topology_saved(buf_slice(&saved)));
}
