/* A question whose response leads out of its stub zone: it waits for that of the target. */
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/flight_internal.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/wire/response_parse.h"

/* It waits for another one, in the place of an open try. */
static void begin_onward_wait(struct flight *flight)
{
    flight_end_tries(flight);
    flight->zone->sockets++;
    flight->owner->sockets++;
}

void flight_end_onward(struct flight *flight)
{
    if (flight->chain.len > 0) {
        forwarder_forget(&flight->onward);
        buf_clear(&flight->chain);
        flight->zone->sockets--;
        flight->owner->sockets--;
    }
}

/* Whether it waits for that one, maybe by way of others, or is that one. */
static bool awaits_flight(const struct flight *flight, const struct flight *other)
{
    while (flight && flight != other) {
        flight = flight->onward.flight;
    }
    return flight != NULL;
}

/* With the CNAMEs, and what was said of their target. */
static void finish_joined(struct flight *flight, const struct parsed_response *target)
{
    uint8_t *message = xmalloc(DNS_MESSAGE_MAX);
    struct parsed_response response;
    const struct nameserver server = flight->chain_from;
    const size_t len = onward_join(buf_slice(&flight->chain), target, message);
    response_parse(message, len, &response);
    if (len > 0) {
        flight_finish_with(flight, &server, &response);
    } else {
        flight_finish_as(flight, FORWARDER_FAILED);
    }
    response_parse_fini(&response);
    free(message);
}

static void on_onward(void *data, const struct forwarder_reply *reply)
{
    struct flight *flight = data;
    if (reply->outcome == FORWARDER_REPLIED) {
        finish_joined(flight, reply->response);
    } else {
        flight_finish_as(flight, reply->outcome);
    }
}

static void await_onward(struct flight *flight, const struct forwarder_on *on)
{
    const bool has_client = flight->client.len > 0;
    const unsigned rotation = upstream_question_hash(&on->question, flight->owner->seed);
    flight->onward = (struct forwarder_wait){
        .client = has_client ? &flight->client : NULL, .cb = on_onward, .data = flight};
    if (flight->legs == FORWARDER_LEGS_MAX) {
        flight_finish_as(flight, FORWARDER_FAILED);
        return;
    }
    switch (forwarder_ask(flight->owner, on->zone, &on->question, rotation, &flight->onward)) {
    case FORWARDER_ASKED:
        if (awaits_flight(flight->onward.flight, flight)) {
            flight_finish_as(flight, FORWARDER_FAILED);
        } else if (flight->onward.flight->legs <= flight->legs) {
            flight->onward.flight->legs = flight->legs + 1;
        }
        break;
    case FORWARDER_NO_SERVER:
        flight_finish_as(flight, FORWARDER_SILENT);
        break;
    case FORWARDER_FULL:
        flight_finish_as(flight, FORWARDER_DROPPED);
        break;
    }
}

static void go_on_elsewhere(struct flight *flight, const struct nameserver *server,
                            const struct parsed_response *response, const struct forwarder_on *on)
{
    uint8_t chain[ONWARD_CHAIN_MAX];
    const size_t len = onward_chain_write(&flight->question, response, chain);
    if (len == 0) {
        flight_finish_as(flight, FORWARDER_FAILED);
        return;
    }
    flight->chain_from = *server;
    buf_append(&flight->chain, chain, len);
    begin_onward_wait(flight);
    if (on->known.len > 0) {
        struct parsed_response known;
        response_parse((const uint8_t *)on->known.ptr, on->known.len, &known);
        finish_joined(flight, &known);
        response_parse_fini(&known);
    } else {
        await_onward(flight, on);
    }
}

void flight_take_response(struct flight *flight, const struct nameserver *server,
                          struct parsed_response *response)
{
    const struct forwarder_config *config = &flight->owner->config;
    struct forwarder_on on;
    enum forwarder_way way = FORWARDER_ENDS;
    if (config->arrived) {
        config->arrived(config->ended_data, response);
    }
    if (config->leads_on && flight->question.is_stub) {
        way = config->leads_on(config->ended_data, &flight->zone->name, &flight->question, response,
                               &on);
    }
    switch (way) {
    case FORWARDER_ENDS:
        flight_finish_with(flight, server, response);
        break;
    case FORWARDER_GOES_ON:
        go_on_elsewhere(flight, server, response, &on);
        break;
    case FORWARDER_LEADS_NOWHERE:
        flight_finish_as(flight, FORWARDER_FAILED);
        break;
    }
}
