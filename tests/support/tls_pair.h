/* Both sides of a TLS session on a socket pair, on the test's own thread, and a folder of
 * certificates for them: ca.crt, other.crt (of another CA), server.*, client.* (of ca). Failures
 * fail the running cmocka test. */
#ifndef TESTS_SUPPORT_TLS_PAIR_H
#define TESTS_SUPPORT_TLS_PAIR_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "tests/support/certs.h"

struct tls_folder {
    char path[64];
    struct certs_ca *ca;
    struct certs_ca *other;
};

void tls_folder_make(struct tls_folder *folder); /* server.* is for localhost and 127.0.0.1 */
void tls_folder_remove(struct tls_folder *folder);
const char *tls_folder_file(const struct tls_folder *folder, const char *name); /* one of 16 */
void tls_folder_write(const struct tls_folder *folder, const char *name, const char *text);

/* The names of files in the folder; NULL: none. */
struct tls_server *tls_folder_server(const struct tls_folder *folder, const char *client_ca,
                                     const char *ticket_keys);
struct tls_client *tls_folder_client(const struct tls_folder *folder, const char *cert);

struct tls_pair {
    int fds[2]; /* the server's, the client's */
    struct tls_session *server;
    struct tls_session *client;
    struct err server_err; /* of the handshake; code 0: none */
    struct err client_err;
};

struct tls_pair_config {
    struct tls_server *server;
    const struct tls_client *client;
    const char *protocols; /* the server's */
    const char *protocol;  /* the client's */
    const char *name;      /* NULL: localhost */
    struct ssl_session_st *resumed;
};

void tls_pair_open(struct tls_pair *pair, const struct tls_pair_config *config);
bool tls_pair_handshake(struct tls_pair *pair); /* both sides to their end; true: both succeed */
void tls_pair_close(struct tls_pair *pair);

/* One after the other. */
void tls_pair_begin(struct tls_pair *pair, const struct tls_pair_config *config);

/* From one session to the other. */
void tls_pair_send(struct tls_session *from, struct tls_session *to, const char *text);

#endif
