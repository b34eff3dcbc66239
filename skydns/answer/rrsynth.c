#include "skydns/answer/rrsynth_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

bool rrsynth_has_target(const struct store_record *record)
{
    return record->host == STORE_HOST_IP || record->host == STORE_HOST_NAME;
}

static struct slice strip_labels(struct slice name, unsigned labels)
{
    size_t at = 0;
    for (unsigned i = 0; i < labels && name.ptr[at] != 0; i++) {
        at += (uint8_t)name.ptr[at] + 1u;
    }
    return name.ptr[at] == 0 ? name : slice_of(name.ptr + at, name.len - at);
}

struct slice rrsynth_target(const struct store_record *record)
{
    struct slice name = record->host == STORE_HOST_NAME ? store_record_host_wire(record)
                                                        : store_record_name_wire(record);
    return strip_labels(name, record->targetstrip);
}

static uint16_t priority_of(const struct engine_config *config, const struct store_record *record)
{
    return record->priority ? record->priority : config->settings.priority;
}

static struct rr start_rr(const struct engine_config *config, const struct store_record *record,
                          struct slice owner, enum rr_type type)
{
    return (struct rr){
        .owner = owner,
        .ttl_s = rrsynth_ttl_s(config, record),
        .type = type,
    };
}

struct rr rrsynth_address(const struct engine_config *config, const struct store_record *record,
                          struct slice owner)
{
    enum rr_type type = record->host_len == 4 ? RR_A : RR_AAAA;
    struct rr rr = start_rr(config, record, owner, type);
    rr.data = slice_of(record->bytes, record->host_len);
    return rr;
}

struct rr rrsynth_pointer(const struct engine_config *config, const struct store_record *record,
                          struct slice owner, enum rr_type type)
{
    struct rr rr = start_rr(config, record, owner, type);
    rr.data = store_record_host_wire(record);
    return rr;
}

struct rr rrsynth_srv(const struct engine_config *config, const struct store_record *record,
                      struct slice owner, uint16_t weight)
{
    struct rr rr = start_rr(config, record, owner, RR_SRV);
    rr.priority = priority_of(config, record);
    rr.weight = weight;
    rr.port = record->port;
    rr.data = rrsynth_target(record);
    return rr;
}

struct rr rrsynth_mx(const struct engine_config *config, const struct store_record *record,
                     struct slice owner)
{
    struct rr rr = start_rr(config, record, owner, RR_MX);
    rr.priority = priority_of(config, record);
    rr.data = rrsynth_target(record);
    return rr;
}

struct rr rrsynth_txt(const struct engine_config *config, const struct store_record *record,
                      struct slice owner)
{
    struct rr rr = start_rr(config, record, owner, RR_TXT);
    rr.data = store_record_text_bytes(record);
    return rr;
}

/* Sets the data of a TXT record. One string is kept without its length byte, as a key's text is. */
static void set_packed_text(struct rr *rr, struct slice data)
{
    rr->is_wire = (size_t)(uint8_t)data.ptr[0] + 1 != data.len;
    rr->data = rr->is_wire ? data : slice_of(data.ptr + 1, data.len - 1);
}

struct rr rrsynth_packed(const struct engine_config *config, const struct store_record *record,
                         struct slice owner, const struct record_rr *packed)
{
    struct rr rr = start_rr(config, record, owner, (enum rr_type)packed->type);
    const enum rr_shape shape = rr_shape_of(rr.type);
    struct reader r = reader_of(packed->data.ptr, packed->data.len);
    if (shape == RR_SHAPE_TEXT) {
        set_packed_text(&rr, packed->data);
        return rr;
    }
    if (shape == RR_SHAPE_SERVICE_NAMED || shape == RR_SHAPE_PREFERENCE_NAMED) {
        rr.priority = reader_u16(&r);
    }
    if (shape == RR_SHAPE_SERVICE_NAMED) {
        rr.weight = reader_u16(&r);
        rr.port = reader_u16(&r);
    }
    rr.data = slice_of(packed->data.ptr + r.pos, packed->data.len - r.pos);
    return rr;
}

void rrsynth_add_packed(const struct engine_config *config, const struct store_record *record,
                        struct slice owner, enum rr_type type, struct rr_list *out)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    while (record_rrs_next(&r, &packed)) {
        if (packed.type == (uint16_t)type) {
            const struct rr rr = rrsynth_packed(config, record, owner, &packed);
            rr_list_add(out, &rr);
        }
    }
}

struct rr rrsynth_ns(const struct engine_config *config, const struct store_record *record,
                     struct slice owner)
{
    struct rr rr = start_rr(config, record, owner, RR_NS);
    rr.data = store_record_name_wire(record);
    return rr;
}

/* Allocates one sum for each possible priority: 512 KiB of address space, of which only the pages
 * of priorities in use are ever touched. */
void weights_init(struct weights *weights)
{
    weights->sums = xcalloc(UINT16_MAX + 1, sizeof(*weights->sums));
}

void weights_fini(struct weights *weights)
{
    free(weights->sums);
    weights->sums = NULL;
}

void weights_add(struct weights *weights, const struct engine_config *config,
                 const struct store_record *record)
{
    weights->sums[priority_of(config, record)] += store_record_weight(record);
}

uint16_t weights_share(const struct weights *weights, const struct engine_config *config,
                       const struct store_record *record)
{
    return store_record_share(record, weights->sums[priority_of(config, record)]);
}

void weights_forget(struct weights *weights, const struct engine_config *config,
                    const struct store_record *record)
{
    weights->sums[priority_of(config, record)] = 0;
}
