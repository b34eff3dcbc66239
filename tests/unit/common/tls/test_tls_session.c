/* tls_session: protocols, records cut anywhere, ends of all kinds, big sends, and clients that are
 * hostile or no TLS clients at all. TLS 1.2 and what an honest client never does: OpenSSL itself.
 */
#include "common/tls/tls_session.h"

#include <errno.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/slice.h"
#include "tests/support/tls_pair.h"
#include "tests/support/unit_test.h"

static struct tls_folder folder;
static struct tls_server *server;
static struct tls_client *client;

/* ---- OpenSSL's memory: that of the server's side while is_servers ---- */

static bool is_servers;
static size_t servers_bytes;

struct block {
    size_t size;
    size_t is_servers;
};

static void *count_malloc(size_t size, const char *file, int line)
{
    struct block *block = xmalloc(sizeof(*block) + size);
    *block = (struct block){size, is_servers};
    servers_bytes += is_servers ? size : 0;
    return block + 1;
}

static void count_free(void *p, const char *file, int line)
{
    if (p) {
        CLEANUP_FREE struct block *block = (struct block *)p - 1;
        servers_bytes -= block->is_servers ? block->size : 0;
    }
}

static void *count_realloc(void *p, size_t size, const char *file, int line)
{
    void *bigger = count_malloc(size, file, line);
    if (p) {
        size_t old = ((struct block *)p - 1)->size;
        memcpy(bigger, p, old < size ? old : size);
        count_free(p, file, line);
    }
    return bigger;
}

/* ---- Fixture ---- */

static int tls_session_set_up(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    tls_folder_make(&folder);
    server = tls_folder_server(&folder, NULL, NULL);
    client = tls_folder_client(&folder, NULL);
    return 0;
}

static int tls_session_tear_down(void **state)
{
    tls_server_free(server);
    tls_client_free(client);
    tls_folder_remove(&folder);
    return 0;
}

static int tls_session_before_tests(void **state)
{
    if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1) {
        return 1; /* OpenSSL has allocated already */
    }
    return tls_session_set_up(state);
}

UNIT_TESTS_ONCE(tls_session_before_tests, tls_session_tear_down)

static void tls_session_begin(struct tls_pair *pair)
{
    tls_pair_begin(pair, &(struct tls_pair_config){.server = server, .client = client});
}

static void recv_fails(struct tls_session *session, int error)
{
    char byte;
    assert_int_equal(tls_session_recv(session, &byte, 1), -1);
    assert_int_equal(errno, error);
}

/* ---- A client that is OpenSSL itself, in place of the pair's ---- */

struct raw {
    struct tls_pair pair; /* without a client */
    SSL_CTX *context;
    SSL *ssl;
};

static void raw_open(struct raw *raw, int version)
{
    tls_pair_open(&raw->pair, &(struct tls_pair_config){.server = server, .protocols = "dot"});
    raw->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(raw->context);
    assert_int_equal(SSL_CTX_set_min_proto_version(raw->context, version), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(raw->context, version), 1);
    SSL_CTX_set_mode(raw->context, SSL_MODE_ENABLE_PARTIAL_WRITE);
    raw->ssl = SSL_new(raw->context);
    assert_non_null(raw->ssl);
    assert_int_equal(SSL_set_fd(raw->ssl, raw->pair.fds[1]), 1);
    SSL_set_connect_state(raw->ssl);
}

static void raw_close(struct raw *raw)
{
    SSL_free(raw->ssl);
    SSL_CTX_free(raw->context);
    tls_pair_close(&raw->pair);
}

/* Returns the server's result: 0, or the error of its handshake. */
static int raw_handshake(struct raw *raw)
{
    enum tls_want want = TLS_WANT_READ;
    int rc = 0;
    for (unsigned i = 0; i < 8 && rc == 0 && want != TLS_WANT_NOTHING; i++) {
        (void)SSL_do_handshake(raw->ssl); /* told by the server's side */
        rc = tls_session_handshake(raw->pair.server, &want, &raw->pair.server_err);
    }
    if (rc == 0) {
        assert_int_equal(want, TLS_WANT_NOTHING);
        assert_int_equal(SSL_do_handshake(raw->ssl), 1);
    }
    return rc;
}

static void raw_begin(struct raw *raw, int version)
{
    raw_open(raw, version);
    assert_that(raw_handshake(raw) == 0, "%s", raw->pair.server_err.msg);
    assert_int_equal(SSL_version(raw->ssl), version);
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* ---- Protocols and versions ---- */

UNIT_TEST(test_protocols)
{
    static const struct {
        const char *ours, *offered;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"dot", "dot", "dot"},
        {"dot", NULL, ""},
        {"dot", "h2", NULL},
        {"dot", "h2 dot", "dot"},
        {"h2 http/1.1", "http/1.1", "http/1.1"},
        {"h2 http/1.1", "http/1.1 h2", "h2"}, /* the server's order */
        {"h2 http/1.1", "http/1.0", NULL},
        {"h2 http/1.1", "", ""},
        {"", "h2", ""},
        {NULL, "h2", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(tls_pair_close) struct tls_pair pair;
        tls_pair_open(&pair, &(struct tls_pair_config){.server = server,
                                                       .client = client,
                                                       .protocols = cases[i].ours,
                                                       .protocol = cases[i].offered});
        if (tls_pair_handshake(&pair)) {
            assert_non_null(cases[i].want);
            assert_string_equal(tls_session_protocol(pair.server), cases[i].want);
            assert_string_equal(tls_session_protocol(pair.client), cases[i].want);
        } else {
            assert_null(cases[i].want);
            assert_string_equal(pair.server_err.msg,
                                "TLS: the client offers only other protocols (ALPN)");
            assert_string_equal(pair.client_err.msg,
                                "TLS: the server speaks none of the protocols offered (ALPN)");
            assert_int_equal(pair.client_err.code, ERR_REFUSED);
        }
    }
}

UNIT_TEST(test_versions)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct raw raw;
        char out[16];
        raw_begin(&raw, versions[i]);
        assert_int_equal(SSL_write(raw.ssl, "question", 8), 8);
        assert_int_equal(tls_session_recv(raw.pair.server, out, sizeof(out)), 8);
        assert_int_equal(tls_session_send(raw.pair.server, "answer", 6), 6);
        assert_int_equal(SSL_read(raw.ssl, out, sizeof(out)), 6);
        assert_true(SSL_session_reused(raw.ssl) == 0);
        SSL_SESSION *ticket = SSL_get1_session(raw.ssl);
        assert_int_equal(SSL_shutdown(raw.ssl), 0); /* or OpenSSL would not resume it */
        raw_close(&raw);

        raw_open(&raw, versions[i]);
        assert_int_equal(SSL_set_session(raw.ssl, ticket), 1);
        assert_int_equal(raw_handshake(&raw), 0);
        assert_true(tls_session_is_resumed(raw.pair.server));
        SSL_SESSION_free(ticket);
        raw_close(&raw);
    }
}

static void raw_is_refused(struct raw *raw, const char *want)
{
    assert_int_equal(raw_handshake(raw), ERR_REFUSED);
    assert_that(strstr(raw->pair.server_err.msg, want), "`%s` not in `%s`", want,
                raw->pair.server_err.msg);
    raw_close(raw);
}

UNIT_TEST(test_clients_without_common_ground)
{
    static int p521[] = {NID_secp521r1};
    struct raw raw;
    raw_open(&raw, TLS1_1_VERSION);
    SSL_set_security_level(raw.ssl, 0);
    raw_is_refused(&raw, "the client does not speak version 1.2 or later");

    raw_open(&raw, TLS1_2_VERSION); /* no forward secrecy; no authenticated cipher */
    assert_int_equal(SSL_set_cipher_list(raw.ssl, "AES128-GCM-SHA256:ECDHE-ECDSA-AES128-SHA"), 1);
    raw_is_refused(&raw, "no cipher in common");

    raw_open(&raw, TLS1_3_VERSION);
    assert_int_equal(SSL_set1_groups(raw.ssl, p521, 1), 1);
    raw_is_refused(&raw, "no cipher in common");
}

UNIT_TEST(test_clients_that_speak_something_else)
{
    static const struct slice cases[] = {
        {"GET / HTTP/1.1\r\nhost: x\r\n\r\n", 27},
        {"CONNECT x:443 HTTP/1.1\r\n\r\n", 26},
        {"\0\x1d\x12\x34\x01\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1", 35},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(tls_pair_close) struct tls_pair pair;
        enum tls_want want;
        tls_pair_open(&pair, &(struct tls_pair_config){.server = server});
        assert_int_equal(send(pair.fds[1], cases[i].ptr, cases[i].len, 0), cases[i].len);
        assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), ERR_REFUSED);
        assert_non_null(strstr(pair.server_err.msg, "the client does not speak TLS"));
        assert_ptr_not_equal(tls_session_failure(pair.server), NULL);
        recv_fails(pair.server, EPROTO);
        assert_int_equal(tls_session_send(pair.server, "x", 1), -1);
        assert_int_equal(errno, EPROTO);
    }
}

UNIT_TEST(test_client_that_leaves_in_the_handshake)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    enum tls_want want;
    tls_pair_open(&pair, &(struct tls_pair_config){.server = server, .client = client});
    assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), 0);
    assert_int_equal(want, TLS_WANT_READ);
    assert_int_equal(tls_session_handshake(pair.client, &want, &pair.client_err), 0);
    assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), 0);
    assert_int_equal(want, TLS_WANT_READ);
    assert_int_equal(shutdown(pair.fds[1], SHUT_WR), 0);
    assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), ERR_UNAVAILABLE);
    assert_string_equal(pair.server_err.msg, "connection closed by the peer");
}

/* ---- Data ---- */

/* A wire that is cut after so many of the client's bytes; the server looks after each part. */
struct cut_wire {
    struct raw raw;
    BIO *wire; /* the client's writes */
    size_t cut;
    size_t sent;
    enum tls_want want;
    char got[64];
    size_t got_len;
};

static void receive_and_check(struct cut_wire *w)
{
    struct tls_pair *pair = &w->raw.pair;
    if (w->want != TLS_WANT_NOTHING) {
        assert_int_equal(tls_session_handshake(pair->server, &w->want, &pair->server_err), 0);
    }
    ssize_t n = w->want == TLS_WANT_NOTHING ? 1 : 0;
    while (n > 0) {
        n = tls_session_recv(pair->server, w->got + w->got_len, sizeof(w->got) - w->got_len);
        assert_true(n > 0 || errno == EAGAIN);
        w->got_len += n > 0 ? (size_t)n : 0;
    }
}

static void deliver_in_two_parts(struct cut_wire *w)
{
    uint8_t bytes[4096];
    int read = BIO_read(w->wire, bytes, sizeof(bytes));
    size_t len = read > 0 ? (size_t)read : 0;
    for (size_t at = 0; at < len;) {
        bool is_cut_here = w->sent < w->cut && w->cut - w->sent < len - at;
        size_t part = is_cut_here ? w->cut - w->sent : len - at;
        assert_int_equal(send(w->raw.pair.fds[1], bytes + at, part, 0), part);
        at += part;
        w->sent += part;
        receive_and_check(w);
    }
}

/* Returns how many bytes the client has sent. */
static size_t talk_over_cut_wire(int version, size_t cut)
{
    struct cut_wire w = {.cut = cut, .want = TLS_WANT_READ, .wire = BIO_new(BIO_s_mem())};
    raw_open(&w.raw, version);
    SSL_set0_wbio(w.raw.ssl, w.wire);
    for (unsigned i = 0; i < 8 && SSL_do_handshake(w.raw.ssl) != 1; i++) {
        deliver_in_two_parts(&w);
    }
    assert_int_equal(SSL_write(w.raw.ssl, "first", 5), 5);
    assert_int_equal(SSL_write(w.raw.ssl, "other", 5), 5);
    deliver_in_two_parts(&w);
    assert_int_equal(w.got_len, 10);
    assert_memory_equal(w.got, "firstother", 10);
    raw_close(&w.raw);
    return w.sent;
}

UNIT_TEST(test_records_cut_anywhere)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        size_t len = talk_over_cut_wire(versions[i], 0);
        assert_true(len > 300);
        for (size_t cut = 1; cut < len; cut++) {
            (void)talk_over_cut_wire(versions[i], cut);
        }
    }
}

/* The last packet of a handshake brings the first request with it: the socket tells of neither. */
UNIT_TEST(test_request_behind_the_handshake)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    enum tls_want want;
    char out[16];
    tls_pair_open(&pair, &(struct tls_pair_config){.server = server, .client = client});
    assert_int_equal(tls_session_handshake(pair.client, &want, &pair.client_err), 0);
    assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), 0);
    assert_false(tls_session_pending(pair.server));
    assert_int_equal(tls_session_handshake(pair.client, &want, &pair.client_err), 0);
    assert_int_equal(want, TLS_WANT_NOTHING);
    assert_int_equal(tls_session_send(pair.client, "question", 8), 8);
    assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), 0);
    assert_int_equal(want, TLS_WANT_NOTHING);
    assert_int_equal(recv(pair.fds[0], out, 1, MSG_PEEK), -1);
    assert_int_equal(errno, EAGAIN);
    assert_true(tls_session_pending(pair.server));
    assert_int_equal(tls_session_recv(pair.server, out, sizeof(out)), 8);
    assert_false(tls_session_pending(pair.server));
    recv_fails(pair.server, EAGAIN);
}

UNIT_TEST(test_many_records_in_one_call)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    char out[200];
    tls_session_begin(&pair);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(tls_session_send(pair.client, "0123456789", 10), 10);
    }
    assert_int_equal(tls_session_recv(pair.server, out, 95), 95);
    assert_true(tls_session_pending(pair.server));
    assert_int_equal(tls_session_recv(pair.server, out + 95, sizeof(out)), 105);
    assert_false(tls_session_pending(pair.server));
    for (unsigned i = 0; i < sizeof(out); i++) {
        assert_int_equal(out[i], '0' + i % 10);
    }
    recv_fails(pair.server, EAGAIN);
}

/* The sender's buffer moves between calls, and grows; the reader takes little at a time. */
UNIT_TEST(test_big_sends_to_a_slow_reader)
{
    enum { TOTAL = 1 << 20, READ = 1000 };
    CLEANUP(tls_pair_close) struct tls_pair pair;
    size_t sent = 0, got = 0;
    unsigned refusals = 0;
    uint8_t out[READ];
    tls_session_begin(&pair);
    while (got < TOTAL) {
        size_t len = TOTAL - sent < 100000 + refusals ? TOTAL - sent : 100000 + refusals;
        CLEANUP_FREE uint8_t *bytes = xmalloc(len ? len : 1);
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)((sent + i) % 251);
        }
        ssize_t n = tls_session_send(pair.server, bytes, len);
        assert_true(n >= 0 || errno == EAGAIN);
        refusals += n < 0;
        sent += n > 0 ? (size_t)n : 0;
        n = tls_session_recv(pair.client, out, sizeof(out));
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++) {
            assert_int_equal(out[i], (got + (size_t)i) % 251);
        }
        got += (size_t)n;
    }
    assert_true(refusals > 10);
}

/* All that the socket takes: more than a record. */
UNIT_TEST(test_send_takes_more_than_a_record)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    static uint8_t bytes[40000], out[40000];
    tls_session_begin(&pair);
    assert_int_equal(tls_session_send(pair.server, bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(tls_session_send(pair.server, bytes, 0), 0);
    assert_int_equal(tls_session_recv(pair.client, out, sizeof(out)), sizeof(out));
}

/* ---- Ends ---- */

UNIT_TEST(test_half_close)
{
    for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
        for (unsigned with_notify = 0; with_notify <= 1; with_notify++) {
            CLEANUP(raw_close) struct raw raw;
            char out[16];
            raw_begin(&raw, versions[v]);
            assert_int_equal(SSL_write(raw.ssl, "question", 8), 8);
            if (with_notify) {
                assert_int_equal(SSL_shutdown(raw.ssl), 0);
            }
            assert_int_equal(shutdown(raw.pair.fds[1], SHUT_WR), 0);
            assert_int_equal(tls_session_recv(raw.pair.server, out, 4), 4);
            assert_true(tls_session_pending(raw.pair.server));
            assert_int_equal(tls_session_recv(raw.pair.server, out, sizeof(out)), 4);
            assert_int_equal(tls_session_recv(raw.pair.server, out, sizeof(out)), 0);
            assert_true(tls_session_pending(raw.pair.server));
            assert_int_equal(tls_session_recv(raw.pair.server, out, sizeof(out)), 0);
            assert_null(tls_session_failure(raw.pair.server));
            assert_int_equal(tls_session_send(raw.pair.server, "answer", 6), 6);
            assert_int_equal(SSL_read(raw.ssl, out, sizeof(out)), 6);
        }
    }
}

UNIT_TEST(test_free_says_goodbye)
{
    CLEANUP(raw_close) struct raw raw;
    char out[16];
    raw_begin(&raw, TLS1_3_VERSION);
    tls_session_free(raw.pair.server);
    raw.pair.server = NULL;
    int rc = SSL_read(raw.ssl, out, sizeof(out));
    assert_int_equal(SSL_get_error(raw.ssl, rc), SSL_ERROR_ZERO_RETURN);
}

UNIT_TEST(test_connection_that_is_gone)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    tls_session_begin(&pair);
    assert_int_equal(close(pair.fds[1]), 0);
    pair.fds[1] = -1;
    assert_int_equal(tls_session_send(pair.server, "answer", 6), -1);
    assert_int_equal(errno, EPIPE);
}

UNIT_TEST(test_damaged_record)
{
    CLEANUP(tls_pair_close) struct tls_pair pair;
    tls_session_begin(&pair);
    assert_int_equal(
        send(pair.fds[1], "\x17\x03\x03\0\x20 01234567890123456789012345678901", 37, 0), 37);
    recv_fails(pair.server, EPROTO);
    assert_non_null(tls_session_failure(pair.server));
    assert_true(tls_session_pending(pair.server));
    assert_int_equal(tls_session_send(pair.server, "answer", 6), -1);
    assert_int_equal(errno, EPROTO);
}

/* ---- Hostile clients ---- */

UNIT_TEST(test_renegotiation_is_refused)
{
    CLEANUP(raw_close) struct raw raw;
    raw_begin(&raw, TLS1_2_VERSION);
    assert_int_equal(SSL_renegotiate(raw.ssl), 1);
    (void)SSL_do_handshake(raw.ssl); /* sends the hello */
    recv_fails(raw.pair.server, EAGAIN);
    int rc = SSL_do_handshake(raw.ssl); /* sees the alert */
    assert_int_equal(SSL_get_error(raw.ssl, rc), SSL_ERROR_SSL);
    assert_int_equal(tls_session_send(raw.pair.server, "still here", 10), 10);
    recv_fails(raw.pair.server, EPROTO); /* the client's alert */
}

/* A client that sends key updates, whose cost is ours, instead of queries. */
UNIT_TEST(test_flood_of_key_updates)
{
    CLEANUP(raw_close) struct raw raw;
    char out[16];
    raw_begin(&raw, TLS1_3_VERSION);
    for (unsigned i = 0; i < 16; i++) { /* as often as it may */
        assert_int_equal(SSL_key_update(raw.ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_write(raw.ssl, "question", 8), 8);
        assert_int_equal(tls_session_recv(raw.pair.server, out, sizeof(out)), 8);
    }
    for (unsigned i = 0; i < 17; i++) {
        assert_int_equal(SSL_key_update(raw.ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(raw.ssl), 1);
    }
    assert_int_equal(SSL_write(raw.ssl, "question", 8), 8);
    recv_fails(raw.pair.server, EPROTO);
    assert_non_null(strstr(tls_session_failure(raw.pair.server)->msg, "more than 32 messages"));
}

/* The same, and each asks for one of ours. */
UNIT_TEST(test_flood_that_asks_for_answers)
{
    CLEANUP(raw_close) struct raw raw;
    unsigned updates = 0;
    ssize_t n = -1;
    char out[16];
    raw_begin(&raw, TLS1_3_VERSION);
    errno = EAGAIN;
    while (n < 0 && errno == EAGAIN) {
        assert_int_equal(SSL_key_update(raw.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(raw.ssl), 1);
        updates++;
        assert_true(updates < 64);
        n = tls_session_recv(raw.pair.server, out, sizeof(out));
    }
    assert_int_equal(n, -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(updates, 17); /* the 33rd message */
}

/* ---- Memory ---- */

UNIT_TEST(test_idle_session_is_small)
{
    static uint8_t bytes[50000];
    struct tls_pair pair;
    enum tls_want want = TLS_WANT_READ;
    size_t before = servers_bytes;
    is_servers = true;
    tls_pair_open(&pair, &(struct tls_pair_config){.server = server, .protocols = "dot"});
    is_servers = false;
    pair.client = tls_session_connect(client, pair.fds[1], "localhost", "dot", NULL);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(tls_session_handshake(pair.client, &want, &pair.client_err), 0);
        is_servers = true;
        assert_int_equal(tls_session_handshake(pair.server, &want, &pair.server_err), 0);
        is_servers = false;
    }
    assert_int_equal(want, TLS_WANT_NOTHING);
    size_t idle = servers_bytes - before;
    assert_in_range(idle, 1, 15 * 1024); /* the rest of 16 KiB is the connection's own */
    for (size_t len = 50; len <= sizeof(bytes); len *= 10) {
        assert_int_equal(tls_session_send(pair.client, bytes, len), len);
        is_servers = true;
        for (size_t used = 0; used < len;) {
            ssize_t n = tls_session_recv(pair.server, bytes, sizeof(bytes));
            assert_true(n > 0);
            used += (size_t)n;
        }
        assert_int_equal(tls_session_send(pair.server, bytes, len), len);
        is_servers = false;
        assert_int_equal(tls_session_recv(pair.client, bytes, len), len);
        assert_int_equal(servers_bytes - before, idle);
    }
    tls_pair_close(&pair);
    assert_int_equal(servers_bytes, before);
}
