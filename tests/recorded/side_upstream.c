/* The adapter's upstreams: implements forwarder.h, so that the archive's own is not linked. Every
 * query has its response at once, from the plan's script; the matching, the second try over TCP and
 * what counts as failure are upstream_query.c's. */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/external.h"
#include "skydns/wire/response_parse.h"
#include "tests/recorded/side_engine.h"

struct forwarder {
    struct forwarder_config config;
};

static struct side *side_asking;

void side_upstream_is(struct side *side)
{
    side_asking = side;
}

struct forwarder *forwarder_new(const struct forwarder_config *config)
{
    struct forwarder *forwarder = xcalloc(1, sizeof(*forwarder));
    forwarder->config = *config;
    return forwarder;
}

void forwarder_free(struct forwarder *forwarder)
{
    free(forwarder);
}

void forwarder_set_zones(struct forwarder *forwarder, const struct zone_table *table)
{
    (void)forwarder;
    (void)table;
}

/* Returns the length of one transport's response, if it answers the query; 0: none. */
static size_t side_exchange(const uint8_t *query, size_t query_len, bool is_tcp, uint8_t *response)
{
    const struct side_calls *calls = &side_asking->calls;
    size_t len =
        calls->upstream(calls->data, side_asking->asked, query, query_len, is_tcp, response);
    return len > 0 && upstream_is_reply(query, query_len, response, len, false) ? len : 0;
}

/* `parsed` is of the response, if there is one that is passed on. */
static struct forwarder_reply side_ask_upstream(const struct upstream_question *question,
                                                uint8_t *response, struct parsed_response *parsed)
{
    static const struct nameserver server;
    uint8_t query[UPSTREAM_QUERY_MAX];
    const size_t query_len = upstream_query_write(question, 0, query);
    size_t len = side_exchange(query, query_len, false, response);
    if (len > 0 && response[2] & DNS_FLAG_TC >> 8) {
        len = side_exchange(query, query_len, true, response);
    }
    const unsigned rcode = len > 0 ? response[3] & DNS_MASK_RCODE : 0;
    if (len == 0 || rcode == DNS_RCODE_SERVFAIL || rcode == DNS_RCODE_REFUSED) {
        return (struct forwarder_reply){.outcome = len == 0 ? FORWARDER_SILENT : FORWARDER_FAILED};
    }
    response_parse(response, len, parsed);
    return (struct forwarder_reply){
        .outcome = FORWARDER_REPLIED, .response = parsed, .server = &server};
}

/* The waiter has its reply before this returns: side_late.c knows. */
enum forwarder_start forwarder_ask(struct forwarder *forwarder, const struct forward_zone *zone,
                                   const struct upstream_question *question, unsigned rotation,
                                   struct forwarder_wait *wait)
{
    struct upstream_question asked = *question;
    (void)rotation;
    if (zone->server_count == 0) {
        return FORWARDER_NO_SERVER;
    }
    asked.zone_serial = zone->serial;
    asked.is_stub = zone_is_stub(zone);
    uint8_t *response = xmalloc(SIDE_MESSAGE_MAX); /* the waiter may ask for another */
    struct parsed_response parsed = {0};
    struct reply_forms forms = {0};
    struct forwarder_reply reply = side_ask_upstream(&asked, response, &parsed);
    reply.forms = &forms;
    if (reply.outcome == FORWARDER_REPLIED) {
        forwarder->config.arrived(forwarder->config.ended_data, &parsed);
    }
    const struct forwarder_end end = {
        .question = &asked, .reply = &reply, .is_current = true, .is_background = !wait};
    if (wait) {
        wait->cb(wait->data, &reply);
    }
    forwarder->config.ended(forwarder->config.ended_data, &end);
    reply_forms_fini(&forms);
    response_parse_fini(&parsed);
    free(response);
    return FORWARDER_ASKED;
}

void side_upstream_step(struct side *side, size_t number, enum side_step step,
                        const struct upstream_question *question)
{
    uint8_t query[UPSTREAM_QUERY_MAX];
    const size_t len = upstream_query_write(question, 0, query);
    side->calls.step(side->calls.data, number, step, query, len);
}
