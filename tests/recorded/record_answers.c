/* record_answers PLAN OUT: answers every query of a plan (plan.py) and writes what became of each,
 * to be compared with what another commit makes of it (check_recorded.py). Each sequence is
 * answered twice, from the same start: query by query, then in batches.
 *
 *     recording = { query }                     in the plan's order, of each sequence twice
 *     query     = u8 steps { u8 step u32 length bytes }     little-endian, as plans are
 *
 * Exit status 2: the plan, or something in it, cannot be used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorded/fixed.h"
#include "tests/recorded/script.h"
#include "tests/recorded/side.h"

static _Noreturn void recording_fail(const char *what)
{
    (void)fprintf(stderr, "record_answers: %s\n", what);
    exit(2);
}

static void *recording_alloc(size_t count, size_t size)
{
    void *block = calloc(count + 1, size);
    if (!block) {
        recording_fail("no memory");
    }
    return block;
}

/* ---- The plan ---- */

struct plan {
    uint8_t *bytes;
    size_t len, at;
};

/* A plan's lists: flags, records, pods. */
struct plan_strings {
    size_t count;
    char **items;
};

static struct plan plan_load(const char *path)
{
    struct plan plan = {0};
    FILE *file = fopen(path, "rbe");
    long len = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        len = ftell(file);
    }
    if (len < 0 || fseek(file, 0, SEEK_SET) != 0) {
        recording_fail("cannot read the plan");
    }
    plan.len = (size_t)len;
    plan.bytes = recording_alloc(plan.len, 1);
    if (fread(plan.bytes, 1, plan.len, file) != plan.len || fclose(file) != 0) {
        recording_fail("cannot read the plan");
    }
    return plan;
}

static uint8_t *plan_take(struct plan *plan, size_t len)
{
    if (len > plan->len - plan->at) {
        recording_fail("the plan ends early");
    }
    plan->at += len;
    return plan->bytes + plan->at - len;
}

static uint64_t plan_number(struct plan *plan, size_t size)
{
    const uint8_t *bytes = plan_take(plan, size);
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--) {
        value = value << 8 | bytes[i - 1];
    }
    return value;
}

static uint32_t plan_u32(struct plan *plan)
{
    return (uint32_t)plan_number(plan, 4);
}

/* In place: a length, the text, and its NUL. */
static struct plan_strings plan_take_strings(struct plan *plan)
{
    struct plan_strings strings = {.count = plan_u32(plan)};
    strings.items = recording_alloc(strings.count, sizeof(*strings.items));
    for (size_t i = 0; i < strings.count; i++) {
        size_t len = plan_u32(plan);
        strings.items[i] = (char *)plan_take(plan, len + 1);
    }
    return strings;
}

/* The texts are the plan's. */
static void plan_strings_fini(struct plan_strings *strings)
{
    free(strings->items);
}

static struct side_address plan_take_address(struct plan *plan)
{
    struct side_address address = {.ip_len = (uint8_t)plan_number(plan, 1)};
    memcpy(address.ip, plan_take(plan, sizeof(address.ip)), sizeof(address.ip));
    address.port = (uint16_t)plan_number(plan, 2);
    return address;
}

struct plan_query {
    struct side_query query;
    enum script script;
};

static struct plan_query plan_take_query(struct plan *plan)
{
    struct plan_query q = {0};
    q.query.transport = (enum side_transport)plan_number(plan, 1);
    q.script = (enum script)plan_number(plan, 1);
    q.query.client = plan_take_address(plan);
    q.query.local = plan_take_address(plan);
    q.query.now_s = (int64_t)plan_number(plan, 8);
    q.query.now_ms = (int64_t)plan_number(plan, 8);
    q.query.random = plan_u32(plan);
    q.query.len = plan_u32(plan);
    q.query.wire = plan_take(plan, q.query.len);
    if (q.query.transport >= SIDE_TRANSPORTS || q.script >= SCRIPT_COUNT) {
        recording_fail("the plan has an unknown transport or script");
    }
    return q;
}

/* ---- Worlds: a configuration and a version of the records ---- */

struct world_parts {
    struct plan_strings flags;
    struct plan_strings pods;   /* namespace, address */
    struct plan_strings listed; /* namespace, text */
};

struct world_records {
    bool is_unsynced;
    struct plan_strings texts; /* key, value */
};

/* Pairs of strings are these structs' two members. */
_Static_assert(sizeof(struct side_record) == 2 * sizeof(char *) &&
                   sizeof(struct side_pod) == 2 * sizeof(char *) &&
                   sizeof(struct side_listed) == 2 * sizeof(char *),
               "pairs");

static struct side_world world_of(const struct world_parts *parts,
                                  const struct world_records *records)
{
    return (struct side_world){
        .argc = (int)parts->flags.count,
        .argv = parts->flags.items,
        .record_count = records->is_unsynced ? SIDE_UNSYNCED : records->texts.count / 2,
        .records = (const void *)records->texts.items,
        .pod_count = parts->pods.count / 2,
        .pods = (const void *)parts->pods.items,
        .listed_count = parts->listed.count / 2,
        .listed = (const void *)parts->listed.items,
    };
}

/* ---- Steps ---- */

/* One query's steps. */
struct steps {
    uint8_t count;
    size_t len, room;
    uint8_t *bytes;
};

struct recorder {
    FILE *out;
    const struct plan_query *batch;
    struct steps steps[SIDE_BATCH_MAX];
};

static void steps_put(struct steps *steps, const void *bytes, size_t len)
{
    if (steps->len + len > steps->room) {
        steps->room = 2 * (steps->len + len);
        steps->bytes = realloc(steps->bytes, steps->room);
        if (!steps->bytes) {
            recording_fail("no memory");
        }
    }
    if (len > 0) {
        memcpy(steps->bytes + steps->len, bytes, len);
        steps->len += len;
    }
}

static void recorder_step(void *data, size_t query, enum side_step step, const uint8_t *bytes,
                          size_t len)
{
    struct recorder *recorder = data;
    struct steps *steps = &recorder->steps[query];
    const uint8_t head[] = {(uint8_t)step, (uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16),
                            0};
    if (steps->count == UINT8_MAX) {
        recording_fail("a query takes too many steps");
    }
    steps->count++;
    steps_put(steps, head, sizeof(head));
    steps_put(steps, bytes, len);
}

static size_t recorder_upstream(void *data, size_t query, const uint8_t *asked, size_t len,
                                bool is_tcp, uint8_t *response)
{
    const struct recorder *recorder = data;
    return script_respond(recorder->batch[query].script, asked, len, is_tcp, response);
}

static void recorder_write(struct recorder *recorder, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct steps *steps = &recorder->steps[i];
        if (putc(steps->count, recorder->out) == EOF ||
            fwrite(steps->bytes, 1, steps->len, recorder->out) != steps->len) {
            recording_fail("cannot write the recording");
        }
        steps->count = 0;
        steps->len = 0;
    }
}

/* ---- Sequences ---- */

/* How many of these, at most `max`, may come together. */
static size_t batch_size(const struct plan_query *queries, size_t left, size_t max)
{
    size_t count = 1;
    while (count < left && count < max &&
           queries[count].query.transport == queries[0].query.transport &&
           queries[count].query.now_ms == queries[0].query.now_ms) {
        count++;
    }
    return count;
}

static void answer_sequence(struct recorder *recorder, const struct side_world *world,
                            const struct plan_query *queries, size_t count, size_t batch_max)
{
    const struct side_calls calls = {recorder_step, recorder_upstream, recorder};
    fixed_set_time(queries[0].query.now_s, queries[0].query.now_ms);
    struct side *side = side_open(world, &calls);
    for (size_t at = 0, size; at < count; at += size) {
        struct side_query batch[SIDE_BATCH_MAX];
        size = batch_size(queries + at, count - at, batch_max);
        for (size_t i = 0; i < size; i++) {
            batch[i] = queries[at + i].query;
        }
        recorder->batch = queries + at;
        fixed_set_time(batch[0].now_s, batch[0].now_ms);
        side_answer(side, batch, size);
        recorder_write(recorder, size);
    }
    side_close(side);
}

struct worlds {
    size_t part_count, version_count;
    struct world_parts *parts;
    struct world_records *versions;
};

static struct worlds worlds_take(struct plan *plan)
{
    struct worlds worlds = {.part_count = plan_u32(plan)};
    worlds.parts = recording_alloc(worlds.part_count, sizeof(*worlds.parts));
    for (size_t i = 0; i < worlds.part_count; i++) {
        worlds.parts[i].flags = plan_take_strings(plan);
        worlds.parts[i].pods = plan_take_strings(plan);
        worlds.parts[i].listed = plan_take_strings(plan);
    }
    worlds.version_count = plan_u32(plan);
    worlds.versions = recording_alloc(worlds.version_count, sizeof(*worlds.versions));
    for (size_t i = 0; i < worlds.version_count; i++) {
        worlds.versions[i].is_unsynced = plan_number(plan, 1) != 0;
        worlds.versions[i].texts = plan_take_strings(plan);
    }
    return worlds;
}

static void worlds_fini(struct worlds *worlds)
{
    for (size_t i = 0; i < worlds->part_count; i++) {
        plan_strings_fini(&worlds->parts[i].flags);
        plan_strings_fini(&worlds->parts[i].pods);
        plan_strings_fini(&worlds->parts[i].listed);
    }
    for (size_t i = 0; i < worlds->version_count; i++) {
        plan_strings_fini(&worlds->versions[i].texts);
    }
    free(worlds->parts);
    free(worlds->versions);
}

/* The plan's next sequence, both ways. */
static void record_answers_answer_twice(struct recorder *recorder, const struct worlds *worlds,
                                        struct plan *plan)
{
    const size_t part = plan_u32(plan), version = plan_u32(plan), count = plan_u32(plan);
    struct plan_query *queries = recording_alloc(count, sizeof(*queries));
    for (size_t i = 0; i < count; i++) {
        queries[i] = plan_take_query(plan);
    }
    if (part >= worlds->part_count || version >= worlds->version_count || count == 0) {
        recording_fail("a sequence without configuration, records or queries");
    }
    const struct side_world world = world_of(&worlds->parts[part], &worlds->versions[version]);
    answer_sequence(recorder, &world, queries, count, 1);
    answer_sequence(recorder, &world, queries, count, SIDE_BATCH_MAX);
    free(queries);
}

int main(int argc, char **argv)
{
    static struct recorder recorder;
    if (argc != 3) {
        recording_fail("usage: record_answers PLAN OUT");
    }
    struct plan plan = plan_load(argv[1]);
    if (plan.len < 8 || memcmp(plan_take(&plan, 8), "RECPLAN1", 8) != 0) {
        recording_fail("no plan");
    }
    recorder.out = fopen(argv[2], "wbe");
    if (!recorder.out) {
        recording_fail("cannot write the recording");
    }
    fixed_begin();
    side_begin();
    struct worlds worlds = worlds_take(&plan);
    for (size_t left = plan_u32(&plan); left > 0; left--) {
        record_answers_answer_twice(&recorder, &worlds, &plan);
    }
    worlds_fini(&worlds);
    free(plan.bytes);
    if (fclose(recorder.out) != 0) {
        recording_fail("cannot write the recording");
    }
    return 0;
}
