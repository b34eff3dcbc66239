/* Connections to nameservers over TLS, with a nameserver on the same loop: how many there are, what
 * becomes of questions when they end, and that each limit holds. */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/dns/dns.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "skydns/upstream/frame_reader_internal.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/upstream/upstream_message.h"
#include "tests/support/certs.h"
#include "tests/support/few_descriptors.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum {
    CLIENTS_MAX = 32,
    HELD_MAX = TLS_POOL_LINKS_MAX * TLS_POOL_ASKED_MAX,
    ASKS_MAX = HELD_MAX + TLS_POOL_WAITING_MAX + 1,
};

/* Only ends a hang. */
static const double timeout_s = 20;

/* A connection at the nameserver. */
struct client {
    struct bed *bed;
    ev_io io; /* fd -1: gone */
    struct tls_session *session;
    struct frame_reader reader;
    size_t queries;
    bool is_shaken;
};

struct held {
    struct client *client;
    size_t len;
    uint8_t query[UPSTREAM_PADDED_MAX];
};

struct question {
    struct bed *bed;
    struct tls_ask ask;
    bool is_replied, is_failed;
    struct question *ask_then, *forget_then; /* in its callback */
    uint8_t query[UPSTREAM_PADDED_MAX];
};

struct bed {
    struct ev_loop *loop;
    struct tls_pool *pool;
    char folder[32];
    struct tls_server *tls;
    ev_io listener;
    struct addr address;
    struct client clients[CLIENTS_MAX];
    size_t accepted;
    bool holds;      /* replies wait for `release` */
    bool closes;     /* after the first query, instead of a reply */
    bool sends_junk; /* instead of replies */
    size_t held_count;
    struct held *held;
    struct question *questions;
    size_t replied, failed;
    struct addr client; /* who asks next: each time another one, but with */
    bool is_one_client;
    struct tls_zone *zone; /* of what is asked next */
};

/* ---- The nameserver ---- */

static void tls_pool_drop(struct client *client)
{
    if (client->io.fd >= 0) {
        ev_io_stop(client->bed->loop, &client->io);
        tls_session_free(client->session);
        close(client->io.fd);
        frame_reader_fini(&client->reader);
        client->io.fd = -1;
    }
}

/* Small enough for the socket's buffer. */
static void tls_pool_reply(struct client *client, const uint8_t *query, size_t len, uint8_t id_xor)
{
    uint8_t frame[2 + UPSTREAM_PADDED_MAX] = {(uint8_t)(len >> 8), (uint8_t)len};
    memcpy(frame + 2, query, len);
    frame[2] ^= id_xor;
    frame[4] |= 0x80;
    if (client->io.fd >= 0) {
        assert_int_equal(tls_session_send(client->session, frame, 2 + len), 2 + len);
    }
}

static bool tls_pool_on_query(void *data, const uint8_t *query, size_t len)
{
    struct client *client = data;
    struct bed *bed = client->bed;
    client->queries++;
    assert_int_equal(len % UPSTREAM_BLOCK, 0);
    if (bed->holds) {
        assert_true(bed->held_count < HELD_MAX);
        struct held *held = &bed->held[bed->held_count++];
        *held = (struct held){.client = client, .len = len};
        memcpy(held->query, query, len);
    } else if (bed->sends_junk) {
        tls_pool_reply(client, query, len, 1);
        tls_pool_reply(client, query, len, 1);
    } else if (!bed->closes) {
        tls_pool_reply(client, query, len, 0);
    }
    return true;
}

static void tls_pool_release(struct bed *bed)
{
    while (bed->held_count > 0) {
        const struct held *held = &bed->held[--bed->held_count];
        tls_pool_reply(held->client, held->query, held->len, 0);
    }
}

static void tls_pool_on_client(struct ev_loop *loop, ev_io *io, int revents)
{
    struct client *client = io->data;
    struct err err;
    enum tls_want want = TLS_WANT_NOTHING;
    uint8_t bytes[16 * 1024];
    if (!client->is_shaken) {
        if (tls_session_handshake(client->session, &want, &err) < 0) {
            tls_pool_drop(client);
            return;
        }
        client->is_shaken = want == TLS_WANT_NOTHING;
    }
    while (client->is_shaken) {
        ssize_t n = tls_session_recv(client->session, bytes, sizeof(bytes));
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            tls_pool_drop(client);
            return;
        }
        assert_true(
            frame_reader_take(&client->reader, bytes, (size_t)n, tls_pool_on_query, client));
        if (client->bed->closes) {
            tls_pool_drop(client);
            return;
        }
    }
}

static void tls_pool_on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
    struct bed *bed = io->data;
    assert_true(bed->accepted < CLIENTS_MAX);
    struct client *client = &bed->clients[bed->accepted];
    int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd >= 0);
    struct ssl_ctx_st *context = tls_server_hold(bed->tls);
    client->bed = bed;
    client->session = tls_session_accept(context, fd, "dot");
    tls_server_release(context);
    frame_reader_init(&client->reader);
    ev_io_init(&client->io, tls_pool_on_client, fd, EV_READ);
    client->io.data = client;
    ev_io_start(loop, &client->io);
    bed->accepted++;
}

/* ---- The bed ---- */

static void new_pool(struct bed *bed, size_t connections_max)
{
    char ca[64];
    struct err err;
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", bed->folder); /* fits */
    const struct tls_pool_config config = {.loop = bed->loop,
                                           .connections_max = connections_max,
                                           .files.ca = ca,
                                           .refresh_s = TLS_POOL_REFRESH_S};
    tls_pool_free(bed->pool);
    assert_int_equal(tls_pool_new(&config, &bed->pool, &err), 0);
}

static void tls_pool_setup(struct bed *bed)
{
    char cert[64], key[64];
    struct err err;
    log_set_level(LOG_LEVEL_ERROR);
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    bed->client = loopback_addr(1);
    bed->held = test_calloc(HELD_MAX, sizeof(*bed->held));
    bed->questions = test_calloc(ASKS_MAX, sizeof(*bed->questions));
    memcpy(bed->folder, "/tmp/test_tls_pool.XXXXXX", sizeof("/tmp/test_tls_pool.XXXXXX"));
    assert_non_null(mkdtemp(bed->folder));
    struct certs_ca *ca = certs_ca_new(bed->folder, "ca");
    certs_issue(ca, bed->folder,
                &(struct certs_leaf){.name = "leaf", .names = "DNS:*.dns.example,IP:127.0.0.1"});
    certs_ca_free(ca);
    (void)snprintf(cert, sizeof(cert), "%s/leaf.crt", bed->folder); /* fits */
    (void)snprintf(key, sizeof(key), "%s/leaf.key", bed->folder);   /* fits */
    const struct tls_server_files files = {.cert = cert, .key = key};
    assert_that(tls_server_new(&files, &bed->tls, &err) >= 0, "%s", err.msg);
    ev_io_init(&bed->listener, tls_pool_on_accept, loopback_listen(&bed->address), EV_READ);
    bed->listener.data = bed;
    ev_io_start(bed->loop, &bed->listener);
    new_pool(bed, TLS_POOL_CONNECTIONS_MAX);
}

static void tls_pool_remove_file(const struct bed *bed, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%s", bed->folder, name); /* fits */
    (void)unlink(path);                                             /* it may not be there */
}

static void tls_pool_teardown(struct bed *bed)
{
    tls_pool_free(bed->pool);
    for (size_t i = 0; i < bed->accepted; i++) {
        tls_pool_drop(&bed->clients[i]);
    }
    if (ev_is_active(&bed->listener)) {
        ev_io_stop(bed->loop, &bed->listener);
        close(bed->listener.fd);
    }
    tls_server_free(bed->tls);
    ev_loop_destroy(bed->loop);
    tls_pool_remove_file(bed, "ca.crt");
    tls_pool_remove_file(bed, "leaf.crt");
    tls_pool_remove_file(bed, "leaf.key");
    (void)rmdir(bed->folder); /* what is left does no harm */
    test_free(bed->held);
    test_free(bed->questions);
}

static int tls_pool_before_tests(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    return 0;
}

UNIT_FIXTURE(struct bed, tls_pool_setup, tls_pool_teardown)
UNIT_TESTS_ONCE(tls_pool_before_tests, NULL)
UNIT_TESTS_HAVE_THREADS

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int revents)
{
    fail_msg("it takes too long");
}

static void tls_pool_run_until(struct bed *bed, const size_t *count, size_t least)
{
    ev_timer timeout;
    ev_timer_init(&timeout, on_timeout, timeout_s, 0.);
    ev_timer_start(bed->loop, &timeout);
    while (*count < least) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    ev_timer_stop(bed->loop, &timeout);
}

static void run_until_connections(struct bed *bed, size_t want)
{
    ev_timer timeout;
    ev_timer_init(&timeout, on_timeout, timeout_s, 0.);
    ev_timer_start(bed->loop, &timeout);
    while (counter_get(&tls_pool_counts(bed->pool)->connections) != want) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    ev_timer_stop(bed->loop, &timeout);
}

/* ---- Questions ---- */

static struct nameserver server_of(const struct bed *bed, const char *name)
{
    char address[ADDR_TEXT_MAX], text[NAMESERVER_TEXT_MAX];
    struct nameserver server;
    struct err err;
    (void)snprintf(text, sizeof(text), "tls://%s#%s", addr_format(&bed->address, address),
                   name); /* fits */
    assert_int_equal(nameserver_parse(text, &server, &err), 0);
    return server;
}

static void tls_pool_on_done(void *data, const uint8_t *message, size_t len);

static enum tls_pool_start upstream_tls_pool_start(struct bed *bed, size_t number,
                                                   const char *server_name, bool is_urgent)
{
    struct question *q = &bed->questions[number];
    const struct nameserver server = server_of(bed, server_name);
    struct upstream_question question = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    char name[32];
    (void)snprintf(name, sizeof(name), "q%zu.test", number); /* fits */
    assert_true(dname_from_text(slice_str(name), &question.name));
    q->bed = bed;
    q->is_replied = q->is_failed = false;
    size_t len = upstream_query_pad(q->query, upstream_query_write(&question, 0, q->query));
    q->ask = (struct tls_ask){.query = q->query,
                              .len = len,
                              .is_urgent = is_urgent,
                              .client = bed->client,
                              .zone = bed->zone,
                              .done = tls_pool_on_done,
                              .data = q};
    bed->client.v4.sin_addr.s_addr += bed->is_one_client ? 0 : 1;
    return tls_pool_ask(bed->pool, &server, &q->ask);
}

static bool tls_pool_try_ask(struct bed *bed, size_t number, const char *server_name,
                             bool is_urgent)
{
    return upstream_tls_pool_start(bed, number, server_name, is_urgent) == TLS_POOL_ASKED;
}

static void upstream_tls_pool_ask(struct bed *bed, size_t number)
{
    assert_true(tls_pool_try_ask(bed, number, "a.dns.example", false));
}

static void tls_pool_on_done(void *data, const uint8_t *message, size_t len)
{
    struct question *q = data;
    struct bed *bed = q->bed;
    assert_false(q->is_replied || q->is_failed);
    q->is_replied = message != NULL;
    q->is_failed = message == NULL;
    if (message) { /* its own question */
        assert_int_equal(len, q->ask.len);
        assert_memory_equal(message + 12, q->query + 12, len - 12);
    }
    bed->replied += q->is_replied;
    bed->failed += q->is_failed;
    if (q->forget_then) {
        tls_pool_forget(&q->forget_then->ask);
    }
    if (q->ask_then) {
        upstream_tls_pool_ask(bed, (size_t)(q->ask_then - bed->questions));
    }
}

/* ---- Tests ---- */

/* One client has half of the places: of those that wait, and of all. Another one finds some. */
UNIT_TEST_ON(test_share_of_a_client, struct bed *bed)
{
    size_t number = 0;
    bed->holds = bed->is_one_client = true;
    while (upstream_tls_pool_start(bed, number, "a.dns.example", false) == TLS_POOL_ASKED) {
        number++;
    }
    assert_int_equal(number, TLS_POOL_WAITING_MAX / 2); /* until it is connected */
    tls_pool_run_until(bed, &bed->held_count, number);
    while (number < TLS_POOL_TAKEN_MAX / 2) {
        if (upstream_tls_pool_start(bed, number, "a.dns.example", false) == TLS_POOL_ASKED) {
            tls_pool_run_until(bed, &bed->held_count, ++number);
        } else {
            ev_run(bed->loop, EVRUN_ONCE); /* until there is another connection */
        }
    }
    assert_int_equal(upstream_tls_pool_start(bed, number, "a.dns.example", false), TLS_POOL_FULL);
    assert_true(counter_get(&tls_pool_counts(bed->pool)->refused) >= 2);
    assert_int_equal(upstream_tls_pool_start(bed, number, "a.dns.example", true),
                     TLS_POOL_ASKED); /* a probe */
    bed->client.v4.sin_addr.s_addr ^= 1;
    upstream_tls_pool_ask(bed, number + 1);
    tls_pool_run_until(bed, &bed->held_count, number + 2); /* at once, beside all that */
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, number + 2);
    assert_int_equal(upstream_tls_pool_start(bed, 0, "a.dns.example", false),
                     TLS_POOL_ASKED); /* places come back */
    assert_int_equal(bed->failed, 0);
}

/* The most that one nameserver gets: eight connections with 256 questions each, and 1,024 that
 * wait; the next is refused. Then all are answered, the last one first. */
UNIT_TEST_ON(test_limits_of_a_nameserver, struct bed *bed)
{
    size_t number = 0;
    bed->holds = true;
    while (bed->held_count < HELD_MAX) {
        size_t step = HELD_MAX - number < 16 ? HELD_MAX - number : 16;
        for (size_t i = 0; i < step; i++) {
            upstream_tls_pool_ask(bed, number++);
        }
        tls_pool_run_until(bed, &bed->held_count, number);
    }
    assert_int_equal(bed->accepted, TLS_POOL_LINKS_MAX);
    for (size_t i = 0; i < TLS_POOL_LINKS_MAX; i++) {
        assert_int_equal(bed->clients[i].queries, TLS_POOL_ASKED_MAX);
    }
    for (size_t i = 0; i < TLS_POOL_WAITING_MAX; i++) {
        upstream_tls_pool_ask(bed, number++);
    }
    assert_false(tls_pool_try_ask(bed, number, "a.dns.example", false));
    assert_int_equal(bed->held_count, HELD_MAX);
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, number);
    assert_int_equal(bed->accepted, TLS_POOL_LINKS_MAX);
    assert_int_equal(bed->failed, 0);
    const struct tls_pool_counts *counts = tls_pool_counts(bed->pool);
    assert_int_equal(counter_get(&counts->full) + counter_get(&counts->resumed), 8);
}

/* Asks each of so many nameservers one question more, from `number` on; returns how many were
 * not refused. All reach their nameservers. */
static size_t ask_each(struct bed *bed, size_t first, size_t count, size_t number)
{
    size_t asked = 0;
    for (size_t i = first; i < first + count; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%zu.dns.example", i); /* fits */
        const enum tls_pool_start started = upstream_tls_pool_start(bed, number + i, name, false);
        assert_int_not_equal(started, TLS_POOL_FAILING);
        asked += started == TLS_POOL_ASKED;
    }
    tls_pool_run_until(bed, &bed->held_count, bed->held_count + asked);
    return asked;
}

/* Nameservers that are slow: one client holds half of all connections, then two of them a third
 * each; an idle one that another has left is nobody's to take beyond that. */
UNIT_TEST_ON(test_share_of_connections_of_a_client, struct bed *bed)
{
    new_pool(bed, 12);
    bed->holds = bed->is_one_client = true;
    assert_int_equal(ask_each(bed, 0, 12, 0), 6);
    assert_int_equal(ask_each(bed, 0, 12, 20), 6); /* on those that it holds */
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_int_equal(ask_each(bed, 6, 6, 40), 3);
    bed->holds = false; /* the second one's questions are answered */
    const size_t replied = bed->replied;
    for (size_t i = 0; i < 3; i++) {
        const struct held *held = &bed->held[--bed->held_count];
        tls_pool_reply(held->client, held->query, held->len, 0);
    }
    tls_pool_run_until(bed, &bed->replied, replied + 3);
    bed->holds = true;
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_int_equal(ask_each(bed, 6, 3, 60), 0); /* their connections are idle now */
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_int_equal(ask_each(bed, 6, 3, 80), 3);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 0);
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, replied + 18);
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_int_equal(upstream_tls_pool_start(bed, 100, "n11.dns.example", false),
                     TLS_POOL_ASKED); /* shares return */
    tls_pool_run_until(bed, &bed->replied, replied + 19);
    assert_int_equal(bed->failed, 0);
}

/* The same for a zone, whoever asks. */
UNIT_TEST_ON(test_share_of_connections_of_a_zone, struct bed *bed)
{
    struct tls_zone slow = {0}, other = {0};
    new_pool(bed, 12);
    bed->holds = true;
    bed->zone = &slow;
    assert_int_equal(ask_each(bed, 0, 12, 0), 6);
    assert_int_equal(slow.connections, 6);
    bed->zone = &other;
    assert_int_equal(ask_each(bed, 6, 3, 20), 3);
    for (size_t i = 0; i < 40; i++) { /* what is forgotten holds nothing */
        tls_pool_forget(&bed->questions[i].ask);
    }
    assert_int_equal(slow.connections + other.connections, 0);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 0);
}

/* Beyond its share, a client's questions wait where another's go, and hold nothing there: they are
 * asked again when the connection makes room. */
UNIT_TEST_ON(test_a_connection_that_nobody_holds_makes_room, struct bed *bed)
{
    const struct addr greedy = bed->client;
    new_pool(bed, 2);
    bed->holds = bed->is_one_client = true;
    assert_true(tls_pool_try_ask(bed, 0, "a.dns.example", false));
    tls_pool_run_until(bed, &bed->held_count, 1);
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_true(tls_pool_try_ask(bed, 1, "b.dns.example", false));
    tls_pool_run_until(bed, &bed->held_count, 2);
    bed->client = greedy;
    assert_true(tls_pool_try_ask(bed, 2, "b.dns.example", false));
    tls_pool_run_until(bed, &bed->held_count, 3);
    assert_int_equal(upstream_tls_pool_start(bed, 3, "c.dns.example", false), TLS_POOL_FULL);
    tls_pool_forget(&bed->questions[1].ask);
    bed->client.v4.sin_addr.s_addr ^= 1;
    assert_true(tls_pool_try_ask(bed, 4, "c.dns.example", false));
    tls_pool_run_until(bed, &bed->held_count, 4);
    assert_true(tls_ask_is_starved(&bed->questions[2].ask)); /* b has no connection */
    tls_pool_forget(&bed->questions[4].ask);
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, 1);
    assert_int_equal(bed->failed, 0);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 0);
}

/* Another is opened when that one has many. */
UNIT_TEST_ON(test_few_questions_share_a_connection, struct bed *bed)
{
    bed->holds = true;
    for (size_t i = 0; i < TLS_POOL_BUSY - 1; i++) {
        upstream_tls_pool_ask(bed, i);
    }
    tls_pool_run_until(bed, &bed->held_count, TLS_POOL_BUSY - 1);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->connections), 1);
    upstream_tls_pool_ask(bed,
                          TLS_POOL_BUSY - 1); /* a server that is slow may do better on another */
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->connections), 2);
    tls_pool_run_until(bed, &bed->held_count, TLS_POOL_BUSY);
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, TLS_POOL_BUSY);
}

/* At the limit of all, an idle connection makes room; none that is in use does. */
UNIT_TEST_ON(test_limit_of_all, struct bed *bed)
{
    new_pool(bed, 2);
    assert_true(tls_pool_try_ask(bed, 0, "a.dns.example", false));
    assert_true(tls_pool_try_ask(bed, 1, "b.dns.example", false));
    tls_pool_run_until(bed, &bed->replied, 2);
    assert_true(tls_pool_try_ask(bed, 2, "c.dns.example", false));
    tls_pool_run_until(bed, &bed->replied, 3);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->connections), 2);
    assert_int_equal(bed->accepted, 3);
    bed->holds = true;
    assert_true(tls_pool_try_ask(bed, 3, "b.dns.example", false));
    assert_true(tls_pool_try_ask(bed, 4, "c.dns.example", false));
    tls_pool_run_until(bed, &bed->held_count, 2);
    assert_true(tls_pool_try_ask(bed, 5, "d.dns.example", false));
    ev_run(bed->loop, EVRUN_NOWAIT);
    assert_int_equal(bed->accepted, 3);
    bed->holds = false;
    tls_pool_release(bed);
    /* The first that has nothing more to answer gives way to the one that waits. */
    tls_pool_run_until(bed, &bed->replied, 6);
    assert_int_equal(bed->accepted, 4);
    assert_int_equal(bed->failed, 0);
}

/* A question that waits for us is no failure of the upstream; one that waits for the upstream may
 * be. */
UNIT_TEST_ON(test_who_is_waited_for, struct bed *bed)
{
    new_pool(bed, 1);
    bed->holds = true;
    upstream_tls_pool_ask(bed, 0);
    assert_false(tls_ask_is_starved(&bed->questions[0].ask)); /* it connects */
    tls_pool_run_until(bed, &bed->held_count, 1);
    assert_false(tls_ask_is_starved(&bed->questions[0].ask)); /* it has the question */
    assert_true(tls_pool_try_ask(bed, 1, "b.dns.example", false));
    assert_true(tls_ask_is_starved(&bed->questions[1].ask)); /* the only connection is taken */
    size_t number = 2;
    for (; number <= TLS_POOL_ASKED_MAX; number++) {
        upstream_tls_pool_ask(bed, number);
    }
    upstream_tls_pool_ask(bed, number);
    assert_true(tls_ask_is_starved(&bed->questions[number].ask)); /* it takes no more */
    tls_pool_forget(&bed->questions[number].ask);
    assert_false(tls_ask_is_starved(&bed->questions[number].ask));
}

/* Questions asked meanwhile, and until the next attempt, learn that we lack descriptors. */
UNIT_TEST_ON(test_no_descriptor_is_no_failure, struct bed *bed)
{
    upstream_tls_pool_ask(bed, 0); /* reads the CAs and starts the thread */
    tls_pool_run_until(bed, &bed->replied, 1);
    few_descriptors_begin();
    assert_int_equal(upstream_tls_pool_start(bed, 1, "b.dns.example", false), TLS_POOL_ASKED);
    ev_run(bed->loop, EVRUN_NOWAIT); /* and not until the next attempt */
    assert_int_equal(bed->failed, 1);
    assert_true(bed->questions[1].ask.is_starved);
    assert_int_equal(upstream_tls_pool_start(bed, 2, "b.dns.example", false), TLS_POOL_FULL);
    few_descriptors_end();
    assert_int_equal(upstream_tls_pool_start(bed, 3, "b.dns.example", true), TLS_POOL_ASKED);
    tls_pool_run_until(bed, &bed->replied, 2);
    assert_int_equal(upstream_tls_pool_start(bed, 4, "b.dns.example", false), TLS_POOL_ASKED);
    tls_pool_run_until(bed, &bed->replied, 3);
}

/* Asked again once; then it fails, and what follows is refused until the time is over. */
UNIT_TEST_ON(test_connections_that_answer_nothing, struct bed *bed)
{
    bed->closes = true;
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->failed, 1);
    assert_int_equal(bed->accepted, 2);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 2);
    assert_false(tls_pool_try_ask(bed, 1, "a.dns.example", false));
    assert_true(tls_pool_try_ask(bed, 2, "b.dns.example", false)); /* another nameserver */
    /* One that shall find out does not wait. */
    bed->closes = false;
    assert_true(tls_pool_try_ask(bed, 3, "a.dns.example", true));
    tls_pool_run_until(bed, &bed->replied, 1);
    upstream_tls_pool_ask(bed, 4);
    tls_pool_run_until(bed, &bed->replied, 2);
}

/* Open questions are asked again when a connection that had answered ends. */
UNIT_TEST_ON(test_a_lost_connection, struct bed *bed)
{
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->replied, 1);
    bed->holds = true;
    for (size_t i = 1; i < 20; i++) {
        upstream_tls_pool_ask(bed, i);
    }
    tls_pool_run_until(bed, &bed->held_count, 19);
    bed->holds = false;
    bed->held_count = 0;
    tls_pool_drop(&bed->clients[0]);
    tls_pool_run_until(bed, &bed->replied, 20);
    assert_int_equal(bed->accepted, 2);
    assert_int_equal(bed->failed, 0);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 0);
}

/* Replies to what was not asked: ignored while they may be late, then the end. */
UNIT_TEST_ON(test_junk, struct bed *bed)
{
    bed->sends_junk = true;
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->failed, 1);
    assert_int_equal(bed->replied, 0);
    assert_int_equal(bed->accepted, 2);
}

UNIT_TEST_ON(test_forgotten, struct bed *bed)
{
    upstream_tls_pool_ask(bed, 0); /* while it connects */
    tls_pool_forget(&bed->questions[0].ask);
    tls_pool_forget(&bed->questions[0].ask);
    bed->holds = true;
    upstream_tls_pool_ask(bed, 1);
    upstream_tls_pool_ask(bed, 2);
    tls_pool_run_until(bed, &bed->held_count, 2);
    tls_pool_forget(&bed->questions[1].ask); /* its late reply is none to another */
    bed->holds = false;
    tls_pool_release(bed);
    tls_pool_run_until(bed, &bed->replied, 1);
    assert_true(bed->questions[2].is_replied);
    upstream_tls_pool_ask(bed, 3);
    tls_pool_run_until(bed, &bed->replied, 2);
    assert_false(bed->questions[0].is_replied || bed->questions[1].is_replied);
    assert_int_equal(bed->accepted, 1);
}

/* A nameserver that reads nothing: what is not sent yet has a limit, also if every question is
 * forgotten at once; then questions wait for another connection. */
UNIT_TEST_ON(test_a_server_that_does_not_read, struct bed *bed)
{
    enum { ENOUGH = 100 * 1000 }; /* questions: 38 MB, more than the sockets' buffers hold */
    size_t sent = 0;
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->replied, 1);
    ev_io_stop(bed->loop, &bed->clients[0].io);
    ev_io_stop(bed->loop, &bed->listener);
    do {
        upstream_tls_pool_ask(bed, 1);
        ev_run(bed->loop, EVRUN_NOWAIT);
        bool is_sent = bed->questions[1].ask.state == TLS_ASK_SENT;
        sent += is_sent;
        tls_pool_forget(&bed->questions[1].ask);
        if (!is_sent) {
            break;
        }
    } while (sent < ENOUGH);
    assert_in_range(sent, TLS_POOL_ASKED_MAX, ENOUGH - 1);
    ev_io_start(bed->loop, &bed->listener);
    upstream_tls_pool_ask(bed, 2);
    tls_pool_run_until(bed, &bed->replied, 2);
    assert_int_equal(bed->accepted, 2);
}

/* In a callback: others are forgotten, and asked, with replies and with failures. */
UNIT_TEST_ON(test_from_callbacks, struct bed *bed)
{
    struct question *q = bed->questions;
    q[0].forget_then = &q[1];
    q[2].ask_then = &q[3];
    for (size_t i = 0; i < 3; i++) {
        upstream_tls_pool_ask(bed, i);
    }
    tls_pool_run_until(bed, &bed->replied, 3);
    assert_false(q[1].is_replied);
    assert_true(q[3].is_replied);
    bed->closes = true;
    for (size_t i = 4; i < 7; i++) {
        q[i].forget_then = &q[i < 6 ? i + 1 : 4];
        upstream_tls_pool_ask(bed, i);
    }
    tls_pool_run_until(bed, &bed->failed,
                       2); /* in whatever order, the first one's next is forgotten */
    run_until_connections(bed, 0);
    assert_int_equal(bed->failed, 2);
}

/* More than are remembered: each fails for itself. */
UNIT_TEST_ON(test_many_nameservers, struct bed *bed)
{
    enum { MANY = TLS_POOL_PEERS_MAX + 50 };
    ev_io_stop(bed->loop, &bed->listener);
    close(bed->listener.fd);
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%zu.dns.example", i); /* fits */
        assert_true(tls_pool_try_ask(bed, i, name, false));
        tls_pool_run_until(bed, &bed->failed, i + 1);
    }
    assert_false(tls_pool_try_ask(bed, MANY, "n1073.dns.example", false)); /* just failed */
    assert_true(tls_pool_try_ask(bed, MANY, "n0.dns.example", false));     /* forgotten */
    tls_pool_run_until(bed, &bed->failed, MANY + 1);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->connections), 0);
}

/* With questions that wait, a handshake under way, and questions without a reply. */
UNIT_TEST_ON(test_free_at_any_time, struct bed *bed)
{
    bed->holds = true;
    for (unsigned turns = 0; turns < 12; turns++) {
        new_pool(bed, TLS_POOL_CONNECTIONS_MAX);
        upstream_tls_pool_ask(bed, 0);
        for (unsigned i = 0; i < turns; i++) {
            ev_run(bed->loop, EVRUN_NOWAIT);
        }
        bed->held_count = 0;
    }
    new_pool(bed, TLS_POOL_CONNECTIONS_MAX);
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->held_count, 1);
    tls_pool_free(bed->pool);
    bed->pool = NULL;
    assert_int_equal(bed->replied + bed->failed, 0);
}

UNIT_TEST_ON(test_a_ca_file_that_is_none, struct bed *bed)
{
    struct tls_pool *pool;
    struct err err;
    const struct tls_pool_config config = {.loop = bed->loop, .files.ca = "/nonexistent/ca.crt"};
    assert_int_equal(tls_pool_new(&config, &pool, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/ca.crt"));
}

/* Nothing was asked on it: no failure. */
UNIT_TEST_ON(test_an_idle_connection_that_the_server_closes, struct bed *bed)
{
    upstream_tls_pool_ask(bed, 0);
    tls_pool_run_until(bed, &bed->replied, 1);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->connections), 1);
    tls_pool_drop(&bed->clients[0]);
    run_until_connections(bed, 0);
    assert_int_equal(counter_get(&tls_pool_counts(bed->pool)->failed), 0);
}
