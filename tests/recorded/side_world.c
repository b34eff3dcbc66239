/* The adapter's world: settings from flags through live_config, as main.c does; records and pods as
 * the mirror puts them. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "skydns/clients/visibility.h"
#include "skydns/settings/stub_zones.h"
#include "tests/recorded/side_engine.h"
#include "tests/support/skydns/records.h"

static _Noreturn void side_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "record_answers: %s: %s\n", what, why);
    exit(2);
}

/* ---- Settings ---- */

static void side_retire(void *data, void *block, void (*fn)(void *block))
{
    publisher_retire(data, block, fn);
}

static void side_add_pods(struct side *side, const struct side_world *world)
{
    const struct client_index_config config = {.retire = side_retire, .data = side->publisher};
    side->index = client_index_new(&config);
    for (size_t i = 0; i < world->pod_count; i++) {
        struct ip ip;
        if (!ip_parse(slice_str(world->pods[i].address), &ip)) {
            side_fail("no address", world->pods[i].address);
        }
        client_index_add(side->index, &ip, slice_str(world->pods[i].ns));
    }
    client_index_commit(side->index);
}

static void side_add_listed(struct side *side, const struct side_world *world)
{
    struct visible_namespace *listed = xcalloc(world->listed_count + 1, sizeof(*listed));
    for (size_t i = 0; i < world->listed_count; i++) {
        listed[i] = (struct visible_namespace){slice_str(world->listed[i].ns),
                                               slice_str(world->listed[i].text)};
    }
    live_config_take_visible(side->live, listed, world->listed_count);
    free(listed);
}

static void side_configure(struct side *side, const struct side_world *world)
{
    struct err err;
    if (skydns_options_parse(world->argc, world->argv, &side->options, &err) != 0) {
        side_fail("flags", err.msg);
    }
    const struct live_config_config config = {.loop = side->loop,
                                              .flags = &side->options,
                                              .publisher = side->publisher,
                                              .resolv_conf = "/dev/null"};
    side->live = live_config_new(&config);
    if (live_config_open_files(side->live, &err) != 0) {
        side_fail("files", err.msg);
    }
    live_config_seed(side->live, slice_of(NULL, 0));
    live_config_set_clients(side->live, side->index);
    side_add_listed(side, world);
    if (live_config_begin(side->live, &err) != 0) {
        side_fail("settings", err.msg);
    }
    side->recursion = live_config_options(side->live)->recursion;
}

/* ---- Records ---- */

static void side_put_record(struct side *side, const struct side_record *from, int64_t revision)
{
    struct dname name;
    struct record record;
    struct err err;
    if (!record_key_to_name(slice_str("/skydns/"), slice_str(from->key), &name)) {
        side_fail("no name", from->key);
    }
    if (record_from_json(slice_str(from->value), &record, &err) < 0) {
        side_fail(from->key, err.msg);
    }
    (void)records_put(side->writer, &name, &record, revision);
}

static void side_publish(struct side *side, const struct side_world *world)
{
    struct store_garbage *garbage;
    side->writer = store_writer_new();
    if (world->record_count == SIDE_UNSYNCED) {
        return;
    }
    for (size_t i = 0; i < world->record_count; i++) {
        side_put_record(side, &world->records[i], (int64_t)i + 2);
    }
    const struct store *store =
        store_writer_commit(side->writer, (int64_t)world->record_count + 2, &garbage);
    publisher_publish(side->publisher, store, garbage);
}

/* ---- Life ---- */

void side_begin(void)
{
    seeded_hash_init();
    log_set_level(LOG_LEVEL_ERROR);
}

struct side *side_open(const struct side_world *world, const struct side_calls *calls)
{
    struct side *side = xcalloc(1, sizeof(*side));
    side->response.bytes = side->reply;
    side->calls = *calls;
    side->loop = ev_loop_new(EVFLAG_AUTO);
    side->publisher = publisher_new();
    side_add_pods(side, world);
    side_configure(side, world);
    side_publish(side, world);
    side->reader = publisher_reader_new(side->publisher);
    for (size_t i = 0; i < SIDE_ENGINES; i++) {
        side->engines[i] = engine_new(publisher_newest_config(side->publisher));
    }
    side->rate_limit = rate_limit_new();
    side->fetcher = fetcher_new(&(struct fetcher_config){.loop = side->loop});
    return side;
}

void side_close(struct side *side)
{
    fetcher_free(side->fetcher);
    rate_limit_free(side->rate_limit);
    for (size_t i = 0; i < SIDE_ENGINES; i++) {
        engine_free(side->engines[i]);
    }
    live_config_free(side->live);
    stub_zones_unref(side->options.stubs);
    publisher_free(side->publisher);
    store_writer_free(side->writer);
    client_index_free(side->index);
    ev_loop_destroy(side->loop);
    free(side);
}
