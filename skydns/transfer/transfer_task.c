#include "skydns/transfer/transfer_task_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/transfer/transfer_message_internal.h"
#include "skydns/transfer/transfer_session_internal.h"

struct transfer_task *transfer_task_new(struct transfer_request *request, uint64_t id)
{
    struct transfer_task *task = xcalloc(1, sizeof(*task));
    task->id = id;
    task->error = EDNS_ERROR_NONE;
    task->request = request;
    return task;
}

void transfer_task_free(struct transfer_task *task)
{
    transfer_session_free(task->session);
    transfer_version_release(task->version);
    transfer_setup_release(task->setup);
    tsig_keys_unref(task->request->keys);
    free(task->request);
    free(task);
}

/* ---- The request ---- */

/* Reads a request whose TSIG the engine has found good. */
static void transfer_task_read_request(struct transfer_task *task, int64_t now_s)
{
    const struct transfer_request *request = task->request;
    task->is_query = transfer_query_parse(request->wire, request->len, &task->query);
    task->is_signed =
        request->keys && tsig_open(request->keys, request->wire, request->len, &task->query.tsig,
                                   now_s, &task->tsig) == TSIG_GOOD;
    task->apex = task->query.zone;
    dname_lower(&task->apex);
    task->kind = task->query.is_incremental ? TRANSFERS_IXFR : TRANSFERS_AXFR;
}

/* ---- What it gets ---- */

static void begin_session(struct transfer_task *task, enum transfer_kind kind, uint32_t serial,
                          struct journal_step *steps)
{
    struct ip local = {0};
    if (!addr_is_wildcard(&task->request->local)) {
        local = addr_ip(&task->request->local);
    }
    const struct transfer_ask ask = {
        .kind = kind,
        .query = &task->query,
        .config = task->setup->config,
        .apex = &task->apex,
        .serial = serial,
        .local = local,
        .answers = task->setup->answers,
        .store = task->version ? task->version->store : NULL,
        .steps = steps,
    };
    task->serial = serial;
    task->kind = kind == TRANSFER_WHOLE   ? TRANSFERS_AXFR
                 : kind == TRANSFER_STEPS ? TRANSFERS_IXFR
                                          : TRANSFERS_SOA;
    task->session = transfer_session_new(&ask);
}

static void transfer_task_fail(struct transfer_task *task, enum edns_error error)
{
    task->rcode = DNS_RCODE_SERVFAIL;
    task->error = error;
}

static bool is_udp(const struct transfer_task *task)
{
    return task->request->origin.transport == ENGINE_UDP;
}

static void begin_soa(struct transfer_task *task, const struct transfer_zone *zone)
{
    begin_session(task, TRANSFER_SOA, zone->journal.serial, NULL);
}

/* Begins a whole zone. Over UDP, the client comes back over TCP. */
static void begin_whole(struct transfer_task *task, struct transfer_zones *zones,
                        const struct transfer_zone *zone)
{
    if (is_udp(task)) {
        begin_soa(task, zone);
        return;
    }
    task->version = transfer_zones_hold(zones, &task->apex);
    if (!task->version) {
        transfer_task_fail(task, EDNS_ERROR_OTHER);
        return;
    }
    transfer_setup_release(task->setup);
    task->setup = transfer_setup_hold(task->version->setup);
    begin_session(task, TRANSFER_WHOLE, transfer_version_serial(task->version, &task->apex), NULL);
}

/* Returns whether the steps are less than the whole zone: more is of no use. */
static bool is_worth_it(const struct journal_step *step, size_t whole_bytes)
{
    size_t bytes = 0;
    for (; step && whole_bytes > 0 && bytes <= whole_bytes; step = step->next) {
        bytes += step->removed.len + step->added.len;
    }
    return whole_bytes == 0 || bytes <= whole_bytes;
}

static void begin_steps(struct transfer_task *task, struct transfer_zones *zones,
                        const struct transfer_zone *zone)
{
    struct journal_step *step = NULL;
    switch (journal_find(&zone->journal, task->query.serial, &step)) {
    case JOURNAL_FOUND:
        if (is_worth_it(step, zone->whole_bytes)) {
            begin_session(task, TRANSFER_STEPS, zone->journal.serial, step);
            return;
        }
        journal_release(step);
        break;
    case JOURNAL_UP_TO_DATE:
        begin_soa(task, zone);
        return;
    case JOURNAL_UNKNOWN:
        break;
    }
    begin_whole(task, zones, zone);
}

void transfer_task_begin(struct transfer_task *task, struct transfer_zones *zones, int64_t now_ms,
                         bool is_refused)
{
    task->has_begun = true;
    task->begun_ms = now_ms;
    transfer_task_read_request(task, clock_wall_s());
    int i = task->is_query ? transfer_zones_find(zones, &task->apex) : -1;
    if (!task->is_query) {
        task->rcode = DNS_RCODE_FORMERR;
    } else if (is_refused) {
        transfer_task_fail(task, EDNS_ERROR_OTHER);
    } else if (!zones->newest) {
        transfer_task_fail(task, EDNS_ERROR_NOT_READY);
    } else if (i < 0) {
        task->rcode = DNS_RCODE_NOTAUTH; /* RFC 5936 2.2.1 */
    } else if (!zones->newest->of[i].is_whole) {
        transfer_task_fail(task, EDNS_ERROR_NOT_READY);
    } else {
        task->setup = transfer_setup_hold(zones->setup);
        if (task->query.is_incremental) {
            begin_steps(task, zones, &zones->items[i]);
        } else {
            begin_whole(task, zones, &zones->items[i]);
        }
    }
}

/* ---- Messages ---- */

/* Writes an error response: for a malformed request, the header alone. */
static size_t write_error(const struct transfer_task *task, uint8_t *out)
{
    struct transfer_message message = {0};
    if (!task->is_query) {
        memset(out, 0, DNS_HEADER_SIZE);
        memcpy(out, task->request->wire, 2);
        out[2] = DNS_FLAG_QR >> 8;
        out[3] = (uint8_t)task->rcode;
        return DNS_HEADER_SIZE;
    }
    transfer_message_begin(&message, &task->query, true, out, DNS_UDP_SIZE);
    (void)transfer_message_end(&message, task->rcode);
    out[2] &= (uint8_t) ~(DNS_FLAG_AA >> 8);
    if (message.has_edns && task->error != EDNS_ERROR_NONE) {
        edns_append_error(&message.w, task->error);
    }
    return message.w.pos;
}

static size_t udp_size(const struct transfer_task *task)
{
    size_t said = task->query.udp_size > DNS_UDP_SIZE ? task->query.udp_size : DNS_UDP_SIZE;
    return said < task->request->udp_max ? said : task->request->udp_max;
}

static size_t cap_of(const struct transfer_task *task)
{
    size_t cap = is_udp(task) ? udp_size(task) : DNS_MESSAGE_MAX;
    return cap - (task->is_signed ? tsig_reply_size(&task->tsig) : 0);
}

/* Writes the next message. Over UDP, it has everything or the SOA alone. */
static size_t write_next(struct transfer_task *task, struct transfer_zones *zones, uint8_t *out)
{
    size_t len = 0;
    enum transfer_progress progress = transfer_session_next(task->session, out, cap_of(task), &len);
    if (is_udp(task) && progress != TRANSFER_DONE) {
        transfer_session_free(task->session);
        begin_soa(task, &zones->items[transfer_zones_find(zones, &task->apex)]);
        progress = transfer_session_next(task->session, out, cap_of(task), &len);
    }
    task->is_last = task->is_unhurt = progress == TRANSFER_DONE;
    return progress == TRANSFER_FAILED ? 0 : len;
}

size_t transfer_task_next(struct transfer_task *task, struct transfer_zones *zones, int64_t now_ms,
                          int64_t now_s, uint8_t *out)
{
    size_t len;
    if (task->session) {
        bool is_over = task->gives_way || now_ms - task->begun_ms > TRANSFER_MS_MAX;
        len = is_over ? 0 : write_next(task, zones, out);
    } else {
        len = write_error(task, out);
        task->is_last = true;
    }
    if (len == 0) {
        task->is_last = true;
        return 0;
    }
    if (task->is_signed) {
        len = tsig_sign(&task->tsig, task->mac, task->mac_len, now_s, out, len, task->mac,
                        &task->mac_len);
    }
    task->messages++;
    task->bytes += len;
    return len;
}

/* ---- The end ---- */

static const char *key_text(const struct transfer_task *task, char text[DNAME_TEXT_MAX])
{
    return task->is_signed ? dname_to_text(tsig_key_name(task->tsig.key), text) : "none";
}

/* Does not log transfers of nothing: a client with nothing to fetch may ask as often as it
 * likes. */
void transfer_task_end(const struct transfer_task *task, struct transfer_zones *zones,
                       enum transfers_result result, int64_t now_ms,
                       struct transfers_counts *counts)
{
    char zone[DNAME_TEXT_MAX], client[ADDR_TEXT_MAX], key[DNAME_TEXT_MAX];
    int i = transfer_zones_find(zones, &task->apex);
    if (!task->has_begun) {
        return;
    }
    counter_add(&counts->transfers[task->kind][result], 1);
    if (i >= 0 && task->kind == TRANSFERS_AXFR && result == TRANSFERS_SENT) {
        zones->items[i].whole_bytes = task->bytes;
    }
    bool is_quiet = !task->session || task->kind == TRANSFERS_SOA;
    LOG_AT(is_quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "zone transfer",
           LOG_STR("zone", dname_to_text(&task->apex, zone)),
           LOG_STR("client", addr_format(&task->request->client, client)),
           LOG_STR("kind", transfers_kind_text(task->kind)), LOG_STR("key", key_text(task, key)),
           LOG_STR("result", transfers_result_text(result)), LOG_INT("rcode", (int64_t)task->rcode),
           LOG_INT("serial", (int64_t)task->serial),
           LOG_INT("records", task->session ? (int64_t)transfer_session_records(task->session) : 0),
           LOG_INT("messages", (int64_t)task->messages), LOG_INT("bytes", (int64_t)task->bytes),
           LOG_INT("ms", now_ms - task->begun_ms));
}
