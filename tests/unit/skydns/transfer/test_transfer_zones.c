/* skydns/transfer/transfer_zones_internal.h: two readers' serials through what only one of them
 * sees. */
#include "skydns/publish/engine_config.h"
#include "skydns/transfer/serial.h"
#include "skydns/transfer/transfer_zones_internal.h"
#include "skydns/transfer_config.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { VERSIONS_MAX = 16 };

static const char zone[] = "cluster.local.";

struct replica {
    struct fixture *fixture;
    struct zone_serials *serials;
    struct transfer_zones zones;
    struct store_writer *writer;
    struct store_garbage *garbage[VERSIONS_MAX];
    size_t versions;
    bool has_config;
    uint64_t settings; /* their hash */
};

/* In place of transfers.c, which would publish. */
void transfers_release(struct transfers *transfers, const struct store *store)
{
    (void)store; /* freed with its garbage */
}

static void begin_replica(struct replica *replica)
{
    *replica = (struct replica){0};
    replica->fixture = fixture_new(NULL, 0);
    replica->fixture->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    replica->serials = zone_serials_new();
    replica->writer = store_writer_new();
    transfer_zones_init(&replica->zones, NULL);
}

static void end_replica(struct replica *replica)
{
    transfer_zones_fini(&replica->zones);
    for (size_t i = 0; i < replica->versions; i++) {
        store_garbage_free(replica->garbage[i]);
    }
    store_writer_free(replica->writer);
    zone_serials_free(replica->serials);
    fixture_free(replica->fixture);
}

/* A version with other contents, whose serial without turns is this. */
static void transfer_zones_see(struct replica *replica, uint32_t plain)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "w%zu.default.svc.cluster.local.", replica->versions);
    const struct dname name = dname_from(text), apex = dname_from(zone);
    const struct record view = {.host = slice_str("10.0.0.1")};
    const int64_t revision = (int64_t)replica->versions + 1;
    (void)store_writer_put_view(replica->writer, &name, &view, revision);
    struct transfer_step step = {
        .store =
            store_writer_commit(replica->writer, revision, &replica->garbage[replica->versions]),
        .config = replica->has_config ? NULL : transfer_config(&replica->fixture->config),
        .settings = replica->settings,
        .zone_count = 1,
        .zones = {{.apex = apex,
                   .serial = zone_serials_of(replica->serials, &apex),
                   .target = plain}},
    };
    replica->versions++;
    replica->has_config = true;
    (void)transfer_zones_step(&replica->zones, &step);
}

static void transfer_zones_reload(struct replica *replica, uint64_t settings, uint32_t plain)
{
    replica->settings = settings;
    replica->has_config = false;
    transfer_zones_see(replica, plain);
}

static bool hear_serial(struct replica *replica, uint32_t theirs, bool is_first)
{
    const struct dname apex = dname_from(zone);
    uint32_t serial;
    return transfer_zones_hear(&replica->zones, &apex, theirs, is_first, &serial);
}

static uint32_t shown_by(const struct replica *replica)
{
    const struct dname apex = dname_from(zone);
    return zone_serial_get(zone_serials_of(replica->serials, &apex));
}

enum { OLD_BASE = 2000000, NEW_BASE = 2100000 };

/* etcd is restored while kube2sky is away. One reader comes back before kube2sky writes its base
 * into the restored store, the other one after that. */
UNIT_TEST(test_one_sees_the_restored_store)
{
    struct replica quick, late;
    begin_replica(&quick);
    begin_replica(&late);
    transfer_zones_see(&quick, OLD_BASE + 300);
    transfer_zones_see(&late, OLD_BASE + 300);
    assert_int_equal(shown_by(&quick), shown_by(&late));
    transfer_zones_see(&quick, OLD_BASE + 290); /* 10 revisions are lost */
    assert_int_equal(shown_by(&quick), OLD_BASE + 290 + SERIAL_TURN);
    transfer_zones_see(&late, NEW_BASE + 310);
    assert_int_equal(shown_by(&late), NEW_BASE + 310);
    /* a secondary has what the quick one gave meanwhile: a turn, but of other revisions */
    assert_false(hear_serial(&late, shown_by(&quick), false));
    transfer_zones_see(&quick, NEW_BASE + 310);
    assert_int_equal(shown_by(&quick), NEW_BASE + 310 + SERIAL_TURN);
    assert_true(hear_serial(&late, shown_by(&quick), false)); /* the secondary took it */
    assert_int_equal(shown_by(&late), shown_by(&quick));
    assert_false(hear_serial(&late, shown_by(&quick), false));
    assert_false(hear_serial(&quick, shown_by(&late), false));
    transfer_zones_see(&late, NEW_BASE + 312);
    assert_false(hear_serial(&quick, shown_by(&late), false)); /* it has yet to come */
    transfer_zones_see(&quick, NEW_BASE + 312);
    assert_int_equal(shown_by(&late), shown_by(&quick));
    end_replica(&quick);
    end_replica(&late);
}

/* One reader after the other is reloaded. What the second one is told late about its own start does
 * not drive it above the first. */
UNIT_TEST(test_the_last_reload_leads)
{
    struct replica first, second;
    const uint32_t old_part = 9 * SERIAL_STEP, new_part = 5 * SERIAL_STEP;
    begin_replica(&first);
    begin_replica(&second);
    transfer_zones_see(&first, OLD_BASE + 300 + old_part);
    transfer_zones_see(&second, OLD_BASE + 300 + old_part);
    transfer_zones_reload(&first, 1, OLD_BASE + 300 + new_part);
    assert_int_equal(shown_by(&first), OLD_BASE + 300 + new_part + SERIAL_TURN);
    assert_false(hear_serial(&second, shown_by(&first), false));
    assert_int_equal(shown_by(&second), OLD_BASE + 300 + old_part);
    transfer_zones_reload(&second, 1, OLD_BASE + 300 + new_part);
    assert_false(hear_serial(&second, shown_by(&first), true));
    assert_int_equal(shown_by(&second), shown_by(&first));
    transfer_zones_reload(&first, 2, OLD_BASE + 300 + old_part);
    assert_int_equal(shown_by(&first), OLD_BASE + 300 + old_part + SERIAL_TURN);
    end_replica(&second); /* starts again, with settings of its own, and knows nothing */
    begin_replica(&second);
    transfer_zones_see(&second, OLD_BASE + 300 + new_part);
    assert_true(hear_serial(&second, shown_by(&first), true));
    assert_int_equal(shown_by(&second), OLD_BASE + 300 + new_part + 2 * SERIAL_TURN);
    end_replica(&first);
    end_replica(&second);
}
