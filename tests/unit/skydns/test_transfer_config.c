/* The settings' part of serials: the same for the same settings, another for each that zones depend
 * on. */
#include "skydns/external/zone_table.h"
#include "skydns/transfer_config.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

static struct engine_config *config;

static struct engine_config *transfer_config_make(void)
{
    struct engine_config *made = xcalloc(1, sizeof(*made));
    const struct dname domain = dname_from("cluster.local.");
    assert_true(engine_config_add_domain(made, &domain, NULL));
    made->settings = (struct engine_settings){
        .ttl_s = 3600, .min_ttl_s = 60, .priority = 10, .ndots = 2, .reverse_zone_count = 1};
    made->settings.reverse_zones[0] =
        (struct network){.ip = {.family_bytes = 4, .bytes = {10}}, .prefix_bits = 8};
    return made;
}

static int transfer_config_setup(void **state)
{
    config = transfer_config_make();
    return 0;
}

static int transfer_config_teardown(void **state)
{
    engine_config_free(config);
    return 0;
}

UNIT_TESTS_EACH(transfer_config_setup, transfer_config_teardown)

/* Returns the hash of the configuration with these stub zones, "" for none. */
static uint64_t hash_with(const char *first, const char *second)
{
    const char *const names[] = {first, second};
    struct forward_zone zones[3] = {{.name = {.len = 1}}};
    size_t count = 1;
    for (size_t i = 0; i < 2; i++) {
        if (names[i][0]) {
            zones[count++] = (struct forward_zone){.name = dname_from(names[i])};
        }
    }
    zone_table_unref(config->zones_of_others);
    config->zones_of_others = zone_table_new(zones, count, NULL);
    return transfer_config_hash(config);
}

UNIT_TEST(test_same)
{
    struct engine_config *other = transfer_config_make();
    assert_int_equal(transfer_config_hash(config), transfer_config_hash(other));
    other->settings.round_robin = true; /* of answers, not of zones */
    other->settings.rate = 7;
    assert_int_equal(transfer_config_hash(config), transfer_config_hash(other));
    engine_config_free(other);
}

UNIT_TEST(test_each_setting)
{
    const struct dname more = dname_from("other.test."), host = dname_from("me.test.");
    const uint64_t before = transfer_config_hash(config);
    const struct engine_settings settings = config->settings;
    uint64_t seen[10] = {before};
    size_t count = 1;
#define SEE(change)                               \
    change;                                       \
    seen[count++] = transfer_config_hash(config); \
    config->settings = settings
    SEE(config->settings.ttl_s++);
    SEE(config->settings.min_ttl_s++);
    SEE(config->settings.priority++);
    SEE(config->settings.ndots++);
    SEE(config->settings.pods = ENGINE_PODS_DISABLED);
    SEE(config->settings.local = host);
    SEE(config->settings.reverse_zones[0].ip.bytes[0]++);
    SEE(config->zones[0].hostmaster = host);
    SEE(assert_true(engine_config_add_domain(config, &more, NULL)));
#undef SEE
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(seen[i] != seen[j]);
        }
    }
}

/* Names in a stub zone below ours are another server's; other stub zones are nothing to our
 * zones. */
UNIT_TEST(test_stub_zones)
{
    const uint64_t none = transfer_config_hash(config);
    const uint64_t team = hash_with("team.cluster.local.", "");
    assert_true(team != none);
    assert_int_equal(hash_with("acme.test.", ""), none);
    assert_int_equal(hash_with("local.", ""), none);
    assert_int_equal(hash_with("acme.test.", "team.cluster.local."), team);
    assert_true(hash_with("7.10.in-addr.arpa.", "") != none);
    const uint64_t both = hash_with("a.cluster.local.", "b.cluster.local.");
    assert_int_equal(hash_with("b.cluster.local.", "a.cluster.local."), both);
    assert_true(both != hash_with("a.cluster.local.", ""));
}
