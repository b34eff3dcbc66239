#include "skydns/clients/client_blocks_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

static struct slice key_of_space(const void *thing)
{
    return client_space_label(&((const struct space *)thing)->shown);
}

static struct slice key_of_name(const void *thing)
{
    const struct client_name *name = thing;
    return slice_of(name->text, name->len);
}

void client_blocks_init(struct client_blocks *blocks)
{
    *blocks = (struct client_blocks){.record_count = 0};
    key_table_init(&blocks->spaces, key_of_space);
    key_table_init(&blocks->names, key_of_name);
}

/* ---- Namespaces ---- */

struct space *client_blocks_space(struct client_blocks *blocks, struct slice label)
{
    struct space *space = key_table_find(&blocks->spaces, label);
    if (!space) {
        assert(label.len > 0 && label.len <= sizeof(space->shown.label));
        space = xcalloc(1, sizeof(*space));
        space->shown.label_len = (uint8_t)label.len;
        memcpy(space->shown.label, label.ptr, label.len);
        (void)key_table_put(&blocks->spaces, space); /* is new */
    }
    return space;
}

void client_blocks_let_go(struct client_blocks *blocks, struct space *space)
{
    if (space->pods[0] == 0 && space->pods[1] == 0 && space->records == 0) {
        (void)key_table_take(&blocks->spaces, key_of_space(space)); /* this one */
        space->next = blocks->gone;
        blocks->gone = space;
    }
}

void client_blocks_let_go_unused(struct client_blocks *blocks)
{
    struct space *space;
    for (size_t at = 0; (space = key_table_next(&blocks->spaces, &at));) {
        struct space *before = blocks->gone;
        client_blocks_let_go(blocks, space);
        at += blocks->gone == before; /* else another may be there now */
    }
}

void client_blocks_forget_pods(struct client_blocks *blocks, unsigned content)
{
    struct space *space;
    for (size_t at = 0; (space = key_table_next(&blocks->spaces, &at)); at++) {
        space->pods[content] = 0;
    }
}

/* ---- Names ---- */

const struct client_name *client_blocks_use_name(struct client_blocks *blocks, struct slice text)
{
    struct client_name *name = text.len > 0 ? key_table_find(&blocks->names, text) : NULL;
    if (!name && text.len > 0) {
        assert(text.len <= CLIENT_NAME_MAX);
        name = xcalloc(1, sizeof(*name) + text.len);
        name->len = (uint8_t)text.len;
        memcpy(name->text, text.ptr, text.len);
        (void)key_table_put(&blocks->names, name); /* is new */
    }
    if (name) {
        name->users++;
    }
    return name;
}

void client_blocks_stop_using(struct client_blocks *blocks, const struct client_name *used)
{
    struct client_name *name = used ? key_table_find(&blocks->names, key_of_name(used)) : NULL;
    if (name && --name->users == 0) {
        (void)key_table_take(&blocks->names, key_of_name(name)); /* this one */
        name->next = blocks->gone_names;
        blocks->gone_names = name;
    }
}

/* ---- Records ---- */

static size_t client_record_size(const struct client_record *record)
{
    return sizeof(*record) + record->pod_len;
}

struct client_record *client_blocks_new_record(struct client_blocks *blocks, const struct ip *ip,
                                               const struct client_description *description)
{
    struct slice pod = description->pod;
    struct client_record *record = xcalloc(1, sizeof(*record) + pod.len);
    struct space *space = client_blocks_space(blocks, description->ns);
    assert(pod.len <= CLIENT_NAME_MAX);
    space->records++;
    record->space = &space->shown;
    record->node = client_blocks_use_name(blocks, description->node);
    record->zone = client_blocks_use_name(blocks, description->zone);
    record->ip = *ip;
    record->pod_len = (uint8_t)pod.len;
    memcpy(record->pod, pod.ptr, pod.len);
    blocks->record_count++;
    blocks->record_bytes += client_record_size(record);
    return record;
}

void client_blocks_drop_record(struct client_blocks *blocks, struct client_record *record)
{
    struct space *space = client_space_of(record);
    blocks->record_count--;
    blocks->record_bytes -= client_record_size(record);
    client_blocks_stop_using(blocks, record->node);
    client_blocks_stop_using(blocks, record->zone);
    space->records--;
    client_blocks_let_go(blocks, space);
    record->next = blocks->gone_records;
    blocks->gone_records = record;
}

/* ---- The end of blocks ---- */

static void free_gone(void *block)
{
    for (struct space *space = block, *next; space; space = next) {
        next = space->next;
        free(space);
    }
}

static void free_gone_records(void *block)
{
    for (struct client_record *record = block, *next; record; record = next) {
        next = record->next;
        free(record);
    }
}

static void free_gone_names(void *block)
{
    for (struct client_name *name = block, *next; name; name = next) {
        next = name->next;
        free(name);
    }
}

void client_blocks_retire(struct client_blocks *blocks, const struct client_index_config *config)
{
    if (blocks->gone) {
        config->retire(config->data, STEAL(blocks->gone), free_gone);
    }
    if (blocks->gone_records) {
        config->retire(config->data, STEAL(blocks->gone_records), free_gone_records);
    }
    if (blocks->gone_names) {
        config->retire(config->data, STEAL(blocks->gone_names), free_gone_names);
    }
}

void client_blocks_fini(struct client_blocks *blocks)
{
    key_table_fini_things(&blocks->spaces);
    key_table_fini_things(&blocks->names);
    free_gone(blocks->gone);
    free_gone_records(blocks->gone_records);
    free_gone_names(blocks->gone_names);
}

size_t client_blocks_bytes(const struct client_blocks *blocks)
{
    return blocks->spaces.count * sizeof(struct space) + blocks->record_bytes +
           blocks->names.count * sizeof(struct client_name);
}
