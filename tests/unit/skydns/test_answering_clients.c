/* Limits of clients as assembled by main(), and what is logged and counted of them:
 * real threads and sockets on loopback, on which clients have addresses of their own. */
#include "tests/support/from_text.h"
#include "tests/unit/skydns/answering_bed.h"

#include <unistd.h>

#include "skydns/clients/client_index.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_log.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/worker.h"
#include "tests/support/log_capture.h"

enum { BURST = 8, FLOOD = 40 };

UNIT_TESTS_EACH(answering_setup, answering_teardown)
UNIT_TESTS_ONCE(start_first_thread, NULL)
UNIT_TESTS_HAVE_THREADS

/* Opens it with the options as they are now, and starts. */
static void limits_start(struct fixture *f)
{
    publisher_configure(f->publisher, options_engine_config(&f->options));
    answering_fill(f);
    answering_open_at(f, 1);
    skydns_answering_start(f);
}

static int limits_client(const struct fixture *f, const char *from_text, int type)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    const struct ip ip = ip_from(from_text);
    const struct addr from = addr_of_ip(&ip, 0), *to = &f->options.addresses[0];
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(bind(fd, &from.sa, from.len), 0);
    assert_int_equal(connect(fd, &to->sa, to->len), 0);
    return fd;
}

static struct query_sums limits_sums(const struct fixture *f)
{
    unsigned count;
    struct query_sums sums = {0};
    struct worker *const *workers = answering_workers(f->answering, &count);
    for (unsigned i = 0; i < count; i++) {
        worker_sums_add(workers[i], &sums);
    }
    return sums;
}

/* Sends so many questions at once, and waits until each has been counted. */
static struct query_sums limits_flood(const struct fixture *f, int udp, unsigned count)
{
    struct query_sums sums;
    for (unsigned i = 0; i < count; i++) {
        struct asked_question question;
        question_make(&question, QUESTION_ADDRESS, 0, (uint16_t)i);
        send_udp(udp, question.wire, question.len);
    }
    do {
        (void)sched_yield();
        sums = limits_sums(f);
    } while (sums.answered + sums.limited + sums.limit_drops + sums.namespace_drops < count);
    return sums;
}

static void limits_expect_answer(int udp, uint16_t id)
{
    struct asked_question question;
    question_make(&question, QUESTION_ADDRESS, 0, id);
    send_udp(udp, question.wire, question.len);
    const struct message reply = answering_receive_udp(udp);
    expect_answer(&question, &reply);
}

/* Returns what was counted of a client since the last call, over all threads. */
static uint32_t limits_counted(const struct fixture *f, const char *ip_text,
                               enum client_count count)
{
    const struct ip ip = ip_from(ip_text);
    size_t threads;
    uint32_t sum = 0;
    struct client_counts *const *counts = answering_clients(f->answering, &threads);
    assert_in_range(threads, 1, 100);
    for (size_t i = 0; i < threads; i++) {
        struct client_counts_at at = {0};
        struct client_delta delta;
        while (client_counts_next(counts[i], true, &at, &delta)) {
            sum += ip_equal(&delta.ip, &ip) ? delta.counts[count] : 0;
        }
    }
    return sum;
}

/* ---- Limits ---- */

/* Others are refused, and that is logged. */
UNIT_TEST_ON(test_who_may_query, struct fixture *f)
{
    struct asked_question question;
    struct log_capture capture;
    f->options.engine.is_restricted = true;
    f->options.engine.admitted_count = 1;
    const struct ip admitted = ip_from("127.0.0.2");
    f->options.engine.admitted[0] = network_of(&admitted, 32);
    limits_start(f);
    int good = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    int other = limits_client(f, "127.0.0.3", SOCK_DGRAM);
    limits_expect_answer(good, 1);
    log_capture_begin(&capture);
    question_make(&question, QUESTION_ADDRESS, 0, 2);
    send_udp(other, question.wire, question.len);
    const struct message reply = answering_receive_udp(other);
    const char *log = log_capture_end(&capture);
    assert_int_equal(question_id(reply.wire), 2);
    assert_int_equal(reply.wire[3] & DNS_MASK_RCODE, DNS_RCODE_REFUSED);
    assert_int_equal(log_occurrences(log, "refusing queries from clients outside -allow "
                                          "client=127.0.0.3:"),
                     1);
    const struct query_sums sums = limits_sums(f);
    assert_int_equal(sums.not_allowed, 1);
    assert_int_equal(sums.rcodes[DNS_RCODE_REFUSED], 1);
    close(good);
    close(other);
    skydns_answering_stop(f);
}

/* Returns how many queries may have been answered since then, at one a second. */
static uint64_t limits_most_since(int64_t begun_ms, unsigned at_once)
{
    return at_once + 1 + (uint64_t)(clock_monotonic_ms() - begun_ms) / 1000;
}

/* Every second query beyond a burst gets an empty response. Other clients lose
 * nothing. */
UNIT_TEST_ON(test_a_rate, struct fixture *f)
{
    unsigned truncated = 0;
    f->options.engine.rate = 1;
    f->options.engine.rate_burst = BURST;
    f->options.has_http = true;
    limits_start(f);
    query_tap_set_clients(answering_tap(f->answering), true);
    int flood = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    int other = limits_client(f, "127.0.0.3", SOCK_DGRAM);
    const int64_t begun_ms = clock_monotonic_ms();
    const struct query_sums sums = limits_flood(f, flood, FLOOD);
    assert_in_range(sums.answered, BURST, limits_most_since(begun_ms, BURST));
    assert_int_equal(sums.answered + sums.limited + sums.limit_drops, FLOOD);
    assert_in_range(sums.limited + 1 - sums.limit_drops, 0, 2);
    for (uint64_t i = 0; i < sums.answered + sums.limited; i++) {
        const struct message reply = answering_receive_udp(flood);
        const bool is_truncated = reply.wire[2] & DNS_FLAG_TC >> 8;
        assert_int_equal(reply.wire[7], !is_truncated); /* answers */
        truncated += is_truncated;
    }
    assert_int_equal(truncated, sums.limited);
    limits_expect_answer(other, 7);
    close(flood);
    close(other);
    answering_stop(f->answering);
    assert_int_equal(limits_counted(f, "127.0.0.2", CLIENT_LIMITED), FLOOD - sums.answered);
    skydns_answering_stop(f);
}

static void limits_retire(void *data, void *block, void (*fn)(void *block))
{
    publisher_retire(data, block, fn);
}

/* A client has half of its namespace's burst at once; what is beyond gets no response over UDP, and
 * waits over TCP. Other namespaces lose nothing. */
UNIT_TEST_ON(test_a_rate_of_a_namespace, struct fixture *f)
{
    struct client_index *clients = client_index_new(
        &(struct client_index_config){.retire = limits_retire, .data = f->publisher});
    const struct ip flooder = ip_from("127.0.0.2"), neighbour = ip_from("127.0.0.3");
    client_index_add(clients, &flooder, slice_str("loud"));
    client_index_add(clients, &neighbour, slice_str("quiet"));
    client_index_commit(clients);
    f->options.engine.rate_namespace = 1;
    f->options.engine.rate_namespace_burst = BURST;
    f->options.has_http = true;
    struct engine_config *config = options_engine_config(&f->options);
    config->clients = clients;
    answering_fill(f);
    answering_open_at(f, 1);
    publisher_configure(f->publisher, config);
    skydns_answering_start(f);
    query_tap_set_clients(answering_tap(f->answering), true);
    int flood = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    int other = limits_client(f, "127.0.0.3", SOCK_DGRAM);
    const int64_t begun_ms = clock_monotonic_ms();
    const struct query_sums sums = limits_flood(f, flood, FLOOD);
    assert_in_range(sums.answered, BURST / 2, limits_most_since(begun_ms, BURST / 2));
    assert_int_equal(sums.answered + sums.namespace_drops, FLOOD);
    for (uint64_t i = 0; i < sums.answered; i++) {
        (void)answering_receive_udp(flood);
    }
    limits_expect_answer(other, 7);
    int tcp = limits_client(f, "127.0.0.2", SOCK_STREAM);
    struct asked_question question;
    for (unsigned i = 0; i < 2; i++) { /* one second each, and that after the flood's */
        question_make(&question, QUESTION_ADDRESS, 0, (uint16_t)i);
        answering_send_tcp(tcp, question.wire, question.len);
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct message reply = answering_receive_tcp(tcp);
        question_make(&question, QUESTION_ADDRESS, 0, (uint16_t)i);
        expect_answer(&question, &reply);
    }
    assert_true(sums.answered + 2 <= limits_most_since(begun_ms, BURST / 2));
    close(tcp);
    close(flood);
    close(other);
    answering_stop(f->answering);
    assert_int_equal(limits_counted(f, "127.0.0.2", CLIENT_LIMITED), sums.namespace_drops);
    skydns_answering_stop(f);
    publisher_configure(f->publisher, options_engine_config(&f->options)); /* without the index */
    client_index_free(clients);
}

/* ---- What is logged and counted ---- */

UNIT_TEST_ON(test_the_log_of_queries, struct fixture *f)
{
    struct log_capture capture;
    struct asked_question question;
    limits_start(f);
    answering_set_query_log(f->answering, (struct query_log_rule){QUERY_LOG_DENIALS, 0});
    int udp = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    int tcp = limits_client(f, "127.0.0.3", SOCK_STREAM);
    log_capture_begin(&capture);
    limits_expect_answer(udp, 1); /* no denial */
    question_make(&question, QUESTION_NO_NAME, 0, 2);
    send_udp(udp, question.wire, question.len);
    (void)answering_receive_udp(udp);
    answering_send_tcp(tcp, question.wire, question.len);
    (void)answering_receive_tcp(tcp);
    close(udp);
    close(tcp);
    answering_stop(f->answering); /* all is written */
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, " query client="), 2);
    assert_int_equal(log_occurrences(log, " query client=127.0.0.2:"), 1);
    assert_int_equal(log_occurrences(log, " query client=127.0.0.3:"), 1);
    assert_int_equal(log_occurrences(log, " transport=udp name="), 1);
    assert_int_equal(log_occurrences(log, " transport=tcp name="), 1);
    assert_int_equal(log_occurrences(log, " rcode=NXDOMAIN "), 2);
    skydns_answering_stop(f);
}

/* With pages, clients are counted, and names sampled, once somebody looks. */
UNIT_TEST_ON(test_counts_of_clients, struct fixture *f)
{
    enum { ANSWERS = 4 * QUERY_TAP_SAMPLE_OF };
    struct name_sample sample;
    f->options.has_http = true;
    limits_start(f);
    int udp = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    struct query_tap *tap = answering_tap(f->answering);
    limits_expect_answer(udp, 1);
    assert_int_equal(limits_counted(f, "127.0.0.2", CLIENT_ANSWERED), 0);
    assert_false(name_samples_take(tap->samples, &sample));
    query_tap_set_clients(tap, true);
    query_tap_set_sampling(tap, true);
    for (uint16_t i = 0; i < ANSWERS; i++) {
        limits_expect_answer(udp, i);
    }
    close(udp);
    answering_stop(f->answering);
    assert_int_equal(limits_counted(f, "127.0.0.2", CLIENT_ANSWERED), ANSWERS);
    unsigned samples = 0;
    const struct ip ip = ip_from("127.0.0.2");
    const struct dname asked = services_name(0);
    for (; name_samples_take(tap->samples, &sample); samples++) {
        assert_int_equal(sample.type, DNS_TYPE_A);
        assert_true(ip_equal(&sample.client, &ip));
        assert_true(dname_equal(&sample.name, &asked));
    }
    assert_in_range(samples, ANSWERS / QUERY_TAP_SAMPLE_OF, ANSWERS / QUERY_TAP_SAMPLE_OF + 1);
    skydns_answering_stop(f);
}

/* With PROMETHEUS_PORT, SkyDNS's own figures are kept. */
UNIT_TEST_ON(test_figures_of_skydns, struct fixture *f)
{
    f->options.prometheus_port = 1; /* nothing here opens it */
    limits_start(f);
    int udp = limits_client(f, "127.0.0.2", SOCK_DGRAM);
    limits_expect_answer(udp, 1);
    limits_expect_answer(udp, 2);
    close(udp);
    answering_stop(f->answering);
    const struct query_sums sums = limits_sums(f);
    assert_int_equal(counter_get(&sums.skydns.systems[SKYDNS_AUTH].requests), 2);
    assert_int_equal(counter_get(&sums.skydns.systems[SKYDNS_REVERSE].requests), 0);
    skydns_answering_stop(f);
}
