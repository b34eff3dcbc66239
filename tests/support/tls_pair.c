#include "tests/support/tls_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* ---- The folder ---- */

void tls_folder_make(struct tls_folder *folder)
{
    *folder = (struct tls_folder){.path = "/tmp/test_tls.XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
    folder->ca = certs_ca_new(folder->path, "ca");
    folder->other = certs_ca_new(folder->path, "other");
    certs_issue(folder->ca, folder->path,
                &(struct certs_leaf){.name = "server", .names = "DNS:localhost,IP:127.0.0.1"});
    certs_issue(folder->ca, folder->path, &(struct certs_leaf){.name = "client"});
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    return remove(path);
}

void tls_folder_remove(struct tls_folder *folder)
{
    certs_ca_free(folder->ca);
    certs_ca_free(folder->other);
    assert_int_equal(nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

const char *tls_folder_file(const struct tls_folder *folder, const char *name)
{
    static char paths[16][128];
    static unsigned next;
    char *path = paths[next++ % 16];
    int n = snprintf(path, 128, "%s/%s", folder->path, name);
    assert_true(n > 0 && n < 128);
    return path;
}

void tls_folder_write(const struct tls_folder *folder, const char *name, const char *text)
{
    replace_file_from(tls_folder_file(folder, name), text);
}

struct tls_server *tls_folder_server(const struct tls_folder *folder, const char *client_ca,
                                     const char *ticket_keys)
{
    struct tls_server *server = NULL;
    struct err err;
    const struct tls_server_files files = {
        .cert = tls_folder_file(folder, "server.crt"),
        .key = tls_folder_file(folder, "server.key"),
        .client_ca = client_ca ? tls_folder_file(folder, client_ca) : NULL,
        .ticket_keys = ticket_keys ? tls_folder_file(folder, ticket_keys) : NULL,
    };
    assert_that(tls_server_new(&files, &server, &err) == 0, "%s", err.msg);
    return server;
}

struct tls_client *tls_folder_client(const struct tls_folder *folder, const char *cert)
{
    struct tls_client *client = NULL;
    struct err err;
    char crt[64], key[64];
    (void)snprintf(crt, sizeof(crt), "%.50s.crt", cert ? cert : ""); /* fits, as the next */
    (void)snprintf(key, sizeof(key), "%.50s.key", cert ? cert : "");
    const struct tls_files files = {
        .ca = tls_folder_file(folder, "ca.crt"),
        .cert = cert ? tls_folder_file(folder, crt) : NULL,
        .key = cert ? tls_folder_file(folder, key) : NULL,
    };
    assert_that(tls_client_new(&files, &client, &err) == 0, "%s", err.msg);
    return client;
}

/* ---- The pair ---- */

void tls_pair_open(struct tls_pair *pair, const struct tls_pair_config *config)
{
    *pair = (struct tls_pair){.server = NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair->fds),
                     0);
    struct ssl_ctx_st *context = tls_server_hold(config->server);
    pair->server = tls_session_accept(context, pair->fds[0], config->protocols);
    tls_server_release(context);
    if (config->client) {
        pair->client = tls_session_connect(config->client, pair->fds[1],
                                           config->name ? config->name : "localhost",
                                           config->protocol, config->resumed);
    }
}

/* True: it has ended, well or not. A side that has ended badly closes its direction. */
static bool tls_pair_step(struct tls_session *session, int fd, struct err *err)
{
    enum tls_want want = TLS_WANT_NOTHING;
    if (!err->code && tls_session_handshake(session, &want, err) != 0) {
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
    }
    return err->code || want == TLS_WANT_NOTHING;
}

bool tls_pair_handshake(struct tls_pair *pair)
{
    /* Five flights at most. */
    for (unsigned i = 0; i < 8; i++) {
        bool is_client_done = tls_pair_step(pair->client, pair->fds[1], &pair->client_err);
        bool is_server_done = tls_pair_step(pair->server, pair->fds[0], &pair->server_err);
        if (is_client_done && is_server_done) {
            return !pair->client_err.code && !pair->server_err.code;
        }
    }
    fail_msg("the handshake does not end");
    return false;
}

void tls_pair_close(struct tls_pair *pair)
{
    tls_session_free(pair->client);
    tls_session_free(pair->server);
    assert_int_equal(close(pair->fds[0]), 0);
    if (pair->fds[1] >= 0) {
        assert_int_equal(close(pair->fds[1]), 0);
    }
}

void tls_pair_begin(struct tls_pair *pair, const struct tls_pair_config *config)
{
    tls_pair_open(pair, config);
    assert_that(tls_pair_handshake(pair), "client: %s, server: %s",
                pair->client_err.code ? pair->client_err.msg : "well",
                pair->server_err.code ? pair->server_err.msg : "well");
}

void tls_pair_send(struct tls_session *from, struct tls_session *to, const char *text)
{
    char out[256];
    size_t len = strlen(text);
    assert_true(len < sizeof(out));
    assert_int_equal(tls_session_send(from, text, len), len);
    assert_int_equal(tls_session_recv(to, out, sizeof(out)), len);
    assert_memory_equal(out, text, len);
}
