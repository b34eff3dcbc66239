/* The sources of skydns' pages, without etcd: store_sync with a fake mirror, for any content, and a
 * configuration from flags. This header defines etcd_mirror_start and the like, so only one file of
 * a test program may include it. */
#ifndef TESTS_UNIT_SKYDNS_PAGES_PAGES_BED_H
#define TESTS_UNIT_SKYDNS_PAGES_PAGES_BED_H

#include "common/base/outage.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/pages/explain.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/unit_test.h"

/* A key below /skydns/ and its JSON value, in which ' stands for ". */
struct bed_key {
    const char *key;
    const char *value;
};

enum { BED_ARGS_MAX = 16, BED_KEY_MAX = 300 };

struct pages_bed {
    struct ev_loop *loop;
    struct options options;
    char *flags; /* the options' texts point into it */
    struct publisher *publisher;
    struct outage outage;
    struct outage_source followed;
    struct store_sync *sync;
    struct explainer *explainer;
    int64_t revision;   /* of the latest put */
    const char *client; /* of explanations; NULL: anybody */
};

/* ---- The mirror ---- */

static struct etcd_mirror_config bed_mirror;
static struct etcd_mirror_counts bed_mirror_counts; /* set by tests */
static unsigned bed_rereads;

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    if (slice_equal(config->prefix, slice_str("/skydns/"))) { /* else of one more domain's key */
        bed_mirror = *config;
    }
    return NULL;
}

void etcd_mirror_reread(struct etcd_mirror *mirror)
{
    assert_null(mirror);
    bed_rereads++;
}

void etcd_mirror_stop(struct etcd_mirror *mirror)
{
    assert_null(mirror);
}

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror)
{
    assert_null(mirror);
    return bed_mirror_counts;
}

bool etcd_mirror_save(const struct etcd_mirror *mirror, struct buf *out)
{
    assert_null(mirror);
    buf_append_str(out, "seen");
    return true;
}

bool etcd_mirror_is_saved(struct slice saved)
{
    return slice_equal(saved, slice_str("seen"));
}

const char *etcd_mirror_cause_text(enum etcd_mirror_cause cause)
{
    return cause == ETCD_MIRROR_FIRST ? "first" : "other";
}

/* ---- The bed ---- */

/* "-no-rec -pods=disabled": as on the command line. The domain is cluster.local. */
static inline void bed_parse_flags(struct pages_bed *bed, const char *flags)
{
    char *argv[BED_ARGS_MAX + 1] = {NULL}, *rest = NULL;
    char program[] = "skydns", domain[] = "-domain=cluster.local";
    int argc = 2;
    struct err err;
    argv[0] = program;
    argv[1] = domain;
    bed->flags = xstrdup(flags);
    for (char *word = strtok_r(bed->flags, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_in_range(argc, 1, BED_ARGS_MAX - 1);
        argv[argc++] = word;
    }
    assert_that(skydns_options_parse(argc, argv, &bed->options, &err) == 0, "%s", err.msg);
}

/* Snapshot to start from, if set before bed_start. */
static struct snapshot_content *bed_snapshot;

/* Without content: as before the first read from etcd. */
static inline void bed_start(struct pages_bed *bed, const char *flags)
{
    *bed = (struct pages_bed){.loop = ev_loop_new(0), .publisher = publisher_new()};
    bed_mirror_counts = (struct etcd_mirror_counts){0};
    bed_parse_flags(bed, flags);
    publisher_configure(bed->publisher, options_engine_config(&bed->options));
    outage_init(&bed->outage, bed->loop, "etcd", bed->options.etcd_timeout_ms, "etcd is overdue");
    bed->followed.away_line = "etcd away";
    bed->followed.back_line = "etcd back";
    outage_join(&bed->outage, &bed->followed, true);
    const struct store_sync_config config = {.loop = bed->loop,
                                             .publisher = bed->publisher,
                                             .path_prefix = "skydns",
                                             .default_ttl_s = bed->options.engine.ttl_s,
                                             .domains = bed->options.domains,
                                             .domain_count = bed->options.domain_count,
                                             .requires_store_key = bed->options.require_store_key,
                                             .start = bed_snapshot,
                                             .followed = &bed->followed,
                                             .wants_gone = true};
    bed->sync = store_sync_start(&config);
    bed->explainer = explainer_new(&(struct explainer_sources){
        .sync = bed->sync, .publisher = bed->publisher, .outage = &bed->outage});
}

static inline void bed_stop(struct pages_bed *bed)
{
    explainer_free(bed->explainer);
    store_sync_stop(bed->sync);
    outage_fini(&bed->outage);
    publisher_free(bed->publisher);
    ev_loop_destroy(bed->loop);
    stub_zones_unref(bed->options.stubs);
    free(bed->flags);
}

/* Puts a key in the current full read or change, in its own revision. */
static inline void bed_put(struct pages_bed *bed, const struct bed_key *key)
{
    char path[BED_KEY_MAX];
    CLEANUP_FREE char *json = xstrdup(key->value);
    for (char *p = json; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    assert_in_range(snprintf(path, sizeof(path), "/skydns/%s", key->key), 1, sizeof(path) - 1);
    const struct etcd_kv kv = {
        .key = slice_str(path), .value = slice_str(json), .mod_revision = ++bed->revision};
    bed_mirror.put(bed_mirror.data, &kv);
}

/* Makes these the only keys in etcd: the first has revision 1. */
static inline void bed_fill(struct pages_bed *bed, const struct bed_key *keys, size_t count)
{
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (size_t i = 0; i < count; i++) {
        bed_put(bed, &keys[i]);
    }
    bed_mirror.commit(bed_mirror.data, bed->revision, true);
}

/* Adds a key. */
static inline void bed_add(struct pages_bed *bed, const char *key, const char *value)
{
    bed_put(bed, &(struct bed_key){key, value});
    bed_mirror.commit(bed_mirror.data, bed->revision, false);
}

/* Removes a key. */
static inline void bed_del(struct pages_bed *bed, const char *key)
{
    char path[BED_KEY_MAX];
    assert_in_range(snprintf(path, sizeof(path), "/skydns/%s", key), 1, sizeof(path) - 1);
    bed_mirror.del(bed_mirror.data, slice_str(path), ++bed->revision);
    bed_mirror.commit(bed_mirror.data, bed->revision, false);
}

/* ---- Explanations ---- */

static inline const struct explanation *bed_explain(struct pages_bed *bed, const char *name,
                                                    const char *type)
{
    const struct explanation *x = NULL;
    struct err err;
    const struct explain_query query = {.name = name, .type = type, .client = bed->client};
    int r = explainer_explain(bed->explainer, &query, &x, &err);
    assert_that(r == 0, "%s %s: %s", name, type ? type : "", err.msg);
    return x;
}

#endif
