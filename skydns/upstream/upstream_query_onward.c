/* Follows a response out of its stub zone: its question waits for that of the CNAMEs' target. */
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/upstream/upstream_query_internal.h"
#include "skydns/wire/response_parse.h"

/* Begins to wait for another question, in the place of an open try. */
static void begin_onward_wait(struct upstream_query *upstream_query)
{
    upstream_query_end_tries(upstream_query);
    upstream_query->leads_on = true;
    upstream_query->zone->sockets++;
    upstream_query->owner->sockets++;
}

void upstream_query_end_onward(struct upstream_query *upstream_query)
{
    if (upstream_query->leads_on) {
        upstream_query->leads_on = false;
        forwarder_forget(&upstream_query->onward);
        buf_clear(&upstream_query->chain);
        upstream_query->zone->sockets--;
        upstream_query->owner->sockets--;
    }
}

/* Returns whether the question waits for the other, maybe by way of others, or is the other. */
static bool awaits_upstream_query(const struct upstream_query *upstream_query,
                                  const struct upstream_query *other)
{
    while (upstream_query && upstream_query != other) {
        upstream_query = upstream_query->onward.upstream_query;
    }
    return upstream_query != NULL;
}

/* Ends the question with the CNAMEs, and the response about their target. */
static void finish_joined(struct upstream_query *upstream_query,
                          const struct parsed_response *target)
{
    uint8_t *message = xmalloc(DNS_MESSAGE_MAX);
    struct parsed_response response;
    const struct nameserver server = upstream_query->chain_from;
    const size_t len = onward_join(buf_slice(&upstream_query->chain), target, message);
    response_parse(message, len, &response);
    if (len > 0) {
        upstream_query_finish_with(upstream_query, &server, &response);
    } else {
        upstream_query_finish_as(upstream_query, FORWARDER_FAILED);
    }
    response_parse_fini(&response);
    free(message);
}

static void on_onward(void *data, const struct forwarder_reply *reply)
{
    struct upstream_query *upstream_query = data;
    if (reply->outcome == FORWARDER_REPLIED && upstream_query->chain.len == 0) {
        upstream_query_finish_with(upstream_query, reply->server, reply->response);
    } else if (reply->outcome == FORWARDER_REPLIED) {
        finish_joined(upstream_query, reply->response);
    } else {
        upstream_query_finish_as(upstream_query, reply->outcome);
    }
}

static void await_onward(struct upstream_query *upstream_query, const struct forwarder_on *on)
{
    const bool has_client = upstream_query->client.len > 0;
    const unsigned rotation = upstream_question_hash(&on->question, upstream_query->owner->seed);
    upstream_query->onward =
        (struct forwarder_wait){.client = has_client ? &upstream_query->client : NULL,
                                .cb = on_onward,
                                .data = upstream_query};
    if (upstream_query->legs == FORWARDER_LEGS_MAX) {
        upstream_query_finish_as(upstream_query, FORWARDER_FAILED);
        return;
    }
    switch (forwarder_ask(upstream_query->owner, on->zone, &on->question, rotation,
                          &upstream_query->onward)) {
    case FORWARDER_ASKED:
        if (awaits_upstream_query(upstream_query->onward.upstream_query, upstream_query)) {
            upstream_query_finish_as(upstream_query, FORWARDER_FAILED);
        } else if (upstream_query->onward.upstream_query->legs <= upstream_query->legs) {
            upstream_query->onward.upstream_query->legs = upstream_query->legs + 1;
        }
        break;
    case FORWARDER_NO_SERVER:
        upstream_query_finish_as(upstream_query, FORWARDER_SILENT);
        break;
    case FORWARDER_FULL:
        upstream_query_finish_as(upstream_query, FORWARDER_DROPPED);
        break;
    }
}

static void go_on_elsewhere(struct upstream_query *upstream_query, const struct nameserver *server,
                            const struct parsed_response *response, const struct forwarder_on *on)
{
    uint8_t chain[ONWARD_CHAIN_MAX];
    const size_t len =
        on->is_instead ? 0 : onward_chain_write(&upstream_query->question, response, chain);
    if (len == 0 && !on->is_instead) {
        upstream_query_finish_as(upstream_query, FORWARDER_FAILED);
        return;
    }
    counter_add(&upstream_query->owner->counts.fallbacks, on->is_instead);
    upstream_query->chain_from = *server;
    buf_append(&upstream_query->chain, chain, len);
    begin_onward_wait(upstream_query);
    if (on->known.len > 0) {
        struct parsed_response known;
        response_parse((const uint8_t *)on->known.ptr, on->known.len, &known);
        finish_joined(upstream_query, &known);
        response_parse_fini(&known);
    } else {
        await_onward(upstream_query, on);
    }
}

void upstream_query_take_response(struct upstream_query *upstream_query,
                                  const struct nameserver *server, struct parsed_response *response)
{
    const struct forwarder_config *config = &upstream_query->owner->config;
    struct forwarder_on on;
    enum forwarder_way way = FORWARDER_ENDS;
    if (config->arrived) {
        config->arrived(config->ended_data, response);
    }
    if (config->leads_on && upstream_query->question.is_stub) {
        way = config->leads_on(config->ended_data, &upstream_query->zone->name,
                               &upstream_query->question, response, &on);
    }
    switch (way) {
    case FORWARDER_ENDS:
        upstream_query_finish_with(upstream_query, server, response);
        break;
    case FORWARDER_GOES_ON:
        go_on_elsewhere(upstream_query, server, response, &on);
        break;
    case FORWARDER_LEADS_NOWHERE:
        upstream_query_finish_as(upstream_query, FORWARDER_FAILED);
        break;
    }
}
