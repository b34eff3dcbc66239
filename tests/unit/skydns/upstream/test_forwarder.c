/* The forwarder against scripted nameservers on loopback, on the same loop: what it asks, what it
 * accepts as a reply, and where it goes without one. */
#include <unistd.h>

#include "skydns/external/zone_table.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/upstreams.h"
#include "skydns/wire/response_parse.h"
#include "tests/support/log_capture.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/unit_test.h"

enum { HEADER_LEN = 12 };

/* Long enough that even a busy machine answers first. */
enum { TIMEOUT_MS = 20000 };

/* The query for `a.test. A`, after its ID: question and OPT. */
static const uint8_t query[] = {1,   0x20, 0,   1,    0,    0,   0, 0, 0, 1, 1,
                                'a', 4,    't', 'e',  's',  't', 0, 0, 1, 0, 1,
                                0,   0,    41,  0x04, 0xd0, 0,   0, 0, 0, 0, 0};
enum { QUERY_LEN = 2 + sizeof(query) };

static const struct upstream_question a_test = {
    .name = {.len = 8, .wire = "\1a\4test"}, .type = 1, .qclass = 1, .flags = 0x0100};

struct result {
    struct ev_loop *loop;
    struct forwarder_wait wait;
    unsigned calls;
    bool failed;
    enum forwarder_outcome outcome;
    uint8_t reply[512];
    size_t len;
    struct addr server;
};

/* The zones that tests ask; set by `use` and `forwarder_use_zones`. */
static struct zone_table *zones;

/* Set up for each test: a loop, the nameservers it starts, a forwarder that uses them. */
struct bed {
    struct ev_loop *loop;
    struct scripted_nameserver ns[3];
    size_t ns_count;
    struct addr servers[3]; /* where the forwarder looks for them */
    size_t server_count;
    struct forwarder *forwarder;
};

static void forwarder_answer(struct scripted_nameserver *u)
{
    u->message[2] |= 0x80;
    u->message[3] = 0x80;
    scripted_nameserver_send(u);
}

static void forwarder_answer_truncated(struct scripted_nameserver *u)
{
    u->message[2] |= 0x02;
    forwarder_answer(u);
}

static void answer_servfail(struct scripted_nameserver *u)
{
    u->message[2] |= 0x80;
    u->message[3] = 0x82;
    scripted_nameserver_send(u);
}

/* A header, no question, as Unbound does. */
static void answer_refused(struct scripted_nameserver *u)
{
    memset(u->message + 4, 0, HEADER_LEN - 4);
    u->message[2] |= 0x80;
    u->message[3] = DNS_RCODE_REFUSED;
    u->len = HEADER_LEN;
    scripted_nameserver_send(u);
}

/* The same that says that there is no such name: it may be to any question. */
static void answer_bare_nxdomain(struct scripted_nameserver *u)
{
    memset(u->message + 4, 0, HEADER_LEN - 4);
    u->message[2] |= 0x80;
    u->message[3] = DNS_RCODE_NXDOMAIN;
    u->len = HEADER_LEN;
    scripted_nameserver_send(u);
}

/* Like a server without EDNS: FORMERR, with or without the question. */
static void answer_only_without_edns(struct scripted_nameserver *u)
{
    if (u->len < QUERY_LEN) {
        assert_int_equal(u->len, QUERY_LEN - EDNS_OPT_SIZE);
        assert_int_equal(u->message[HEADER_LEN - 1], 0);
        forwarder_answer(u);
        return;
    }
    if (u->seen == 1) { /* header only */
        u->message[5] = u->message[11] = 0;
        u->len = HEADER_LEN;
    }
    u->message[2] |= 0x80;
    u->message[3] = 0x81;
    scripted_nameserver_send(u);
}

static void answer_formerr(struct scripted_nameserver *u)
{
    u->message[2] |= 0x80;
    u->message[3] = 0x81;
    scripted_nameserver_send(u);
}

/* Byte by byte. */
static void answer_over_tcp(struct scripted_nameserver *u)
{
    assert_int_equal(u->len, QUERY_LEN);
    uint8_t frame[2 + QUERY_LEN] = {0, QUERY_LEN};
    memcpy(frame + 2, u->message, QUERY_LEN);
    frame[2 + 2] |= 0x80;
    for (size_t i = 0; i < sizeof(frame); i++) {
        assert_int_equal(send(u->connection.fd, frame + i, 1, MSG_NOSIGNAL), 1);
    }
}

static void answer_anything_over_tcp(struct scripted_nameserver *u)
{
    uint8_t frame[2 + QUERY_LEN] = {0, QUERY_LEN};
    assert_int_equal(send(u->connection.fd, frame, sizeof(frame), MSG_NOSIGNAL), sizeof(frame));
}

/* All kinds of wrong replies, then the right one, marked by its rcode. */
static void answer_wrongly_first(struct scripted_nameserver *u)
{
    struct scripted_nameserver wrong = *u;
    struct addr elsewhere;
    int tcp;
    scripted_nameserver_send(&wrong); /* not a reply: QR is clear */
    wrong = *u;
    wrong.message[0] ^= 0xff;
    forwarder_answer(&wrong); /* another id */
    wrong = *u;
    wrong.message[HEADER_LEN + 1] = 'b';
    forwarder_answer(&wrong); /* another name */
    wrong = *u;
    wrong.message[21] = 28;
    forwarder_answer(&wrong); /* another type */
    wrong = *u;
    wrong.message[2] |= 0x08;
    forwarder_answer(&wrong); /* another opcode */
    wrong = *u;
    wrong.len = HEADER_LEN;
    forwarder_answer(&wrong); /* no question */
    wrong.len = 3;
    forwarder_answer(&wrong); /* no header */
    wrong = *u;
    wrong.udp.fd = scripted_nameserver_sockets(&elsewhere, &tcp);
    forwarder_answer(&wrong); /* another source */
    close(wrong.udp.fd);
    close(tcp);

    u->message[HEADER_LEN + 1] = 'A'; /* letter case does not matter */
    u->message[2] |= 0x80;
    u->message[3] = 0x86;
    scripted_nameserver_send(u);
}

/* First with the name in lower case, then as asked, marked by its rcode. */
static void answer_in_lower_case_first(struct scripted_nameserver *u)
{
    struct scripted_nameserver lower = *u;
    bool is_mixed = false;
    for (size_t i = HEADER_LEN; i < HEADER_LEN + 8; i++) {
        is_mixed = is_mixed || (u->message[i] >= 'A' && u->message[i] <= 'Z');
        if (lower.message[i] >= 'A') {
            lower.message[i] |= 0x20;
        }
    }
    if (is_mixed) {
        forwarder_answer(&lower);
    }
    u->message[2] |= 0x80;
    u->message[3] = is_mixed ? 0x86 : 0x80;
    scripted_nameserver_send(u);
}

static void on_result(void *data, const struct forwarder_reply *reply)
{
    struct result *r = data;
    r->calls++;
    r->outcome = reply->outcome;
    r->failed = reply->outcome != FORWARDER_REPLIED;
    if (!r->failed) {
        const struct parsed_response *response = reply->response;
        assert_true(response->len <= sizeof(r->reply));
        assert_true(response->head.is_readable);
        memcpy(r->reply, response->bytes, response->len);
        r->len = response->len;
        r->server = reply->server->address;
    }
    ev_break(r->loop, EVBREAK_ALL);
}

static void forwarder_on_guard(struct ev_loop *loop, ev_timer *timer, int revents)
{
    ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until the callback. */
static void forwarder_run(struct result *r)
{
    ev_timer guard;
    ev_timer_init(&guard, forwarder_on_guard, TIMEOUT_MS / 1000.0, 0.);
    ev_timer_start(r->loop, &guard);
    while (r->calls == 0 && ev_is_active(&guard)) {
        ev_run(r->loop, EVRUN_ONCE);
    }
    ev_timer_stop(r->loop, &guard);
    assert_int_equal(r->calls, 1);
}

static void forwarder_open_bed(struct bed *bed)
{
    *bed = (struct bed){.loop = ev_loop_new(EVFLAG_AUTO)};
}

static void forwarder_close_bed(struct bed *bed)
{
    forwarder_free(bed->forwarder);
    for (size_t i = 0; i < bed->ns_count; i++) {
        scripted_nameserver_stop(&bed->ns[i]);
    }
    ev_loop_destroy(bed->loop);
}

static int forwarder_set_up(void **state)
{
    struct bed *bed = xcalloc(1, sizeof(*bed));
    forwarder_open_bed(bed);
    *state = bed;
    return 0;
}

static int forwarder_tear_down(void **state)
{
    forwarder_close_bed(*state);
    zone_table_unref(zones);
    zones = NULL;
    free(*state);
    return 0;
}

UNIT_TESTS_EACH(forwarder_set_up, forwarder_tear_down)

/* Resets the bed for the next round of the same test. */
static void forwarder_renew(struct bed *bed)
{
    forwarder_close_bed(bed);
    forwarder_open_bed(bed);
}

static struct scripted_nameserver *forwarder_add_server(
    struct bed *bed, void (*script)(struct scripted_nameserver *))
{
    struct scripted_nameserver *ns = &bed->ns[bed->ns_count++];
    scripted_nameserver_start(ns, bed->loop, script);
    bed->servers[bed->server_count++] = ns->address;
    return ns;
}

static void add_nobody(struct bed *bed)
{
    bed->servers[bed->server_count++] = scripted_nameserver_nowhere();
}

static void forwarder_use_zones(struct forwarder *f, const struct forward_zone *items, size_t count)
{
    struct zone_table *old = zones;
    zones = zone_table_new(items, count, old);
    zone_table_unref(old);
    forwarder_set_zones(f, zones);
}

static struct forward_zone forwarder_zone_of(const char *name, const struct addr *servers,
                                             size_t count)
{
    struct forward_zone zone = {.server_count = count};
    assert_true(dname_from_text(slice_str(name), &zone.name));
    for (size_t i = 0; i < count; i++) {
        zone.servers[i] = nameserver_at(servers[i]);
    }
    return zone;
}

static void use_rules(struct forwarder *f, bool rotate, uint32_t timeout_ms)
{
    forwarder_set_rules(f, &(struct forwarder_rules){.rotate = rotate, .timeout_ms = timeout_ms});
}

static void forwarder_use(struct forwarder *f, const struct addr *servers, size_t count,
                          uint32_t timeout_ms)
{
    const struct forward_zone root = forwarder_zone_of(".", servers, count);
    forwarder_use_zones(f, &root, 1);
    use_rules(f, false, timeout_ms);
}

static struct forwarder *start_with(struct bed *bed, const struct forwarder_config *config,
                                    uint32_t timeout_ms)
{
    bed->forwarder = forwarder_new(config);
    forwarder_use(bed->forwarder, bed->servers, bed->server_count, timeout_ms);
    return bed->forwarder;
}

static void forwarder_judge(struct forwarder *f, const struct scripted_nameserver *ns,
                            enum upstream_verdict verdict)
{
    const struct nameserver server = nameserver_at(ns->address);
    forwarder_judge_server(f, &server, verdict);
}

/* A forwarder that asks the bed's nameservers. */
static struct forwarder *upstream_forwarder_start(struct bed *bed, uint32_t timeout_ms)
{
    return start_with(bed, &(struct forwarder_config){.loop = bed->loop, .sockets_max = 8},
                      timeout_ms);
}

static bool forwarder_ask_for(struct forwarder *f, const struct upstream_question *question,
                              unsigned rotation, struct result *r)
{
    r->wait = (struct forwarder_wait){.cb = on_result, .data = r};
    return forwarder_ask(f, zone_table_find(zones, &question->name), question, rotation,
                         &r->wait) == FORWARDER_ASKED;
}

static bool upstream_forwarder_ask(struct forwarder *f, struct result *r)
{
    return forwarder_ask_for(f, &a_test, 0, r);
}

/* A question about another name each time. */
static struct upstream_question forwarder_numbered(unsigned number)
{
    struct upstream_question question = a_test;
    assert_true(number < 26);
    question.name.wire[1] = (uint8_t)('a' + number);
    return question;
}

static struct result asked_for(struct bed *bed, const struct upstream_question *question)
{
    struct result r = {.loop = bed->loop};
    assert_true(forwarder_ask_for(bed->forwarder, question, 0, &r));
    forwarder_run(&r);
    assert_false(r.failed);
    return r;
}

/* A question that has a reply. */
static struct result forwarder_asked(struct bed *bed)
{
    return asked_for(bed, &a_test);
}

UNIT_TEST_ON(test_a_reply_is_passed_on, struct bed *bed)
{
    struct result r = {.loop = bed->loop};
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    assert_true(upstream_forwarder_ask(f, &r));
    assert_int_equal(r.calls, 0);
    assert_int_equal(counter_get(&forwarder_counts(f)->questions), 1);
    forwarder_run(&r);
    assert_false(r.failed);
    assert_int_equal(u->seen, 1);
    assert_int_equal(u->len, QUERY_LEN);
    assert_int_equal(u->message[2], 0x81);
    assert_memory_equal(u->message + 4, query + 2, sizeof(query) - 2);
    assert_int_equal(r.len, u->len);
    assert_memory_equal(r.reply, u->message, u->len);
    assert_int_equal(counter_get(&forwarder_counts(f)->questions), 0);
}

/* After a truncated reply over UDP, TCP brings the complete one, or nothing useful; then the
 * truncated reply is passed on. */
UNIT_TEST_ON(test_a_truncated_reply_is_asked_for_over_tcp, struct bed *bed)
{
    static void (*const scripts[])(struct scripted_nameserver *) = {
        answer_over_tcp, scripted_nameserver_close_connection, answer_anything_over_tcp};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer_truncated);
        u->tcp_script = scripts[i];
        struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
        struct result r = forwarder_asked(bed);
        assert_int_equal(u->connections, 1);
        assert_int_equal(r.len, QUERY_LEN);
        assert_int_equal(r.reply[2], i == 0 ? 0x81 : 0x83);
        assert_int_equal(counter_get(&forwarder_counts(f)->tcp_retries), 1);
        forwarder_renew(bed);
    }
}

/* TCP is refused, or the server is silent until the timeout. */
UNIT_TEST_ON(test_a_truncated_reply_is_better_than_none, struct bed *bed)
{
    for (int silent = 0; silent < 2; silent++) {
        struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer_truncated);
        if (!silent) {
            scripted_nameserver_stop_listening(u);
        }
        (void)upstream_forwarder_start(bed, silent ? 100 : TIMEOUT_MS);
        struct result r = forwarder_asked(bed);
        assert_int_equal(r.reply[2], 0x83);
        forwarder_renew(bed);
    }
}

UNIT_TEST_ON(test_what_is_no_reply_is_passed_over, struct bed *bed)
{
    struct scripted_nameserver *u = forwarder_add_server(bed, answer_wrongly_first);
    (void)upstream_forwarder_start(bed, TIMEOUT_MS);
    struct result r = forwarder_asked(bed);
    assert_int_equal(r.reply[3], 0x86);
    assert_int_equal(u->seen, 1);
}

UNIT_TEST_ON(test_capitals_must_come_back, struct bed *bed)
{
    enum { ROUNDS = 32 }; /* five letters are all lower case in every round once in 2^160 */
    unsigned mixed = 0;
    (void)forwarder_add_server(bed, answer_in_lower_case_first);
    const struct forwarder_config config = {
        .loop = bed->loop, .sockets_max = 1, .random_case = true};
    (void)start_with(bed, &config, TIMEOUT_MS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct result r = forwarder_asked(bed);
        mixed += r.reply[3] == 0x86;
        assert_int_equal(r.reply[HEADER_LEN], 1); /* label lengths are not letters */
        assert_int_equal(r.reply[HEADER_LEN + 2], 4);
    }
    assert_true(mixed > 0);
}

UNIT_TEST_ON(test_a_server_without_edns, struct bed *bed)
{
    struct scripted_nameserver *u = forwarder_add_server(bed, answer_only_without_edns);
    (void)upstream_forwarder_start(bed, TIMEOUT_MS);
    for (unsigned i = 1; i <= 2; i++) {
        struct result r = forwarder_asked(bed);
        assert_int_equal(r.reply[3], 0x80);
        assert_int_equal(u->seen, 2 * i);
    }
}

/* It is asked once more, not forever. */
UNIT_TEST_ON(test_a_server_that_understands_nothing, struct bed *bed)
{
    struct scripted_nameserver *u = forwarder_add_server(bed, answer_formerr);
    (void)upstream_forwarder_start(bed, TIMEOUT_MS);
    struct result r = forwarder_asked(bed);
    assert_int_equal(r.reply[3], 0x81);
    assert_int_equal(u->seen, 2);
}

/* Each query is sent with a different ID, from a different port. */
UNIT_TEST_ON(test_ids_and_ports_are_fresh, struct bed *bed)
{
    enum { ROUNDS = 8 };
    bool ids_differ = false, ports_differ = false;
    uint8_t id[2] = {0};
    uint16_t port = 0;
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    (void)upstream_forwarder_start(bed, TIMEOUT_MS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)forwarder_asked(bed);
        ids_differ = ids_differ || (i && memcmp(id, u->message, 2) != 0);
        ports_differ = ports_differ || (i && port != addr_port(&u->client));
        memcpy(id, u->message, 2);
        port = addr_port(&u->client);
    }
    assert_true(ids_differ && ports_differ);
}

/* Nobody listens on the first port: its refusal moves on to the next server without waiting. */
UNIT_TEST_ON(test_a_refusing_server_is_left_at_once, struct bed *bed)
{
    add_nobody(bed);
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    (void)upstream_forwarder_start(bed, TIMEOUT_MS * 2);
    (void)forwarder_asked(bed);
    assert_int_equal(u->seen, 1);
}

static struct scripted_nameserver *lost_one;

/* Wants no EDNS, and is gone when it is asked without. */
static void forwarder_leave(struct scripted_nameserver *u)
{
    answer_formerr(u);
    ev_io_stop(u->loop, &u->udp);
    close(u->udp.fd);
}

/* It was there all the time: the message that nobody is was forged. */
static void answer_for_the_lost_one(struct scripted_nameserver *u)
{
    lost_one->udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(lost_one->udp.fd, &lost_one->address.sa, lost_one->address.len), 0);
    lost_one->message[3] = 0x80;
    scripted_nameserver_send(lost_one);
}

UNIT_TEST_ON(test_a_server_that_cannot_be_reached_is_heard, struct bed *bed)
{
    lost_one = forwarder_add_server(bed, forwarder_leave);
    (void)forwarder_add_server(bed, answer_for_the_lost_one);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    struct result r = forwarder_asked(bed);
    assert_true(addr_equal(&r.server, &lost_one->address));
    assert_int_equal(counter_get(&forwarder_counts(f)->dead), 0);
    const struct upstream_figures *figures = forwarder_figures(f);
    assert_int_equal(counter_get(&figures->items[0].failures), 0);
}

/* Sends responses like one that guesses the id, then the right one, too late. */
static void answer_with_many_ids(struct scripted_nameserver *u)
{
    const uint8_t id = u->message[1];
    u->message[2] |= 0x80;
    u->message[3] = 0x80;
    for (unsigned i = 1; i <= EXCHANGE_WRONG_IDS_MAX; i++) {
        u->message[1] = (uint8_t)(id + i);
        scripted_nameserver_send(u);
    }
    u->message[1] = id;
    scripted_nameserver_send(u);
}

/* Then TCP says what is right; without it, nothing does, and the server is alive. */
UNIT_TEST_ON(test_ids_are_not_guessed_for_long, struct bed *bed)
{
    for (int has_tcp = 0; has_tcp < 2; has_tcp++) {
        struct scripted_nameserver *u = forwarder_add_server(bed, answer_with_many_ids);
        u->tcp_script = has_tcp ? answer_over_tcp : scripted_nameserver_close_connection;
        struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
        struct result r = {.loop = bed->loop};
        assert_true(upstream_forwarder_ask(f, &r));
        forwarder_run(&r);
        assert_int_equal(u->connections, 1);
        assert_int_equal(r.outcome, has_tcp ? FORWARDER_REPLIED : FORWARDER_FAILED);
        assert_int_equal(counter_get(&forwarder_counts(f)->dead), 0);
        forwarder_renew(bed);
    }
}

UNIT_TEST_ON(test_a_silent_server_is_left_in_time, struct bed *bed)
{
    struct scripted_nameserver *silent = forwarder_add_server(bed, NULL);
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    (void)upstream_forwarder_start(bed, 500);
    (void)forwarder_asked(bed);
    assert_int_equal(silent->tries, 1);
    assert_int_equal(u->seen, 1);
}

static struct scripted_nameserver *slow_one;

/* The second server has been asked already when the first one answers. */
static void answer_for_the_slow_one(struct scripted_nameserver *u)
{
    forwarder_answer(slow_one);
}

UNIT_TEST_ON(test_a_slow_server_is_heard, struct bed *bed)
{
    struct scripted_nameserver *slow = forwarder_add_server(bed, NULL);
    (void)forwarder_add_server(bed, answer_for_the_slow_one);
    slow_one = slow;
    (void)upstream_forwarder_start(bed, 1000);
    struct result r = forwarder_asked(bed);
    assert_int_equal(slow->tries, 1);
    assert_memory_equal(r.reply, slow->message, 2);
}

/* Every server once, the first one again, then failure. */
UNIT_TEST_ON(test_all_silent, struct bed *bed)
{
    struct result r = {.loop = bed->loop};
    struct scripted_nameserver *a = forwarder_add_server(bed, NULL);
    struct scripted_nameserver *b = forwarder_add_server(bed, NULL);
    struct forwarder *f = upstream_forwarder_start(bed, 300);
    assert_true(upstream_forwarder_ask(f, &r));
    forwarder_run(&r);
    assert_true(r.failed);
    for (int i = 0; i < 9; i++) {
        ev_run(bed->loop, EVRUN_NOWAIT); /* handles what was sent but not read yet */
    }
    assert_int_equal(a->tries, 2);
    assert_int_equal(b->tries, 1);
    assert_int_equal(counter_get(&forwarder_counts(f)->questions), 0);
}

UNIT_TEST_ON(test_all_refusing, struct bed *bed)
{
    add_nobody(bed);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS * 2);
    for (int i = 0; i < 2; i++) {
        struct result r = {.loop = bed->loop};
        assert_true(upstream_forwarder_ask(f, &r));
        assert_int_equal(r.calls, 0); /* never from inside the call */
        forwarder_run(&r);
        assert_true(r.failed);
    }
}

/* A server that fails and comes back repeatedly does not fill the log. */
UNIT_TEST_ON(test_a_server_that_comes_and_goes, struct bed *bed)
{
    enum { TURNS = 40, TOLD_MAX = 20 }; /* ten a minute, and the test may span two */
    CLEANUP_FREE struct log_capture *log = xcalloc(1, sizeof(*log));
    add_nobody(bed);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS * 2);
    log_capture_begin(log);
    for (int i = 0; i < TURNS; i++) {
        forwarder_use(f, NULL, 0, TIMEOUT_MS); /* forgotten */
        forwarder_use(f, bed->servers, 1, TIMEOUT_MS);
        for (unsigned name = 0; name < 2; name++) {
            struct result r = {.loop = bed->loop};
            const struct upstream_question question = forwarder_numbered(name);
            assert_true(forwarder_ask_for(f, &question, 0, &r));
            forwarder_run(&r);
        }
        assert_int_equal(counter_get(&forwarder_counts(f)->dead), 1);
    }
    const char *text = log_capture_end(log);
    assert_in_range(log_occurrences(text, "skipping it"), 1, TOLD_MAX);
}

/* Dropped after two failures of different names; back once it answers a probe. */
UNIT_TEST_ON(test_a_dead_server_is_left_until_it_answers, struct bed *bed)
{
    struct scripted_nameserver *dead = forwarder_add_server(bed, NULL);
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = upstream_forwarder_start(bed, 300);
    for (unsigned i = 0; i < 4; i++) {
        const struct upstream_question question = forwarder_numbered(i);
        (void)asked_for(bed, &question);
    }
    assert_int_equal(dead->tries, 2);
    assert_int_equal(u->seen, 4);
    assert_int_equal(counter_get(&forwarder_counts(f)->dead), 1);

    dead->script = forwarder_answer;
    while (counter_get(&forwarder_counts(f)->dead) > 0) { /* a probe comes within half a second */
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_true(dead->tries > 2);
    assert_int_equal(counter_get(&forwarder_counts(f)->probes), dead->tries - 2);
    struct result r = forwarder_asked(bed);
    assert_memory_equal(r.reply, dead->message, 2);
    assert_int_equal(u->seen, 4);
}

static void count_call(void *data)
{
    unsigned *calls = data;
    ++*calls;
}

static void expect_state(const struct forwarder *f, unsigned dead, unsigned looping)
{
    assert_int_equal(counter_get(&forwarder_counts(f)->dead), dead);
    assert_int_equal(counter_get(&forwarder_counts(f)->looping), looping);
}

/* Not used while it loops, also when the list is set again; used as before when it does not. */
UNIT_TEST_ON(test_a_looping_server_is_left_until_it_replies, struct bed *bed)
{
    struct scripted_nameserver *a = forwarder_add_server(bed, forwarder_answer);
    struct scripted_nameserver *b = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    forwarder_judge(f, a, UPSTREAM_REPLIES);
    forwarder_judge(f, b, UPSTREAM_SILENT); /* not what makes a server dead */
    expect_state(f, 0, 0);
    for (unsigned i = 1; i <= 2; i++) {
        forwarder_judge(f, a, UPSTREAM_LOOPS);
        expect_state(f, 1, 1);
        (void)forwarder_asked(bed);
        forwarder_use(f, bed->servers, bed->server_count, TIMEOUT_MS);
        expect_state(f, 1, 1);
        (void)forwarder_asked(bed);
        assert_int_equal(a->seen, i - 1);
        assert_int_equal(b->seen, 2 * i);
        forwarder_judge(f, a, UPSTREAM_REPLIES);
        expect_state(f, 0, 0);
        (void)forwarder_asked(bed);
        assert_int_equal(a->seen, i);
    }
    const struct nameserver gone = nameserver_at(scripted_nameserver_nowhere());
    forwarder_judge_server(f, &gone, UPSTREAM_LOOPS);
    expect_state(f, 0, 0);
}

/* Then it counts as dead: others first, and probed until it answers, which may mean a loop again.
 */
UNIT_TEST_ON(test_a_looping_server_that_falls_silent, struct bed *bed)
{
    unsigned suspicions = 0;
    struct scripted_nameserver *a = forwarder_add_server(bed, forwarder_answer);
    struct scripted_nameserver *b = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = start_with(
        bed,
        &(struct forwarder_config){
            .loop = bed->loop, .sockets_max = 4, .suspect_loop = count_call, .data = &suspicions},
        TIMEOUT_MS);
    forwarder_judge(f, a, UPSTREAM_LOOPS);
    forwarder_judge(f, a, UPSTREAM_SILENT);
    expect_state(f, 1, 0);
    (void)forwarder_asked(bed);
    assert_int_equal(b->seen, 1);
    assert_int_equal(suspicions, 0);
    while (counter_get(&forwarder_counts(f)->dead) > 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(a->seen, 1);
    assert_int_equal(suspicions, 1);
    (void)forwarder_asked(bed);
    assert_int_equal(a->seen, 2);
}

/* The question comes again, as when it is our own. */
UNIT_TEST_ON(test_a_question_in_flight_comes_again, struct bed *bed)
{
    unsigned suspicions = 0;
    (void)forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = start_with(
        bed,
        &(struct forwarder_config){
            .loop = bed->loop, .sockets_max = 4, .suspect_loop = count_call, .data = &suspicions},
        TIMEOUT_MS);
    struct result first = {.loop = bed->loop}, second = {.loop = bed->loop};
    assert_true(upstream_forwarder_ask(f, &first));
    assert_int_equal(suspicions, 0);
    assert_true(upstream_forwarder_ask(f, &second));
    assert_int_equal(suspicions, 1);
    forwarder_run(&first);
    forwarder_run(&second);
}

UNIT_TEST_ON(test_another_server_may_know_better, struct bed *bed)
{
    for (int all_fail = 0; all_fail < 2; all_fail++) {
        struct scripted_nameserver *a = forwarder_add_server(bed, answer_servfail);
        struct scripted_nameserver *b =
            forwarder_add_server(bed, all_fail ? answer_servfail : forwarder_answer);
        struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
        struct result r = {.loop = bed->loop};
        assert_true(upstream_forwarder_ask(f, &r));
        forwarder_run(&r);
        assert_int_equal(r.outcome, all_fail ? FORWARDER_FAILED : FORWARDER_REPLIED);
        assert_int_equal(a->seen, 1);
        assert_int_equal(b->seen, 1);
        assert_int_equal(counter_get(&forwarder_counts(f)->dead), 0);
        forwarder_renew(bed);
    }
}

/* At once, and such a server is alive; of other rcodes, a header says nothing. */
UNIT_TEST_ON(test_a_refusal_without_the_question, struct bed *bed)
{
    (void)forwarder_add_server(bed, answer_refused);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    struct result r = {.loop = bed->loop};
    for (unsigned i = 0; i < 3; i++) {
        r = (struct result){.loop = bed->loop};
        assert_true(upstream_forwarder_ask(f, &r));
        forwarder_run(&r);
        assert_int_equal(r.outcome, FORWARDER_FAILED);
    }
    assert_int_equal(counter_get(&forwarder_counts(f)->dead), 0);
    forwarder_renew(bed);
    (void)forwarder_add_server(bed, answer_bare_nxdomain);
    f = upstream_forwarder_start(bed, 50);
    r = (struct result){.loop = bed->loop};
    assert_true(upstream_forwarder_ask(f, &r));
    forwarder_run(&r);
    assert_int_equal(r.outcome, FORWARDER_SILENT);
}

UNIT_TEST_ON(test_equal_questions_share_a_reply, struct bed *bed)
{
    struct result r[3] = {{.loop = bed->loop}, {.loop = bed->loop}, {.loop = bed->loop}};
    struct upstream_question other = a_test;
    other.dnssec_ok = true;
    struct scripted_nameserver *u = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    assert_true(upstream_forwarder_ask(f, &r[0]));
    assert_true(upstream_forwarder_ask(f, &r[1]));
    assert_true(forwarder_ask_for(f, &other, 0, &r[2]));
    for (int i = 0; i < 3; i++) {
        forwarder_run(&r[i]);
        assert_false(r[i].failed);
    }
    assert_int_equal(u->seen, 2);
    assert_int_equal(counter_get(&forwarder_counts(f)->shared), 1);
    assert_memory_equal(r[0].reply, r[1].reply, 2);
    struct result again = {.loop = bed->loop}; /* replies are not cached */
    assert_true(upstream_forwarder_ask(f, &again));
    forwarder_run(&again);
    assert_int_equal(u->seen, 3);
}

UNIT_TEST_ON(test_the_querier_chooses_the_first_server, struct bed *bed)
{
    for (int i = 0; i < 3; i++) {
        (void)forwarder_add_server(bed, forwarder_answer);
    }
    for (int rotate = 0; rotate < 2; rotate++) {
        struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
        use_rules(f, rotate, TIMEOUT_MS);
        for (unsigned i = 0; i < 3; i++) {
            struct result r = {.loop = bed->loop};
            unsigned *seen = &bed->ns[rotate ? i : 0].seen, before = *seen;
            assert_true(forwarder_ask_for(f, &a_test, i + 6, &r));
            forwarder_run(&r);
            assert_int_equal(*seen, before + 1);
        }
        forwarder_free(f);
        bed->forwarder = NULL;
    }
}

UNIT_TEST_ON(test_other_servers_from_now_on, struct bed *bed)
{
    struct result r = {.loop = bed->loop}, later = {.loop = bed->loop};
    struct scripted_nameserver *a = forwarder_add_server(bed, forwarder_answer);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    struct scripted_nameserver *b = forwarder_add_server(bed, forwarder_answer);
    assert_true(upstream_forwarder_ask(f, &r));
    forwarder_use(f, &b->address, 1, TIMEOUT_MS);
    forwarder_run(&r); /* questions in flight continue */
    assert_int_equal(a->seen, 1);
    assert_true(upstream_forwarder_ask(f, &later));
    forwarder_run(&later);
    assert_int_equal(b->seen, 1);
    forwarder_judge(f, b, UPSTREAM_LOOPS);
    assert_false(upstream_forwarder_ask(f, &later));
    assert_int_equal(counter_get(&forwarder_counts(f)->dead), 1);
    forwarder_use(f, NULL, 0, TIMEOUT_MS);
    assert_false(upstream_forwarder_ask(f, &later));
}

UNIT_TEST_ON(test_limits, struct bed *bed)
{
    enum { SOCKETS = 8 };
    struct result r[SOCKETS + 2] = {{.loop = bed->loop}};
    (void)forwarder_add_server(bed, NULL);
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    struct upstream_question question = a_test;
    for (unsigned i = 0; i < SOCKETS; i++) {
        question.type = (uint16_t)(100 + i);
        assert_true(forwarder_ask_for(f, &question, 0, &r[i]));
    }
    question.type = 200;
    assert_false(forwarder_ask_for(f, &question, 0, &r[SOCKETS])); /* eight may be in flight */
    question.type = 100;
    assert_true(
        forwarder_ask_for(f, &question, 0, &r[SOCKETS + 1])); /* shares a question in flight */
    forwarder_free(f);
    for (unsigned i = 0; i < SOCKETS + 2; i++) {
        assert_int_equal(r[i].calls, 0); /* no callbacks at the end */
        assert_null(r[i].wait.upstream_query);
    }
    bed->forwarder = NULL; /* forwarder_tear_down would free it again */
}

/* With only one socket, a question stops listening to the first server when it asks the second. */
UNIT_TEST_ON(test_the_last_socket, struct bed *bed)
{
    (void)forwarder_add_server(bed, NULL);
    (void)forwarder_add_server(bed, forwarder_answer);
    const struct forwarder_config config = {.loop = bed->loop, .sockets_max = 1};
    (void)start_with(bed, &config, 300);
    (void)forwarder_asked(bed);
}

/* Questions to a silent server are tried again, and still leave half of the sockets to others. */
UNIT_TEST_ON(test_further_tries_leave_sockets, struct bed *bed)
{
    enum { COUNT = 4, SOCKETS_MAX = 2 * COUNT };
    static struct result results[SOCKETS_MAX];
    struct scripted_nameserver *u = forwarder_add_server(bed, NULL);
    const struct forwarder_config config = {.loop = bed->loop, .sockets_max = SOCKETS_MAX};
    struct forwarder *f = start_with(bed, &config, 300);
    struct upstream_question question = a_test;
    for (unsigned i = 0; i < SOCKETS_MAX; i++) {
        question.type = (uint16_t)(256 + i);
        results[i] = (struct result){.loop = bed->loop};
        while (i == COUNT && u->seen < 2 * COUNT) { /* each has been tried twice */
            ev_run(bed->loop, EVRUN_ONCE);
        }
        assert_true(forwarder_ask_for(f, &question, 0, &results[i]));
    }
}

static void on_drop(struct ev_loop *loop, ev_timer *timer, int revents)
{
    forwarder_drop_all(timer->data);
}

/* The owner drops all in the loop iteration in which a question fails. */
UNIT_TEST_ON(test_no_callback_after_all_were_dropped, struct bed *bed)
{
    struct result r = {.loop = bed->loop};
    ev_timer drop;
    bed->servers[bed->server_count++].len =
        sizeof(struct sockaddr_in); /* no family: fails at once */
    struct forwarder *f = upstream_forwarder_start(bed, TIMEOUT_MS);
    assert_true(upstream_forwarder_ask(f, &r));
    ev_timer_init(&drop, on_drop, 0., 0.);
    ev_set_priority(&drop, EV_MAXPRI);
    drop.data = f;
    ev_timer_start(bed->loop, &drop);
    ev_run(bed->loop, EVRUN_ONCE);
    assert_int_equal(r.calls, 0);
    assert_int_equal(counter_get(&forwarder_counts(f)->questions), 0);
}
