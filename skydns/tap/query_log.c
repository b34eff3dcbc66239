#include "skydns/tap/query_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/clients/client_index.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/tap/query_tap.h"
#include "skydns/wire/owned_query.h"
#include "skydns/wire/response.h"

/* Time between log lines about refused clients. */
enum { REFUSAL_PAUSE_MS = 60 * 60 * 1000 };

enum { FLAGS_TEXT_MAX = sizeof("rd,ad,cd,do") };

/* ---- Which ---- */

static bool is_error(unsigned rcode)
{
    return rcode == DNS_RCODE_SERVFAIL || rcode == DNS_RCODE_REFUSED ||
           rcode == DNS_RCODE_FORMERR || rcode == DNS_RCODE_NOTIMP;
}

/* Returns true for NXDOMAIN and NODATA. NODATA: there is a question, and no answer, not even one
 * that did not fit. */
static bool is_denial(const struct query_seen *seen)
{
    const struct response *response = seen->response;
    const unsigned rcode = response_rcode(response);
    return rcode == DNS_RCODE_NXDOMAIN ||
           (rcode == DNS_RCODE_NOERROR && response->name_len > 0 &&
            !response_has_answer(response) && !response_is_truncated(response));
}

bool query_log_wants(struct query_log_rule rule, const struct query_seen *seen)
{
    if (seen->response->len == 0) {
        return false;
    }
    switch (rule.mode) {
    case QUERY_LOG_OFF:
        break;
    case QUERY_LOG_ALL:
        return true;
    case QUERY_LOG_ERRORS:
        return is_error(response_rcode(seen->response));
    case QUERY_LOG_DENIALS:
        return is_denial(seen);
    case QUERY_LOG_SOME:
        return (uint64_t)seen->query->random * rule.every >> 32 == 0;
    }
    return false;
}

/* ---- The line ---- */

struct asked {
    bool has_name, has_type;
    struct dname name;
    uint16_t type;
    char flags[FLAGS_TEXT_MAX];
};

static void add_flag(char flags[FLAGS_TEXT_MAX], bool is_set, const char *name)
{
    size_t len = strlen(flags);
    if (is_set) {
        (void)snprintf(flags + len, FLAGS_TEXT_MAX - len, "%s%s", len ? "," : "", name);
    }
}

static void read_query(const struct engine_query *query, struct asked *ret)
{
    struct reader r = reader_of(query->wire, query->len);
    struct question question;
    *ret = (struct asked){0};
    reader_seek(&r, 2);
    unsigned bits = reader_u16(&r);
    if (r.failed) {
        return;
    }
    reader_seek(&r, DNS_HEADER_SIZE);
    ret->has_name = dname_read(&r, &ret->name);
    ret->type = reader_u16(&r);
    ret->has_type = !r.failed;
    add_flag(ret->flags, bits & DNS_FLAG_RD, "rd");
    add_flag(ret->flags, bits & DNS_FLAG_AD, "ad");
    add_flag(ret->flags, bits & DNS_FLAG_CD, "cd");
    add_flag(ret->flags,
             query->owned ? query->owned->dnssec_ok
                          : question_parse(query->wire, query->len, &question) == QUESTION_OK &&
                                question.dnssec_ok,
             "do");
}

/* Describes the client; all empty if it is not known. */
static struct client_description query_log_describe(const struct query_seen *seen)
{
    const struct ip ip = addr_ip(seen->query->client);
    struct client_description client = {.ns = {"", 0}};
    if (seen->clients) {
        (void)client_index_describe(seen->clients, &ip, &client); /* else all stays empty */
    }
    return client;
}

/* Adds a field, unless it is empty. */
static void query_log_add_text(struct log_field *fields, size_t *count, const char *name,
                               struct slice text)
{
    if (text.len > 0) {
        fields[(*count)++] = LOG_SLICE(name, text);
    }
}

bool query_log_write(const struct query_seen *seen)
{
    char name[DNAME_TEXT_MAX], client[ADDR_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    char rcode[DNS_RCODE_TEXT_MAX];
    struct asked asked;
    if (!log_bulk_takes()) {
        return false;
    }
    read_query(seen->query, &asked);
    const struct client_description who = query_log_describe(seen);
    const struct log_field rest[] = {
        LOG_STR("client", addr_format(seen->query->client, client)),
        LOG_STR("transport", listen_transport_name(seen->query->transport)),
        LOG_STR("name", asked.has_name ? dname_to_text(&asked.name, name) : NULL),
        LOG_STR("type", asked.has_type ? dns_type_text(asked.type, type) : NULL),
        LOG_STR("flags", asked.flags),
        LOG_STR("rcode", dns_rcode_text((uint8_t)response_rcode(seen->response), rcode)),
        LOG_INT("size", (int64_t)seen->response->len),
        LOG_SECONDS("seconds", seen->took_us),
    };
    struct log_field fields[3 + ARRAY_LEN(rest)];
    size_t count = 0;
    query_log_add_text(fields, &count, "namespace", who.ns);
    query_log_add_text(fields, &count, "pod", who.pod);
    query_log_add_text(fields, &count, "node", who.node);
    memcpy(fields + count, rest, sizeof(rest));
    return log_bulk_write("query", count + ARRAY_LEN(rest), fields);
}

void query_log_not_allowed(const struct addr *client)
{
    static _Atomic int64_t told_ms; /* 0: never */
    char text[ADDR_TEXT_MAX];
    int64_t now_ms = clock_monotonic_ms();
    int64_t before_ms = atomic_load_explicit(&told_ms, memory_order_relaxed);
    if ((before_ms == 0 || now_ms - before_ms >= REFUSAL_PAUSE_MS) &&
        atomic_compare_exchange_strong_explicit(&told_ms, &before_ms, now_ms, memory_order_relaxed,
                                                memory_order_relaxed)) {
        log_warn("refusing queries from clients outside -allow",
                 LOG_STR("client", addr_format(client, text)));
    }
}
