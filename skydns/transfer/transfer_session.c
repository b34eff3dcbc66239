#include "skydns/transfer/transfer_session_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/answer/answer.h"
#include "skydns/transfer/transfer_message_internal.h"
#include "skydns/transfer/zone_names_internal.h"

/* Room for two names and five numbers. */
enum { SOA_DATA_MAX = 2 * DNAME_MAX + 20 };

/* Part of the transfer that comes next. */
enum stage {
    STAGE_FIRST,   /* the SOA that says what the client will have */
    STAGE_NAMES,   /* WHOLE: records of the names */
    STAGE_OLD_SOA, /* STEPS: of a step */
    STAGE_REMOVED,
    STAGE_NEW_SOA,
    STAGE_ADDED,
    STAGE_LAST,
    STAGE_END,
};

struct transfer_session {
    struct transfer_ask ask;
    enum stage stage;
    uint64_t records;
    bool has_begun;   /* a message was made */
    bool has_pending; /* a record that did not fit the message before */
    bool is_unknown;  /* etcd is known to lack records */
    struct zone_rr pending;
    struct buf soa; /* data of the last one given */

    struct zone_names names; /* WHOLE */
    struct zone_rrs of_name; /* of the last name, */
    size_t next_of_name;     /* and the next to be given */

    struct journal_step *step; /* STEPS: held */
    struct reader packed;      /* what is left of its removed or added ones */

    struct transfer_message message;
};

struct transfer_session *transfer_session_new(const struct transfer_ask *ask)
{
    struct transfer_session *s = xcalloc(1, sizeof(*s));
    s->ask = *ask;
    s->step = ask->steps;
    buf_init(&s->soa, SOA_DATA_MAX);
    zone_rrs_init(&s->of_name);
    zone_names_begin(&s->names, ask->apex);
    s->message.local = ask->local;
    return s;
}

void transfer_session_free(struct transfer_session *s)
{
    if (!s) {
        return;
    }
    journal_release(s->step);
    buf_fini(&s->soa);
    zone_rrs_fini(&s->of_name);
    free(s);
}

uint64_t transfer_session_records(const struct transfer_session *session)
{
    return session->records;
}

/* ---- Records ---- */

/* Makes the SOA that answers have, but for the serial. Reverse zones have that of the first
 * domain. */
static struct zone_rr transfer_session_soa(struct transfer_session *s, uint32_t serial)
{
    const struct engine_config *config = s->ask.config;
    const struct engine_zone *zone = engine_config_zone(config, s->ask.apex);
    zone = zone ? zone : &config->zones[0];
    buf_clear(&s->soa);
    buf_append(&s->soa, zone->ns.wire, zone->ns.len);
    buf_append(&s->soa, zone->hostmaster.wire, zone->hostmaster.len);
    buf_append_u32(&s->soa, serial);
    buf_append_u32(&s->soa, ANSWER_SOA_REFRESH_S);
    buf_append_u32(&s->soa, ANSWER_SOA_RETRY_S);
    buf_append_u32(&s->soa, ANSWER_SOA_EXPIRE_S);
    buf_append_u32(&s->soa, config->settings.min_ttl_s);
    return (struct zone_rr){
        .owner = rr_name(s->ask.apex),
        .type = DNS_TYPE_SOA,
        .ttl_s = config->settings.ttl_s,
        .data = buf_slice(&s->soa),
    };
}

/* Takes the next record of the zone's names; false: there are no more, or is_unknown. */
static bool next_of_zone(struct transfer_session *s, struct zone_rr *ret_rr)
{
    struct dname name;
    while (s->next_of_name == s->of_name.count) {
        if (!zone_names_next(&s->names, s->ask.config, s->ask.store, &name)) {
            return false;
        }
        s->next_of_name = 0;
        if (!zone_answers_of(s->ask.answers, s->ask.store, &name, &s->of_name)) {
            s->is_unknown = true;
            return false;
        }
    }
    struct slice bytes = zone_rrs_get(&s->of_name, s->next_of_name++);
    struct reader r = reader_of(bytes.ptr, bytes.len);
    return zone_rr_read(&r, ret_rr);
}

static enum stage after_added(struct transfer_session *s)
{
    s->step = journal_next(s->step);
    return s->step ? STAGE_OLD_SOA : STAGE_LAST;
}

/* Takes the next record; false: the end. */
static bool transfer_session_next_rr(struct transfer_session *s, struct zone_rr *ret_rr)
{
    for (;;) {
        switch (s->stage) {
        case STAGE_FIRST:
            s->stage = s->ask.kind == TRANSFER_WHOLE   ? STAGE_NAMES
                       : s->ask.kind == TRANSFER_STEPS ? STAGE_OLD_SOA
                                                       : STAGE_END;
            *ret_rr = transfer_session_soa(s, s->ask.serial);
            return true;
        case STAGE_NAMES:
            if (next_of_zone(s, ret_rr)) {
                return true;
            }
            s->stage = s->is_unknown ? STAGE_END : STAGE_LAST;
            break;
        case STAGE_OLD_SOA:
            s->packed = reader_of(s->step->removed.ptr, s->step->removed.len);
            s->stage = STAGE_REMOVED;
            *ret_rr = transfer_session_soa(s, s->step->from);
            return true;
        case STAGE_REMOVED:
            if (zone_rr_read(&s->packed, ret_rr)) {
                return true;
            }
            s->stage = STAGE_NEW_SOA;
            break;
        case STAGE_NEW_SOA:
            s->packed = reader_of(s->step->added.ptr, s->step->added.len);
            s->stage = STAGE_ADDED;
            *ret_rr = transfer_session_soa(s, s->step->to);
            return true;
        case STAGE_ADDED:
            if (zone_rr_read(&s->packed, ret_rr)) {
                return true;
            }
            s->stage = s->step->to == s->ask.serial ? STAGE_LAST : after_added(s);
            break;
        case STAGE_LAST:
            s->stage = STAGE_END;
            *ret_rr = transfer_session_soa(s, s->ask.serial);
            return true;
        case STAGE_END:
            return false;
        }
    }
}

/* ---- Messages ---- */

/* Adds as many records as fit. Returns false if no more are to come. */
static bool transfer_session_fill(struct transfer_session *s)
{
    while (s->has_pending || transfer_session_next_rr(s, &s->pending)) {
        s->has_pending = !transfer_message_add(&s->message, &s->pending);
        if (s->has_pending) {
            return true;
        }
        s->records++;
    }
    return false;
}

enum transfer_progress transfer_session_next(struct transfer_session *s, uint8_t *out, size_t cap,
                                             size_t *ret_len)
{
    transfer_message_begin(&s->message, s->ask.query, !s->has_begun, out, cap);
    s->has_begun = true;
    bool has_more = transfer_session_fill(s);
    if (s->is_unknown || (has_more && s->message.answers == 0)) {
        return TRANSFER_FAILED; /* the latter: a record too large for this cap */
    }
    *ret_len = transfer_message_end(&s->message, DNS_RCODE_NOERROR);
    return has_more ? TRANSFER_MORE : TRANSFER_DONE;
}
