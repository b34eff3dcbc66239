/* The etcd client over TLS: a real etcd that requires client certificates, and servers that fail in
 * every way that has its own message. */
#include <errno.h>
#include <ev.h>
#include <ftw.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/etcd/etcd.h"
#include "common/etcd/etcd_counts_internal.h"
#include "common/etcd/etcd_watch.h"
#include "tests/support/certs.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000 };

static const char own_names[] = "DNS:localhost,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1";

struct fixture {
    struct ev_loop *loop;
    char folder[64]; /* server.*, client.*, ca.crt, and ca.crt of another CA: other.crt */
    struct certs_ca *ca;
    struct certs_ca *other;
    struct etcd_proc *proc;
    struct etcd *etcd;
};

static struct fixture f;

static const char *etcd_tls_file(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, 128, "%s/%s", f.folder, name);
    return path;
}

static void etcd_tls_issue(const struct certs_ca *ca, const char *name, const char *names)
{
    certs_issue(ca, f.folder, &(struct certs_leaf){.name = name, .names = names});
}

/* ---- The client ---- */

/* Checks how often files that have changed were used, and were not, since the client was made. */
static void check_credentials(uint64_t read, uint64_t kept)
{
    const struct etcd_counts *counts = etcd_counts(f.etcd);
    assert_int_equal(counter_get(&counts->credentials_read), read);
    assert_int_equal(counter_get(&counts->credentials_kept), kept);
}

/* Resolves every name to this machine. */
static int look_up_here(const char *host, uint16_t port, struct name_addresses *ret,
                        struct err *err)
{
    ret->items[0] = loopback_addr(port);
    ret->count = 1;
    return 0;
}

static int open_client(const char *endpoints, const char *ca, const char *cert, const char *key,
                       struct err *err)
{
    const struct etcd_config config = {
        .loop = f.loop,
        .endpoints = endpoints,
        .call_timeout_ms = CALL_TIMEOUT_MS,
        .look_up = look_up_here,
        .tls = {.ca = ca, .cert = cert, .key = key},
    };
    etcd_free(f.etcd);
    f.etcd = NULL;
    return etcd_new(&config, &f.etcd, err);
}

static void etcd_tls_connect_to(const char *endpoints)
{
    struct err err;
    assert_that(open_client(endpoints, etcd_tls_file("ca.crt"), etcd_tls_file("client.crt"),
                            etcd_tls_file("client.key"), &err) == 0,
                "%s", err.msg);
}

struct result {
    bool is_done;
    struct err err; /* code 0 = a reply */
};

static void etcd_tls_on_range(void *data, const struct etcd_range_reply *reply,
                              const struct err *err)
{
    struct result *r = data;
    r->is_done = true;
    if (err) {
        r->err = *err;
    }
}

static bool etcd_tls_is_done(const void *data)
{
    return ((const struct result *)data)->is_done;
}

static struct err etcd_tls_get(void)
{
    struct result r = {.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str("/x")}, etcd_tls_on_range, &r);
    loop_until(f.loop, etcd_tls_is_done, &r);
    return r.err;
}

static void etcd_tls_get_ok(void)
{
    struct err err = etcd_tls_get();
    assert_that(!err.code, "range: %s", err.msg);
}

static void get_fails(int code, const char *want)
{
    struct err err = etcd_tls_get();
    assert_that(err.code == code && strstr(err.msg, want), "want %d, `%s`; got %d, `%s`", code,
                want, err.code, err.code ? err.msg : "a reply");
}

static void get_refused(const char *want)
{
    get_fails(ERR_SHUT_OUT, want);
}

/* ---- Fixture ---- */

static int etcd_tls_start(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)signal(SIGPIPE, SIG_IGN); /* as the programs do */
    snprintf(f.folder, sizeof(f.folder), "%.40s/tls-test-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (!mkdtemp(f.folder)) {
        return -1;
    }
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.ca = certs_ca_new(f.folder, "ca");
    f.other = certs_ca_new(f.folder, "other");
    etcd_tls_issue(f.ca, "server", own_names);
    etcd_tls_issue(f.ca, "client", NULL);
    f.proc = etcd_proc_start_tls(f.folder);
    return 0;
}

static int etcd_tls_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int etcd_tls_stop(void **state)
{
    etcd_proc_free(f.proc);
    certs_ca_free(f.ca);
    certs_ca_free(f.other);
    ev_loop_destroy(f.loop);
    return nftw(f.folder, etcd_tls_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int etcd_tls_each(void **state)
{
    etcd_tls_issue(f.ca, "server", own_names);
    etcd_tls_issue(f.ca, "client", NULL);
    return 0;
}

static int etcd_tls_each_end(void **state)
{
    etcd_free(f.etcd);
    f.etcd = NULL;
    return 0;
}

UNIT_TESTS_EACH(etcd_tls_each, etcd_tls_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(etcd_tls_start, etcd_tls_stop)
UNIT_TESTS_HAVE_THREADS

/* ---- Success ---- */

UNIT_TEST(test_calls)
{
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    etcd_tls_get_ok();
    /* Values of many TLS records, in both directions. */
    CLEANUP_FREE char *value = xmalloc(1400000);
    memset(value, 'x', 1400000);
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof(key), "/large/%d", i);
        sync_put(f.loop, f.etcd, key, slice_of(value, 1400000));
    }
    struct result r = {.is_done = false};
    etcd_range(f.etcd,
               &(struct etcd_range){.key = slice_str("/large/"), .range_end = slice_str("/large0")},
               etcd_tls_on_range, &r);
    loop_until(f.loop, etcd_tls_is_done, &r);
    assert_int_equal(r.err.code, 0);
    sync_put_many(f.loop, f.etcd, "/many/", 3000, slice_str("v"));
}

UNIT_TEST(test_other_ways_to_say_localhost)
{
    CLEANUP_FREE char *name = xasprintf("https://localhost:%u", etcd_proc_port(f.proc));
    CLEANUP_FREE char *dotted = xasprintf("https://localhost.:%u", etcd_proc_port(f.proc));
    CLEANUP_FREE char *v6 = xasprintf("https://[::1]:%u", etcd_proc_port(f.proc));
    etcd_tls_connect_to(name);
    etcd_tls_get_ok();
    etcd_tls_connect_to(dotted);
    etcd_tls_get_ok();
    if (loopback_has_v6()) {
        etcd_tls_connect_to(v6);
        etcd_tls_get_ok();
    } else {
        print_message("without [::1]: this machine has none\n");
    }
}

/* Each endpoint's certificate must name its own host. */
UNIT_TEST(test_own_name_for_each_endpoint)
{
    etcd_tls_issue(f.ca, "server", "DNS:localhost");
    CLEANUP_FREE char *both =
        xasprintf("%s,https://localhost:%u", etcd_proc_url(f.proc), etcd_proc_port(f.proc));
    etcd_tls_connect_to(both);
    etcd_tls_get_ok();
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    get_refused("the server's certificate is for localhost, not for `127.0.0.1`");
}

/* ---- Bad certificates ---- */

UNIT_TEST(test_wrong_server_certificates)
{
    static const struct {
        const char *name;
        bool is_other_ca;
        struct certs_leaf leaf;
        const char *want;
    } cases[] = {
        {"another CA",
         true,
         {.names = own_names},
         "the server's certificate is not from a CA in `"},
        {"expired",
         false,
         {.names = own_names, .from_s = -7200, .to_s = -3600},
         "the server's certificate expired at 20"},
        {"not yet valid",
         false,
         {.names = own_names, .from_s = 3600, .to_s = 7200},
         "the server's certificate is not valid before 20"},
        {"another name",
         false,
         {.names = "DNS:etcd-0.etcd,DNS:*.etcd.svc,IP:10.0.0.1"},
         "the server's certificate is for etcd-0.etcd, *.etcd.svc, 10.0.0.1, not for `127.0.0.1`"},
        {"no name", false, {.names = NULL}, "is for no name at all, not for `127.0.0.1`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct certs_leaf leaf = cases[i].leaf;
        leaf.name = "server";
        print_message("%s\n", cases[i].name);
        certs_issue(cases[i].is_other_ca ? f.other : f.ca, f.folder, &leaf);
        etcd_tls_connect_to(etcd_proc_url(f.proc));
        get_refused(cases[i].want);
        get_refused(etcd_proc_url(f.proc)); /* the message names the endpoint */
    }
    struct err err;
    etcd_tls_issue(f.ca, "server", own_names);
    assert_int_equal(open_client(etcd_proc_url(f.proc), etcd_tls_file("other.crt"),
                                 etcd_tls_file("client.crt"), etcd_tls_file("client.key"), &err),
                     0);
    get_refused("other.crt`");
    /* The system does not know our CA either. */
    assert_int_equal(open_client(etcd_proc_url(f.proc), "", "", "", &err), 0);
    get_refused("not from a CA in the system's list");
}

UNIT_TEST(test_wrong_client_certificates)
{
    struct err err;
    assert_int_equal(open_client(etcd_proc_url(f.proc), etcd_tls_file("ca.crt"), NULL, NULL, &err),
                     0);
    get_refused("the server requires a client certificate and none is set");

    etcd_tls_issue(f.other, "client", NULL);
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    get_refused("the server refuses our certificate `");
    get_refused("client.crt`");

    certs_issue(f.ca, f.folder,
                &(struct certs_leaf){.name = "client", .from_s = -7200, .to_s = -3600});
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    get_refused("client.crt`, which expired at 20");
}

/* ---- Peers that speak another protocol ---- */

UNIT_TEST(test_plain_etcd_behind_https)
{
    struct etcd_proc *plain = etcd_proc_start();
    CLEANUP_FREE char *url = xasprintf("https://127.0.0.1:%u", etcd_proc_port(plain));
    etcd_tls_connect_to(url);
    get_fails(ERR_UNAVAILABLE, "http:// instead of https://");
    etcd_proc_free(plain);
}

UNIT_TEST(test_tls_etcd_behind_http)
{
    CLEANUP_FREE char *url = xasprintf("http://127.0.0.1:%u", etcd_proc_port(f.proc));
    etcd_tls_connect_to(url);
    get_fails(ERR_UNAVAILABLE, "is it https:// instead of http://?");
}

/* Serves one connection at a time until the listener is shut down. */
struct server {
    int listener;
    const char *plain_reply; /* after the first bytes; NULL = TLS without ALPN */
};

static void serve_tls(int fd)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char bytes[256];
    if (SSL_CTX_use_certificate_chain_file(context, etcd_tls_file("server.crt")) == 1 &&
        SSL_CTX_use_PrivateKey_file(context, etcd_tls_file("server.key"), SSL_FILETYPE_PEM) == 1) {
        SSL *ssl = SSL_new(context);
        if (SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1) {
            (void)SSL_read(ssl, bytes, sizeof(bytes)); /* until the client gives up */
        }
        SSL_free(ssl);
    }
    SSL_CTX_free(context);
}

static void *etcd_tls_serve(void *data)
{
    const struct server *server = data;
    int fd;
    while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
        char bytes[4096];
        if (!server->plain_reply) {
            serve_tls(fd);
        } else if (recv(fd, bytes, sizeof(bytes), 0) > 0) {
            (void)send(fd, server->plain_reply, strlen(server->plain_reply), MSG_NOSIGNAL);
            while (recv(fd, bytes, sizeof(bytes), 0) > 0) {
            }
        }
        close(fd);
    }
    return NULL;
}

UNIT_TEST(test_other_protocols)
{
    static const struct {
        const char *scheme, *reply;
        int code;
        const char *want;
    } cases[] = {
        {"https", NULL, ERR_SHUT_OUT, "the server does not speak HTTP/2 (ALPN h2)"},
        {"https", "HTTP/1.1 400 Bad Request\r\n\r\n", ERR_SHUT_OUT,
         "is it http:// instead of https://?"},
        {"https", "220 mail.example ESMTP\r\n", ERR_SHUT_OUT, "is it http:// instead of https://?"},
        {"http", "HTTP/1.1 400 Bad Request\r\n\r\n", ERR_PROTOCOL,
         "the server speaks HTTP/1, not HTTP/2"},
        {"http", "\x15\x03\x01", ERR_SHUT_OUT, "is it https:// instead of http://?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct addr address;
        pthread_t thread;
        struct server server = {.listener = loopback_listen(&address),
                                .plain_reply = cases[i].reply};
        CLEANUP_FREE char *url =
            xasprintf("%s://127.0.0.1:%u", cases[i].scheme, addr_port(&address));
        assert_int_equal(pthread_create(&thread, NULL, etcd_tls_serve, &server), 0);
        etcd_tls_connect_to(url);
        get_fails(cases[i].code, cases[i].want);
        etcd_free(f.etcd);
        f.etcd = NULL;
        (void)shutdown(server.listener, SHUT_RDWR);
        assert_int_equal(pthread_join(thread, NULL), 0);
        close(server.listener);
    }
}

/* A server that accepts the connection and stays silent: the client gives up and uses the other
 * one. */
UNIT_TEST(test_hung_handshake)
{
    struct addr address;
    int listener = loopback_listen(&address);
    CLEANUP_FREE char *silent = xasprintf("https://127.0.0.1:%u", addr_port(&address));
    etcd_tls_connect_to(silent);
    get_fails(ERR_UNAVAILABLE, "no TLS handshake within 3000 ms");

    CLEANUP_FREE char *both = xasprintf("%s,%s", silent, etcd_proc_url(f.proc));
    etcd_tls_connect_to(both);
    etcd_tls_get_ok();
    close(listener);
}

/* ---- Files that change ---- */

/* Ends all connections. */
static void etcd_tls_restart(void)
{
    etcd_proc_kill(f.proc);
    etcd_proc_restart(f.proc);
    while (etcd_tls_get().code == ERR_UNAVAILABLE) { /* the old connection may end late */
    }
}

UNIT_TEST(test_server_certificate_replaced)
{
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    etcd_tls_get_ok();
    etcd_tls_issue(f.ca, "server", own_names);
    etcd_tls_get_ok();
    etcd_tls_restart();
    etcd_tls_get_ok();
    check_credentials(0, 0);
}

UNIT_TEST(test_client_certificate_rotated)
{
    etcd_tls_issue(f.other, "client", NULL);
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    get_refused("the server refuses our certificate `");
    etcd_tls_issue(f.ca, "client", NULL); /* between two attempts, without a new client */
    etcd_tls_get_ok();
    check_credentials(1, 0);

    etcd_tls_issue(f.ca, "client", NULL);
    etcd_tls_get_ok(); /* on the old connection */
    check_credentials(1, 0);
    etcd_tls_restart();
    etcd_tls_get_ok();
    check_credentials(2, 0);
}

static void etcd_tls_write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

UNIT_TEST(test_rotated_to_nonsense)
{
    struct log_capture log;
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    etcd_tls_get_ok();
    etcd_tls_write_text(etcd_tls_file("client.crt"), "soon\n");
    log_capture_begin(&log);
    etcd_tls_restart();
    etcd_tls_get_ok(); /* with the old files */
    etcd_tls_restart();
    const char *text = log_capture_end(&log);
    check_credentials(0, 1); /* reported once */
    assert_int_equal(log_occurrences(text, "cannot use changed credential files"), 1);
    assert_non_null(strstr(text, "client.crt`: not found as PEM"));

    assert_int_equal(unlink(etcd_tls_file("client.key")), 0);
    etcd_tls_restart();
    check_credentials(0, 2); /* they changed again */
    etcd_tls_issue(f.ca, "client", NULL);
    etcd_tls_restart();
    etcd_tls_get_ok();
    check_credentials(1, 2);
}

/* ---- Files at startup ---- */

static void write_encrypted_key(const char *path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(), (const unsigned char *)"secret",
                                     6, NULL, NULL));
    assert_int_equal(fclose(out), 0);
    EVP_PKEY_free(key);
}

UNIT_TEST(test_files_that_cannot_be_used)
{
    static const struct {
        const char *ca, *cert, *key;
        int code;
        const char *want;
    } cases[] = {
        {"none.crt", NULL, NULL, -ENOENT, "TLS: read CA certificate `"},
        {".", NULL, NULL, -EISDIR, "Is a directory"},
        {"text", NULL, NULL, ERR_SYNTAX, "/text`: not found as PEM"},
        {"ca.crt", "none.crt", "client.key", -ENOENT, "TLS: read certificate `"},
        {"ca.crt", "text", "client.key", ERR_SYNTAX, "/text`: not found as PEM"},
        {"ca.crt", "client.crt", "none.key", -ENOENT, "TLS: read key `"},
        {"ca.crt", "client.crt", "client.crt", ERR_SYNTAX, "TLS: key `"},
        {"ca.crt", "client.crt", "server.key", ERR_SYNTAX,
         "server.key`: does not match the certificate"},
        {"ca.crt", "client.crt", "encrypted", ERR_SYNTAX, "/encrypted`: encrypted"},
        {"ca.crt", "client.crt", NULL, ERR_USAGE, "or neither"},
    };
    etcd_tls_write_text(etcd_tls_file("text"), "-----\nhello\n");
    write_encrypted_key(etcd_tls_file("encrypted"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {.code = 0};
        int rc = open_client("http://127.0.0.1:1", etcd_tls_file(cases[i].ca),
                             cases[i].cert ? etcd_tls_file(cases[i].cert) : NULL,
                             cases[i].key ? etcd_tls_file(cases[i].key) : NULL, &err);
        assert_that(rc == cases[i].code && strstr(err.msg, cases[i].want),
                    "want %d `%s`, got %d `%s`", cases[i].code, cases[i].want, rc, err.msg);
    }
}

/* ---- A server that hangs during a watch ---- */

struct watched {
    unsigned ups;
    struct err down; /* code 0 = not yet */
};

static void etcd_tls_on_up(void *data)
{
    ((struct watched *)data)->ups++;
}

static void etcd_tls_on_end(void *data, const struct err *err)
{
    ((struct watched *)data)->down = *err;
}

static void etcd_tls_on_events(void *data, const struct etcd_event *events, size_t count,
                               int64_t revision)
{
}

static bool is_up(const void *data)
{
    return ((const struct watched *)data)->ups > 0;
}

static bool is_down(const void *data)
{
    return ((const struct watched *)data)->down.code != 0;
}

static struct etcd_watch *etcd_tls_start_watch(struct watched *w)
{
    return etcd_watch_start(f.etcd, &(struct etcd_watch_config){.key = slice_str("/x"),
                                                                .start_revision = 1,
                                                                .on_events = etcd_tls_on_events,
                                                                .on_up = etcd_tls_on_up,
                                                                .on_end = etcd_tls_on_end,
                                                                .data = w});
}

UNIT_TEST(test_hung_server_is_noticed)
{
    struct watched w = {.ups = 0}, again = {.ups = 0};
    etcd_tls_connect_to(etcd_proc_url(f.proc));
    struct etcd_watch *watch = etcd_tls_start_watch(&w);
    loop_until(f.loop, is_up, &w);
    etcd_proc_pause(f.proc);
    loop_until(f.loop, is_down, &w);
    assert_int_equal(w.down.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(w.down.msg, "no answer to a PING within 3 s"));
    etcd_watch_stop(watch);
    etcd_proc_resume(f.proc);
    watch = etcd_tls_start_watch(&again);
    loop_until(f.loop, is_up, &again);
    etcd_watch_stop(watch);
}
