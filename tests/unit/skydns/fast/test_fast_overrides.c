/* Checks which overrides the fast path answers, and that it answers them as the slow path does. */
#include "skydns/sync/override_index.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/fast/fast_bed.h"

#define AS_WRITTEN ",'ttl':30,'priority':10,'weight':10,'targetstrip':1}"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/web/c8", "{'host':'10.0.0.1','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/db/db-0", "{'host':'10.0.1.1','ttl':20,'priority':10}"},
    {"local/cluster/svc/default/db/db-1", "{'host':'10.0.1.2','ttl':25,'priority':10}"},
    {"local/cluster/svc/default/bare/c8", "{'host':'10.0.0.2'}"},
    {"local/cluster/svc/default/six/c8", "{'host':'fd00::1','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/sub/a/c8", "{'host':'10.0.0.3','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/group/1", "{'host':'10.0.2.1','ttl':30,'group':'a'}"},
    {"local/cluster/svc/default/group/2", "{'host':'10.0.2.2','ttl':30,'group':'b'}"},
    {"local/cluster/svc/default/ext", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/default/long/1", "{'host':'10.0.3.1','ttl':7200,'priority':10}"},
    {"local/cluster/svc/default/long/2", "{'host':'10.0.3.2','ttl':7200,'priority':10}"},
    {"com/example/long", "{'host':'long.default.svc.cluster.local.','ttl':7200}"},
    {"com/example/longs/1", "{'host':'192.0.2.3','ttl':7200,'priority':10,'targetstrip':1}"},
    {"com/example/longs/2", "{'host':'192.0.2.4','ttl':7200,'priority':10,'targetstrip':1}"},
    {"com/example/own/3f", "{'host':'192.0.2.1'" AS_WRITTEN},
    {"com/example/led/3f", "{'host':'web.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/plain", "{'host':'web.default.svc.cluster.local.'}"},
    {"com/example/low", "{'host':'web.default.svc.cluster.local.','ttl':5}"},
    {"com/example/bare", "{'host':'bare.default.svc.cluster.local.'}"},
    {"com/example/high", "{'host':'web.default.svc.cluster.local.','ttl':7200}"},
    {"com/example/two/3f", "{'host':'db.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/six/3f", "{'host':'six.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/sub", "{'host':'sub.default.svc.cluster.local.'}"},
    {"com/example/apps/*/3f", "{'host':'web.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/group", "{'host':'group.default.svc.cluster.local.'}"},
    {"com/example/ext", "{'host':'ext.default.svc.cluster.local.'}"},
    {"com/example/gone", "{'host':'gone.default.svc.cluster.local.'}"},
    {"com/example/chain", "{'host':'led.example.com.'}"},
    {"com/example/apex", "{'host':'cluster.local.'}"},
    {"com/example/star", "{'host':'*.default.svc.cluster.local.'}"},
    {"com/example/rr", "{'host':'web.default.svc.cluster.local.','rr':['A 192.0.2.9']}"},
    {"com/example/both/1", "{'host':'web.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/both/2", "{'host':'db.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/mixed/1", "{'host':'web.default.svc.cluster.local.'" AS_WRITTEN},
    {"com/example/mixed/2", "{'host':'192.0.2.2'" AS_WRITTEN},
};

static const struct {
    const char *question;
    bool want;
} rows[] = {
    {"own.example.com. A", true},     {"led.example.com. A", true},
    {"LED.example.com. A", true},     {"led.example.com. A edns=1232 do", true},
    {"led.example.com. A tcp", true}, {"led.example.com. A cd", true},
    {"plain.example.com. A", true},   {"low.example.com. A", true},
    {"high.example.com. A", true},    {"two.example.com. A", true},
    {"long.example.com. A", true},    {"longs.example.com. A", true},
    {"six.example.com. AAAA", true},  {"x.apps.example.com. A", true},
    {"bare.example.com. A", false},   {"led.example.com. AAAA", false},
    {"led.example.com. MX", false},   {"six.example.com. A", false},
    {"group.example.com. A", false},  {"ext.example.com. A", false},
    {"gone.example.com. A", false},   {"chain.example.com. A", false},
    {"apex.example.com. A", false},   {"star.example.com. A", false},
    {"rr.example.com. A", false},     {"both.example.com. A", false},
    {"mixed.example.com. A", false},
};

UNIT_TEST(test_overrides)
{
    struct bed b = {0};
    struct store_garbage *garbage;
    b.f = fixture_new(keys, ARRAY_LEN(keys));
    struct override_index *index = override_index_new();
    override_index_set(index,
                       &(struct override_index_rule){.is_on = true,
                                                     .ttl_s = 30,
                                                     .domain_count = 1,
                                                     .domains = &b.f->config.zones[0].domain});
    store_writer_set_overrides(b.f->writer,
                               override_index_follow(index, NULL, b.f->store, &garbage));
    assert_null(garbage);
    b.f->config.settings.overrides = true;
    for (int schema = 0; schema < 2; schema++) {
        b.f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        open_paths(&b);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            unsigned long before = b.answered;
            compare(&b, rows[i].question, 0);
            assert_that((b.answered > before) == rows[i].want, "schema %d: `%s`: not %d", schema,
                        rows[i].question, rows[i].want);
        }
        compare(&b, "sub.example.com. A", 0); /* by schema */
        close_paths(&b);
    }
    fixture_free(b.f);
    override_index_free(index);
}
