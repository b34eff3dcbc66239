/* Many who wait for one reply: they are told in portions, in turns, as long as they wait. */
#include "common/base/clock.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/reply_portions_internal.h"
#include "skydns/wire/response_parse.h"
#include "tests/support/unit_test.h"

enum { WAITERS = 5 };

/* A header, the question a. A IN. */
static const uint8_t message[] = {0, 1, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1};

struct waiter {
    struct forwarder_wait wait;
    struct bed *bed;
    unsigned told; /* as which, from 1 */
    enum forwarder_outcome outcome;
    struct waiter *forgets;
};

struct bed {
    struct ev_loop *loop;
    struct forwarder_counts counts;
    struct reply_portions *portions;
    unsigned told;
    struct waiter waiters[WAITERS];
    struct forwarder_waits waits;
};

/* Each takes a whole portion. */
static void reply_portions_on_told(void *data, const struct forwarder_reply *reply)
{
    struct waiter *w = data;
    const int64_t begun_us = clock_monotonic_us();
    w->told = ++w->bed->told;
    w->outcome = reply->outcome;
    if (reply->outcome == FORWARDER_REPLIED) {
        assert_int_equal(reply->response->len, sizeof(message));
        assert_memory_equal(reply->response->bytes, message, sizeof(message));
        assert_int_equal(reply->server->address.len, 1);
    }
    if (w->forgets) {
        forwarder_forget(&w->forgets->wait);
    }
    while (clock_monotonic_us() - begun_us < FORWARDER_PORTION_US) {
    }
}

static void reply_portions_open_bed(struct bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    bed->portions = reply_portions_new(bed->loop, &bed->counts);
    TAILQ_INIT(&bed->waits);
}

static void reply_portions_close_bed(struct bed *bed)
{
    reply_portions_free(bed->portions);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, reply_portions_open_bed, reply_portions_close_bed)

static void reply_portions_wait_for(struct bed *bed, size_t i, uint8_t client)
{
    struct waiter *w = &bed->waiters[i];
    w->bed = bed;
    w->wait.cb = reply_portions_on_told;
    w->wait.data = w;
    w->wait.turn.net.bytes[0] = client;
    TAILQ_INSERT_TAIL(&bed->waits, &w->wait, entry);
}

/* The response is gone afterwards. */
static void end_question(struct bed *bed)
{
    uint8_t bytes[sizeof(message)];
    struct parsed_response response;
    struct reply_forms forms = {0};
    const struct nameserver server = {.address.len = 1};
    const struct forwarder_reply reply = {
        .outcome = FORWARDER_REPLIED, .forms = &forms, .response = &response, .server = &server};
    memcpy(bytes, message, sizeof(bytes));
    response_parse(bytes, sizeof(bytes), &response);
    reply_portions_add(bed->portions, &bed->waits, &reply);
    reply_forms_fini(&forms);
    response_parse_fini(&response);
    memset(bytes, 0xff, sizeof(bytes));
}

UNIT_TEST_ON(test_the_loop_goes_on_between_portions, struct bed *bed)
{
    for (size_t i = 0; i < WAITERS; i++) {
        reply_portions_wait_for(bed, i, 1);
    }
    end_question(bed);
    for (unsigned told = 1; told <= WAITERS; told++) {
        ev_run(bed->loop, EVRUN_ONCE);
        assert_int_equal(bed->told, told);
        assert_int_equal(bed->waiters[told - 1].told, told);
    }
    assert_false(ev_run(bed->loop, EVRUN_NOWAIT)); /* nothing is left to do */
}

UNIT_TEST_ON(test_clients_take_turns_whatever_they_wait_for, struct bed *bed)
{
    for (size_t i = 0; i < WAITERS - 1; i++) {
        reply_portions_wait_for(bed, i, 1);
    }
    end_question(bed);
    reply_portions_wait_for(bed, WAITERS - 1, 2);
    end_question(bed); /* another one */
    while (ev_run(bed->loop, EVRUN_ONCE)) {
    }
    assert_int_equal(bed->told, WAITERS);
    assert_int_equal(bed->waiters[WAITERS - 1].told, 2);
}

UNIT_TEST_ON(test_some_go_away_meanwhile, struct bed *bed)
{
    for (size_t i = 0; i < WAITERS; i++) {
        reply_portions_wait_for(bed, i, 1);
    }
    bed->waiters[0].forgets = &bed->waiters[1];
    end_question(bed);
    ev_run(bed->loop, EVRUN_ONCE);
    forwarder_forget(&bed->waiters[2].wait);
    ev_run(bed->loop, EVRUN_ONCE);
    assert_int_equal(bed->waiters[3].told, 2);
    forwarder_forget(&bed->waiters[4].wait);
    assert_false(ev_run(bed->loop, EVRUN_NOWAIT));
    assert_int_equal(bed->told, 2);
    for (size_t i = 0; i < WAITERS; i++) {
        reply_portions_wait_for(bed, i, 1);
    }
    end_question(bed);
    reply_portions_drop_all(bed->portions);
    assert_false(ev_run(bed->loop, EVRUN_NOWAIT));
    assert_int_equal(bed->told, 2);
    assert_null(bed->waiters[0].wait.shared);
}

/* Two wait for each of many large responses. */
UNIT_TEST_ON(test_shared_bytes_are_limited, struct bed *bed)
{
    enum { LARGE = 60000, RESPONSES = REPLY_PORTIONS_BYTES_MAX / LARGE + 2 };
    static uint8_t large[LARGE];
    static struct waiter waiters[RESPONSES];
    CLEANUP(response_parse_fini) struct parsed_response response;
    struct reply_forms forms = {0};
    const struct nameserver server = {.address.len = 1};
    const struct forwarder_reply reply = {
        .outcome = FORWARDER_REPLIED, .forms = &forms, .response = &response, .server = &server};
    memcpy(large, message, sizeof(message));
    response_parse(large, sizeof(large), &response);
    for (size_t i = 0; i < RESPONSES; i++) {
        TAILQ_INSERT_TAIL(&bed->waits, &waiters[i].wait, entry);
        reply_portions_add(bed->portions, &bed->waits, &reply);
    }
    assert_int_equal(counter_get(&bed->counts.unshared), 1);
    reply_portions_drop_all(bed->portions);
    reply_portions_wait_for(bed, 0, 1);
    end_question(bed); /* there is room again */
    ev_run(bed->loop, EVRUN_ONCE);
    assert_int_equal(bed->waiters[0].outcome, FORWARDER_REPLIED);
}
