/* The loop check against a scripted nameserver that leads back to it or does not: what it asks and
 * when, and its verdicts. Rounds are milliseconds apart, or begin only when the test says so. */
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/upstream/loop_check.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/unit_test.h"

enum { LABELS = 4, NAMES_MAX = 64 };

/* Only ends a hang. */
static const double timeout_s = 20;

static const double never_s = 3600;

/* Each attempt forgets the one before: a reply has this time. Under load it may take an attempt
 * more, so tests count rounds. */
#define RETRY_S 0.05

struct bed {
    struct scripted_nameserver ns; /* first: its script finds the bed */
    struct ev_loop *loop;
    struct loop_check *check;
    bool leads_back;
    bool is_silent;
    unsigned judged[UPSTREAM_SILENT + 1];
    unsigned rounds;
    struct dname names[NAMES_MAX]; /* asked for, one in each round */
};

static void on_question(struct scripted_nameserver *ns)
{
    struct bed *bed = (struct bed *)ns;
    struct reader r = reader_of(ns->message, ns->len);
    struct dname name;
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(dname_read(&r, &name));
    if (bed->rounds == 0 || !dname_equal(&name, &bed->names[bed->rounds - 1])) {
        assert_true(bed->rounds < NAMES_MAX);
        bed->names[bed->rounds++] = name;
    }
    assert_int_equal(reader_u16(&r), DNS_TYPE_HINFO);
    if (bed->leads_back) {
        assert_true(loop_check_came_back(bed->check, &name));
    }
    if (!bed->is_silent) {
        ns->message[2] |= 0x80;
        ns->message[3] = 0x82;
        scripted_nameserver_send(ns);
    }
}

static void loop_check_on_judged(void *data, const struct nameserver *server,
                                 enum upstream_verdict verdict)
{
    struct bed *bed = data;
    assert_true(addr_equal(&server->address, &bed->ns.address));
    bed->judged[verdict]++;
}

static void loop_check_start(struct bed *bed, const struct loop_check_times *times)
{
    const struct loop_check_config config = {
        .loop = bed->loop, .times = *times, .judged = loop_check_on_judged, .data = bed};
    bed->check = loop_check_new(&config);
    loop_check_set_servers(bed->check, &(struct nameserver){.address = bed->ns.address}, 1, LABELS);
}

static void loop_check_on_timeout(struct ev_loop *loop, ev_timer *timer, int revents)
{
    *(bool *)timer->data = true;
    ev_break(loop, EVBREAK_ONE);
}

static void loop_check_run_until(struct bed *bed, const unsigned *count, unsigned least)
{
    bool is_late = false;
    ev_timer timer;
    ev_timer_init(&timer, loop_check_on_timeout, timeout_s, 0.);
    timer.data = &is_late;
    ev_timer_start(bed->loop, &timer);
    while (*count < least && !is_late) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    ev_timer_stop(bed->loop, &timer);
    assert_false(is_late);
}

/* Lets pass everything that is due. */
static void run_what_is_due(struct bed *bed)
{
    for (int i = 0; i < 20; i++) {
        ev_run(bed->loop, EVRUN_NOWAIT);
    }
}

static void loop_check_set_up(struct bed *bed)
{
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    scripted_nameserver_start(&bed->ns, bed->loop, on_question);
}

static void loop_check_tear_down(struct bed *bed)
{
    loop_check_free(bed->check);
    scripted_nameserver_stop(&bed->ns);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, loop_check_set_up, loop_check_tear_down)

static const struct loop_check_times quick = {
    .retry_s = RETRY_S, .pause_min_s = 0.001, .pause_max_s = 0.003};
static const struct loop_check_times by_hand = {
    .retry_s = RETRY_S, .pause_min_s = never_s, .pause_max_s = never_s};

UNIT_TEST_ON(test_a_new_name_for_each_round, struct bed *bed)
{
    enum { ROUNDS = 5 };
    loop_check_start(bed, &quick);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(dname_label_count(&bed->names[i]), LABELS);
    }
    assert_true(bed->rounds >= ROUNDS);
    assert_int_equal(bed->judged[UPSTREAM_LOOPS], 0);
}

UNIT_TEST_ON(test_a_loop_begins_and_ends, struct bed *bed)
{
    loop_check_start(bed, &quick);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], 2);
    bed->leads_back = true;
    loop_check_run_until(bed, &bed->judged[UPSTREAM_LOOPS], 1);
    unsigned replies = bed->judged[UPSTREAM_REPLIES];
    loop_check_run_until(bed, &bed->judged[UPSTREAM_LOOPS], 3);
    assert_int_equal(bed->judged[UPSTREAM_REPLIES], replies); /* its replies count for nothing */
    bed->leads_back = false;
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], replies + 2);
    assert_int_equal(bed->judged[UPSTREAM_SILENT], 0);
}

/* Replies that never come: a loop without an end, or a server that is down. */
UNIT_TEST_ON(test_silence, struct bed *bed)
{
    bed->is_silent = true;
    loop_check_start(bed, &by_hand);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_SILENT], 1);
    loop_check_run_until(bed, &bed->ns.seen, LOOP_CHECK_ATTEMPTS);
    run_what_is_due(bed);
    assert_int_equal(bed->ns.seen, LOOP_CHECK_ATTEMPTS);
    assert_int_equal(bed->rounds, 1);
    /* The question comes back after all. */
    assert_true(loop_check_came_back(bed->check, &bed->names[0]));
    assert_int_equal(bed->judged[UPSTREAM_LOOPS], 1);
}

UNIT_TEST_ON(test_names_of_two_rounds_are_known, struct bed *bed)
{
    loop_check_start(bed, &by_hand);
    for (unsigned i = 1; i <= 3; i++) {
        loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], i);
        loop_check_hurry(bed->check);
        loop_check_hurry(bed->check); /* one round is enough */
    }
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], 4);
    run_what_is_due(bed);
    assert_int_equal(bed->rounds, 4);
    assert_true(loop_check_came_back(bed->check, &bed->names[3]));
    assert_true(loop_check_came_back(bed->check, &bed->names[2]));
    assert_false(loop_check_came_back(bed->check, &bed->names[1]));
    assert_false(loop_check_came_back(bed->check, &(struct dname){.len = 1}));
    assert_int_equal(bed->judged[UPSTREAM_LOOPS], 2);
}

/* However often somebody wants one. */
UNIT_TEST_ON(test_rounds_keep_their_distance, struct bed *bed)
{
    struct loop_check_times times = by_hand;
    times.gap_s = never_s;
    loop_check_start(bed, &times);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], 1);
    for (int i = 0; i < 100; i++) {
        loop_check_hurry(bed->check);
        run_what_is_due(bed);
    }
    assert_int_equal(bed->rounds, 1);
    /* Other servers are checked at once. */
    loop_check_set_servers(bed->check, &(struct nameserver){.address = bed->ns.address}, 1, LABELS);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_REPLIES], 2);
}

/* The wish outlasts the round in which it comes. */
UNIT_TEST_ON(test_hurry_within_a_round, struct bed *bed)
{
    bed->is_silent = true;
    loop_check_start(bed, &by_hand);
    loop_check_run_until(bed, &bed->ns.seen, 1);
    loop_check_hurry(bed->check);
    loop_check_run_until(bed, &bed->judged[UPSTREAM_SILENT], 2);
}

UNIT_TEST_ON(test_nothing_to_ask, struct bed *bed)
{
    loop_check_start(bed, &by_hand);
    loop_check_set_servers(bed->check, &(struct nameserver){.address = bed->ns.address}, 1,
                           29); /* longer than a name may be */
    loop_check_hurry(bed->check);
    run_what_is_due(bed);
    loop_check_set_servers(bed->check, NULL, 0, LABELS);
    loop_check_hurry(bed->check);
    run_what_is_due(bed);
    assert_int_equal(bed->ns.seen, 0);
}
