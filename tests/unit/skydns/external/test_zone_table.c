/* Checks the upstreams of a name, and the serial of their responses. */
#include "skydns/external/zone_table.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(zone_table_unref, struct zone_table)

static struct forward_zone zone_at(const char *name, const char *server)
{
    struct forward_zone zone = {.name = dname_from(name)};
    struct err err;
    if (*server) {
        zone.server_count = 1;
        assert_int_equal(addr_parse(server, &zone.servers[0].address, &err), 0);
    }
    return zone;
}

static const char *zone_table_found(const struct zone_table *table, const char *name)
{
    static char text[DNAME_TEXT_MAX];
    struct dname wire = dname_from(name);
    return dname_to_text(&zone_table_find(table, &wire)->name, text);
}

static uint32_t zone_table_serial(const struct zone_table *table, const char *name)
{
    struct dname wire = dname_from(name);
    return zone_table_find(table, &wire)->serial;
}

UNIT_TEST(test_the_longest_zone)
{
    static const struct {
        const char *name, *zone;
    } rows[] = {
        {"acme.local.", "acme.local."},
        {"www.acme.local.", "acme.local."},
        {"a.b.c.acme.local.", "acme.local."},
        {"xacme.local.", "."},
        {"local.", "."},
        {".", "."},
        {"eu.acme.local.", "eu.acme.local."},
        {"www.eu.acme.local.", "eu.acme.local."},
        {"www.us.acme.local.", "acme.local."},
        {"test.", "test."},
        {"a.test.", "test."},
        {"1.0.0.10.in-addr.arpa.", "10.in-addr.arpa."},
        {"1.0.0.11.in-addr.arpa.", "."},
        {"a.b.c.d.e.f.deep.example.", "c.d.e.f.deep.example."},
        {"b.d.e.f.deep.example.", "."},
    };
    const struct forward_zone zones[] = {
        zone_at("eu.acme.local", "10.0.0.2:53"), zone_at("test", "10.0.0.3:53"),
        zone_at("acme.local", "10.0.0.1:53"),    zone_at(".", "192.0.2.1:53"),
        zone_at("10.in-addr.arpa", ""),          zone_at("c.d.e.f.deep.example", ""),
    };
    CLEANUP(zone_table_unref_of)
    struct zone_table *table = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_that(strcmp(zone_table_found(table, rows[i].name), rows[i].zone) == 0, "%s is in %s",
                    rows[i].name, zone_table_found(table, rows[i].name));
    }
    size_t count;
    const struct forward_zone *items = zone_table_items(table, &count);
    assert_int_equal(count, ARRAY_LEN(zones));
    assert_false(zone_is_stub(&items[0]));
    assert_int_equal(addr_port(&items[0].servers[0].address), 53);
}

/* RFC 4035 section 3.1.4.1: the parent has the DS, and only that. */
UNIT_TEST(test_ds)
{
    static const struct {
        const char *name, *zone;
    } rows[] = {
        {"acme.local.", "."},
        {"eu.acme.local.", "acme.local."},
        {"us.acme.local.", "acme.local."},
        {"de.eu.acme.local.", "eu.acme.local."},
        {"example.", "."},
        {".", "."},
    };
    const struct forward_zone zones[] = {zone_at("acme.local", "10.0.0.1:53"),
                                         zone_at("eu.acme.local", "10.0.0.2:53")};
    CLEANUP(zone_table_unref_of)
    struct zone_table *table = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dname name = dname_from(rows[i].name);
        const struct forward_zone *zone = zone_table_find_for(table, &name, DNS_TYPE_DS);
        char text[DNAME_TEXT_MAX];
        assert_string_equal(dname_to_text(&zone->name, text), rows[i].zone);
        assert_ptr_equal(zone_table_find_for(table, &name, DNS_TYPE_DNSKEY),
                         zone_table_find(table, &name));
    }
}

UNIT_TEST(test_without_stub_zones)
{
    struct zone_table *table = zone_table_new(NULL, 0, NULL);
    size_t count;
    assert_string_equal(zone_table_found(table, "a.test"), ".");
    (void)zone_table_items(table, &count);
    assert_int_equal(count, 1);
    assert_int_equal(zone_table_items(table, &count)->server_count, 0);
    zone_table_unref(zone_table_ref(table));
    zone_table_unref(table);
    zone_table_unref(NULL);
}

/* A later origin wins, in any order; of one origin, the first. */
UNIT_TEST(test_origins)
{
    static const enum zone_origin orders[][3] = {
        {ZONE_FROM_KEYS, ZONE_FROM_FLAG, ZONE_FROM_DOCUMENT},
        {ZONE_FROM_DOCUMENT, ZONE_FROM_FLAG, ZONE_FROM_KEYS},
        {ZONE_FROM_FLAG, ZONE_FROM_DOCUMENT, ZONE_FROM_DOCUMENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct forward_zone zones[3];
        size_t first = 0;
        for (size_t k = 0; k < 3; k++) {
            char server[] = "10.0.0.1:53";
            server[7] = (char)('1' + k);
            zones[k] = zone_at("a.test", server);
            zones[k].origin = orders[i][k];
        }
        while (zones[first].origin != ZONE_FROM_DOCUMENT) {
            first++;
        }
        CLEANUP(zone_table_unref_of) struct zone_table *table = zone_table_new(zones, 3, NULL);
        struct dname name = dname_from("a.test");
        const struct forward_zone *zone = zone_table_find(table, &name);
        assert_int_equal(zone->origin, ZONE_FROM_DOCUMENT);
        assert_true(nameserver_equal(&zone->servers[0], &zones[first].servers[0]));
    }
}

/* The same as long as the servers are; never one that another zone had. */
UNIT_TEST(test_serials)
{
    const struct forward_zone first[] = {zone_at(".", "192.0.2.1:53"),
                                         zone_at("a.test", "10.0.0.1:53"),
                                         zone_at("b.test", "10.0.0.2:53"), zone_at("c.test", "")};
    const struct forward_zone second[] = {zone_at("b.test", "10.0.0.9:53"),
                                          zone_at("a.test", "10.0.0.1:53"), zone_at("c.test", ""),
                                          zone_at("d.test", ""), zone_at(".", "192.0.2.1:53")};
    struct zone_table *a = zone_table_new(first, ARRAY_LEN(first), NULL);
    struct zone_table *b = zone_table_new(second, ARRAY_LEN(second), a);
    struct zone_table *c = zone_table_new(first, ARRAY_LEN(first), b);
    CLEANUP(zone_table_unref_of)
    struct zone_table *renewed = zone_table_new(first, ARRAY_LEN(first), NULL);
    uint32_t newest = zone_table_serial(c, "b.test");
    assert_int_equal(zone_table_serial(a, "."), zone_table_serial(b, "."));
    assert_int_equal(zone_table_serial(a, "a.test"), zone_table_serial(b, "a.test"));
    assert_int_equal(zone_table_serial(a, "c.test"), zone_table_serial(b, "c.test"));
    assert_true(zone_table_serial(b, "b.test") > zone_table_serial(a, "c.test"));
    assert_true(zone_table_serial(b, "d.test") > zone_table_serial(b, "b.test"));
    assert_true(newest >
                zone_table_serial(b, "d.test")); /* the servers of before, but not what was kept */
    assert_true(zone_table_serial(renewed, ".") > newest &&
                zone_table_serial(renewed, "a.test") > newest);
    zone_table_unref(a);
    zone_table_unref(b);
    zone_table_unref(c);
}

/* Each is found among as many as there may be; further ones are left out. */
UNIT_TEST(test_as_many_as_there_may_be)
{
    enum { COUNT = ZONE_TABLE_MAX + 5 };
    struct forward_zone *zones = calloc(COUNT, sizeof(*zones));
    char text[64];
    size_t count;
    assert_non_null(zones);
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(text, sizeof(text), "z%u.%s.test", i, i % 2 ? "a" : "a.b"); /* fits */
        zones[i] = zone_at(text, "");
    }
    struct zone_table *table = zone_table_new(zones, COUNT, NULL);
    (void)zone_table_items(table, &count);
    assert_int_equal(count, ZONE_TABLE_MAX + 1);
    for (unsigned i = 0; i < COUNT; i++) {
        struct dname name = zones[i].name;
        assert_true(dname_prepend(&name, slice_str("www")));
        const struct forward_zone *zone = zone_table_find(table, &name);
        assert_int_equal(dname_equal(&zone->name, &zones[i].name), i < ZONE_TABLE_MAX);
    }
    zone_table_unref(table);
    free(zones);
}
