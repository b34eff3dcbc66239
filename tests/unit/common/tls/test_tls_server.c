/* tls_server: what it demands of clients, its files and their changes, and who may resume. */
#include "common/tls/tls_server.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/test_clock.h"
#include "tests/support/tls_pair.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(tls_client_free, struct tls_client)
CLEANUP_POINTER(tls_server_free, struct tls_server)
CLEANUP_POINTER(tls_session_ticket_free, struct ssl_session_st)

/* 160 hex digits that begin with these two. */
#define KEY(d)                                                              \
    d "23456789abcdef0123456789ABCDEF" d "23456789abcdef0123456789abcdef" d \
      "23456789abcdef0123456789abcdef" d "23456789abcdef0123456789abcdef" d \
      "23456789abcdef0123456789abcdef"

static struct tls_folder folder;
static time_t ahead_s;

/* OpenSSL's too: what it compares with the ends of certificates and tickets. */
time_t time(time_t *ret)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    if (ret) {
        *ret = now.tv_sec + ahead_s;
    }
    return now.tv_sec + ahead_s;
}

static int tls_server_set_up(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    tls_folder_make(&folder);
    return 0;
}

static int tls_server_tear_down(void **state)
{
    tls_folder_remove(&folder);
    return 0;
}

UNIT_TESTS_EACH(tls_server_set_up, tls_server_tear_down)

static void tls_server_issue(const struct certs_ca *ca, const char *name, long from_s, long to_s)
{
    certs_issue(
        ca, folder.path,
        &(struct certs_leaf){
            .name = name, .names = "DNS:localhost,IP:127.0.0.1", .from_s = from_s, .to_s = to_s});
}

/* ---- Files ---- */

static void new_fails(const struct tls_server_files *files, int code, const char *want)
{
    struct tls_server *server = NULL;
    struct err err;
    assert_int_equal(tls_server_new(files, &server, &err), code);
    assert_that(strstr(err.msg, want), "`%s` not in `%s`", want, err.msg);
    assert_null(server);
}

UNIT_TEST(test_files_that_cannot_be_used)
{
    const char *cert = tls_folder_file(&folder, "server.crt");
    const char *key = tls_folder_file(&folder, "server.key");
    const char *text = tls_folder_file(&folder, "text");
    const char *none = tls_folder_file(&folder, "none");
    tls_folder_write(&folder, "text", "a text\n");
    const struct {
        struct tls_server_files files;
        int code;
        const char *want;
    } cases[] = {
        {{.cert = cert}, ERR_USAGE, "both a certificate and its key"},
        {{.key = key}, ERR_USAGE, "both a certificate and its key"},
        {{.cert = none, .key = key}, -ENOENT, "read certificate `"},
        {{.cert = cert, .key = none}, -ENOENT, "read key `"},
        {{.cert = folder.path, .key = key}, -EISDIR, "read certificate `"},
        {{.cert = text, .key = key}, ERR_SYNTAX, "certificate `"},
        {{.cert = cert, .key = text}, ERR_SYNTAX, "key `"},
        {{.cert = cert, .key = tls_folder_file(&folder, "client.key")},
         ERR_SYNTAX,
         "does not match the certificate"},
        {{.cert = cert, .key = key, .client_ca = text}, ERR_SYNTAX, "client CA certificate `"},
        {{.cert = cert, .key = key, .client_ca = none}, -ENOENT, "read client CA certificate `"},
        {{.cert = cert, .key = key, .ticket_keys = none}, -ENOENT, "read ticket keys `"},
        {{.cert = cert, .key = key, .ticket_keys = text}, ERR_SYNTAX, "ticket keys `"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        new_fails(&cases[i].files, cases[i].code, cases[i].want);
    }
}

static void ticket_key_file_fails(const char *want)
{
    struct tls_server *server = NULL;
    struct err err;
    const struct tls_server_files files = {
        .cert = tls_folder_file(&folder, "server.crt"),
        .key = tls_folder_file(&folder, "server.key"),
        .ticket_keys = tls_folder_file(&folder, "keys"),
    };
    assert_int_equal(tls_server_new(&files, &server, &err), ERR_SYNTAX);
    assert_that(strstr(err.msg, want), "`%s` not in `%s`", want, err.msg);
    assert_null(strstr(err.msg, "23456789")); /* no content */
}

static void ticket_keys_fail(const char *text, const char *want)
{
    tls_folder_write(&folder, "keys", text);
    ticket_key_file_fails(want);
}

/* A NUL is no blank. */
UNIT_TEST(test_ticket_key_file_with_nul)
{
    static const char text[] = KEY("00") "\0\n";
    FILE *file = fopen(tls_folder_file(&folder, "keys"), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, sizeof(text) - 1, file), sizeof(text) - 1);
    assert_int_equal(fclose(file), 0);
    ticket_key_file_fails("line 1: expected 160 hex digits");
}

UNIT_TEST(test_ticket_key_files)
{
    static const char many[] = KEY("00") "\n" KEY("11") "\n" KEY("22") "\n" KEY("33") "\n" KEY(
        "44") "\n" KEY("55") "\n" KEY("66") "\n" KEY("77") "\n";
    char longer[8000];
    ticket_keys_fail("", "no key; expected one a line, 160 hex digits");
    ticket_keys_fail("# nothing\n\n", "no key");
    ticket_keys_fail(KEY("00") "0\n", "line 1: expected 160 hex digits");
    ticket_keys_fail("# a comment\n\n" KEY("00") "\n0123456789\n", "line 4: expected 160 hex");
    ticket_keys_fail(KEY("0g") "\n", "line 1: expected 160 hex");
    (void)snprintf(longer, sizeof(longer), "%s%s\n", many, KEY("88")); /* fits */
    ticket_keys_fail(longer, "line 9: more than 8 keys");
    memset(longer, '\n', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ticket_keys_fail(longer, "longer than");

    tls_folder_write(&folder, "keys", many);
    tls_server_free(tls_folder_server(&folder, NULL, "keys"));
    tls_folder_write(&folder, "keys", "  # of today\r\n\r\n\t" KEY("aB") " \r\n" KEY("01"));
    tls_server_free(tls_folder_server(&folder, NULL, "keys"));
}

UNIT_TEST(test_when_the_chain_ends)
{
    struct err err;
    tls_server_issue(folder.ca, "server", -3600, 7200);
    CLEANUP(tls_server_free_of) struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    int64_t left_s = tls_server_not_after_s(server) - (int64_t)time(NULL);
    assert_in_range(left_s, 7000, 7200);
    tls_server_issue(folder.ca, "server", 0, 0);
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_AGAIN);
    left_s = tls_server_not_after_s(server) - (int64_t)time(NULL);
    assert_in_range(left_s, 86000, 86400);
}

/* A certificate of another CA, which the client does not trust, tells which one is in use. */
UNIT_TEST(test_refresh)
{
    struct err err;
    struct tls_pair old, new;
    struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, NULL);
    const struct tls_pair_config config = {.server = server, .client = client};
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    tls_pair_begin(&old, &config);

    tls_server_issue(folder.other, "server", 0, 0);
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_AGAIN);
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    tls_pair_open(&new, &config);
    assert_false(tls_pair_handshake(&new));
    assert_non_null(strstr(new.client_err.msg, "not from a CA in"));
    assert_int_equal(new.server_err.code, ERR_REFUSED);
    assert_non_null(strstr(new.server_err.msg, "the client refuses our certificate"));
    tls_pair_close(&new);
    tls_pair_send(old.client, old.server, "the old one lives on");

    tls_folder_write(&folder, "server.crt", "nonsense\n");
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_FAILED);
    assert_non_null(strstr(err.msg, "server.crt"));
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    tls_pair_open(&new, &config);
    assert_false(tls_pair_handshake(&new)); /* as before: the other CA's */
    tls_pair_close(&new);

    tls_server_issue(folder.ca, "server", 0, 0);
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_AGAIN);
    tls_pair_begin(&new, &config);
    tls_pair_close(&new);
    tls_server_free(server);
    tls_pair_send(old.server, old.client, "even without its server");
    tls_pair_close(&old);
}

/* ---- Client certificates ---- */

static void client_is_refused(struct tls_server *server, const char *cert, const char *want)
{
    struct tls_pair pair;
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, cert);
    tls_pair_open(&pair, &(struct tls_pair_config){.server = server, .client = client});
    assert_false(tls_pair_handshake(&pair));
    assert_int_equal(pair.server_err.code, ERR_REFUSED);
    assert_that(strstr(pair.server_err.msg, want), "`%s` not in `%s`", want, pair.server_err.msg);
    tls_pair_close(&pair);
}

UNIT_TEST(test_client_certificates)
{
    struct tls_pair pair;
    tls_server_issue(folder.ca, "good", 0, 0);
    tls_server_issue(folder.other, "stranger", 0, 0);
    tls_server_issue(folder.ca, "expired", -7200, -3600);
    tls_server_issue(folder.ca, "early", 3600, 7200);
    CLEANUP(tls_server_free_of)
    struct tls_server *server = tls_folder_server(&folder, "ca.crt", NULL);
    struct tls_client *client = tls_folder_client(&folder, "good");
    tls_pair_begin(&pair, &(struct tls_pair_config){.server = server, .client = client});
    tls_pair_send(pair.client, pair.server, "hello");
    tls_pair_close(&pair);
    tls_client_free(client);
    client_is_refused(server, NULL, "the client shows no certificate");
    client_is_refused(server, "stranger", "the client's certificate is not from a CA");
    client_is_refused(server, "expired", "the client's certificate expired at 20");
    client_is_refused(server, "early", "the client's certificate is not valid before 20");
}

/* ---- Resumption ---- */

/* A ticket of a session that has just ended in order. */
static struct ssl_session_st *ticket_of(struct tls_server *server, const struct tls_client *client)
{
    struct tls_pair pair;
    tls_pair_begin(&pair, &(struct tls_pair_config){.server = server, .client = client});
    assert_false(tls_session_is_resumed(pair.server));
    tls_pair_send(pair.server, pair.client, "hello"); /* the ticket comes before it */
    struct ssl_session_st *ticket = tls_session_ticket(pair.client);
    assert_non_null(ticket);
    tls_pair_close(&pair);
    return ticket;
}

static bool resumes_as(struct tls_server *server, const struct tls_client *client, const char *name,
                       struct ssl_session_st *ticket)
{
    struct tls_pair pair;
    tls_pair_begin(&pair, &(struct tls_pair_config){
                              .server = server, .client = client, .name = name, .resumed = ticket});
    bool is_resumed = tls_session_is_resumed(pair.server);
    assert_int_equal(tls_session_is_resumed(pair.client), is_resumed);
    tls_pair_send(pair.client, pair.server, "question");
    tls_pair_send(pair.server, pair.client, "answer");
    tls_pair_close(&pair);
    return is_resumed;
}

static bool tls_server_resumes(struct tls_server *server, const struct tls_client *client,
                               struct ssl_session_st *ticket)
{
    return resumes_as(server, client, NULL, ticket);
}

UNIT_TEST(test_resumption)
{
    struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    CLEANUP(tls_server_free_of) struct tls_server *other = tls_folder_server(&folder, NULL, NULL);
    struct tls_client *client = tls_folder_client(&folder, NULL);
    struct ssl_session_st *ticket = ticket_of(server, client);
    assert_true(tls_server_resumes(server, client, ticket));
    assert_false(tls_server_resumes(other, client, ticket)); /* a key of its own */
    ahead_s = TLS_TICKET_S + 1;
    assert_false(tls_server_resumes(server, client, ticket)); /* too old */
    ahead_s = 0;
    tls_session_ticket_free(ticket);
    tls_client_free(client);
    tls_server_free(server);
}

/* The server has gone without a word, as when it is killed. */
UNIT_TEST(test_resumption_after_a_send_that_fails)
{
    CLEANUP(tls_server_free_of) struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, NULL);
    struct tls_pair pair;
    tls_pair_begin(&pair, &(struct tls_pair_config){.server = server, .client = client});
    tls_pair_send(pair.server, pair.client, "hello");
    CLEANUP(tls_session_ticket_free_of)
    struct ssl_session_st *ticket = tls_session_ticket(pair.client);
    assert_int_equal(shutdown(pair.fds[0], SHUT_RDWR), 0);
    assert_int_equal(tls_session_send(pair.client, "question", 8), -1);
    assert_int_equal(errno, EPIPE);
    tls_pair_close(&pair);
    assert_true(tls_server_resumes(server, client, ticket));
}

/* A resumed session is not verified again. */
UNIT_TEST(test_client_resumes_only_what_it_verified)
{
    struct err err;
    CLEANUP(tls_server_free_of) struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, NULL);
    struct tls_client *other = tls_folder_client(&folder, NULL);
    CLEANUP(tls_session_ticket_free_of) struct ssl_session_st *ticket = ticket_of(server, client);
    assert_true(tls_server_resumes(server, client, ticket));
    assert_false(resumes_as(server, client, "127.0.0.1", ticket));
    assert_false(tls_server_resumes(server, other, ticket));
    tls_client_free(other);

    assert_int_equal(unlink(tls_folder_file(&folder, "ca.crt")), 0);
    assert_int_equal(symlink("other.crt", tls_folder_file(&folder, "ca.crt")), 0);
    assert_int_equal(tls_client_refresh(client, &err), TLS_READ_AGAIN);
    struct tls_pair pair;
    tls_pair_open(&pair,
                  &(struct tls_pair_config){.server = server, .client = client, .resumed = ticket});
    assert_false(tls_pair_handshake(&pair));
    assert_non_null(strstr(pair.client_err.msg, "not from a CA in"));
    tls_pair_close(&pair);
}

UNIT_TEST(test_ticket_keys_of_a_file)
{
    struct err err;
    tls_folder_write(&folder, "keys", KEY("01") "\n");
    tls_folder_write(&folder, "keys2", KEY("02") "\n" KEY("01") "\n");
    struct tls_server *server = tls_folder_server(&folder, NULL, "keys");
    CLEANUP(tls_server_free_of)
    struct tls_server *replica = tls_folder_server(&folder, NULL, "keys2");
    struct tls_client *client = tls_folder_client(&folder, NULL);
    struct ssl_session_st *ticket = ticket_of(server, client);
    assert_true(tls_server_resumes(server, client, ticket));
    assert_true(tls_server_resumes(replica, client, ticket)); /* its second key */
    struct ssl_session_st *newer = ticket_of(replica, client);
    assert_false(tls_server_resumes(server, client, newer)); /* which has not that key */

    tls_folder_write(&folder, "keys", KEY("02") "\n");
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_AGAIN);
    assert_false(tls_server_resumes(server, client, ticket)); /* its key has left the file */
    assert_true(tls_server_resumes(server, client, newer));

    tls_folder_write(&folder, "keys", KEY("0x") "\n");
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_FAILED);
    assert_non_null(strstr(err.msg, "line 1"));
    assert_true(tls_server_resumes(server, client, newer));
    tls_session_ticket_free(ticket);
    tls_session_ticket_free(newer);
    tls_client_free(client);
    tls_server_free(server);
}

/* Without a file, a key makes tickets for two hours, and is accepted for two more. */
UNIT_TEST(test_ticket_key_made_here)
{
    struct err err;
    test_clock_stop();
    CLEANUP(tls_server_free_of) struct tls_server *server = tls_folder_server(&folder, NULL, NULL);
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, NULL);
    struct ssl_session_st *first = ticket_of(server, client);
    test_clock_advance_ms((int64_t)TLS_TICKET_S * 1000 - 1);
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    CLEANUP(tls_session_ticket_free_of) struct ssl_session_st *second = ticket_of(server, client);
    test_clock_advance_ms(1);
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    assert_true(tls_server_resumes(server, client, first));
    test_clock_advance_ms((int64_t)TLS_TICKET_S * 1000 - 1);
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    assert_true(tls_server_resumes(server, client, second));
    test_clock_advance_ms(1);
    assert_int_equal(tls_server_refresh(server, &err), TLS_UNCHANGED);
    assert_false(tls_server_resumes(server, client, first));
    assert_false(tls_server_resumes(server, client, second));
    test_clock_run();
    tls_session_ticket_free(first);
}

/* The ticket stands for a certificate, which has to be from a CA that is in force now. */
UNIT_TEST(test_other_client_cas_end_resumption)
{
    struct err err;
    struct tls_pair pair;
    tls_folder_write(&folder, "keys", KEY("01") "\n");
    certs_ca_free(certs_ca_new(folder.path, "clients"));
    CLEANUP(tls_server_free_of) struct tls_server *open = tls_folder_server(&folder, NULL, "keys");
    assert_int_equal(unlink(tls_folder_file(&folder, "clients.crt")), 0);
    assert_int_equal(symlink("ca.crt", tls_folder_file(&folder, "clients.crt")), 0);
    CLEANUP(tls_server_free_of)
    struct tls_server *server = tls_folder_server(&folder, "clients.crt", "keys");
    struct tls_client *client = tls_folder_client(&folder, "client");
    CLEANUP(tls_client_free_of) struct tls_client *nobody = tls_folder_client(&folder, NULL);
    struct ssl_session_st *ticket = ticket_of(server, client);
    assert_true(tls_server_resumes(server, client, ticket));

    /* One of a server that demands nothing gets nobody in. */
    struct ssl_session_st *of_nobody = ticket_of(open, nobody);
    assert_true(tls_server_resumes(open, nobody, of_nobody));
    tls_pair_open(
        &pair, &(struct tls_pair_config){.server = server, .client = nobody, .resumed = of_nobody});
    assert_false(tls_pair_handshake(&pair));
    assert_non_null(strstr(pair.server_err.msg, "no certificate"));
    tls_pair_close(&pair);

    assert_int_equal(unlink(tls_folder_file(&folder, "clients.crt")), 0);
    assert_int_equal(symlink("other.crt", tls_folder_file(&folder, "clients.crt")), 0);
    assert_int_equal(tls_server_refresh(server, &err), TLS_READ_AGAIN);
    tls_pair_open(&pair,
                  &(struct tls_pair_config){.server = server, .client = client, .resumed = ticket});
    assert_false(tls_pair_handshake(&pair));
    assert_non_null(strstr(pair.server_err.msg, "not from a CA"));
    tls_pair_close(&pair);
    tls_session_ticket_free(ticket);
    tls_session_ticket_free(of_nobody);
    tls_client_free(client);
}

/* ... and must not have ended. */
UNIT_TEST(test_expired_client_certificate_ends_resumption)
{
    struct tls_pair pair;
    tls_server_issue(folder.ca, "brief", -3600, 1800);
    CLEANUP(tls_server_free_of)
    struct tls_server *server = tls_folder_server(&folder, "ca.crt", NULL);
    CLEANUP(tls_client_free_of) struct tls_client *client = tls_folder_client(&folder, "brief");
    CLEANUP(tls_session_ticket_free_of) struct ssl_session_st *ticket = ticket_of(server, client);
    ahead_s = 1700;
    assert_true(tls_server_resumes(server, client, ticket));
    ahead_s = 1900; /* less than a ticket's life */
    tls_pair_open(&pair,
                  &(struct tls_pair_config){.server = server, .client = client, .resumed = ticket});
    assert_false(tls_pair_handshake(&pair));
    assert_non_null(strstr(pair.server_err.msg, "the client's certificate expired at"));
    tls_pair_close(&pair);
    ahead_s = 0;
}
