/* Holds what a TLS client trusts and presents: a CA file, a certificate and its key, in PEM.
 *
 * The files are reread when they change on disk. The etcd client shares one among its connections;
 * the loop's thread only. Without a CA file the client trusts the system's CAs; without a
 * certificate it presents none. TLS 1.2 or later. */
#ifndef COMMON_TLS_TLS_CLIENT_H
#define COMMON_TLS_TLS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct tls_client;
struct ssl_ctx_st;

struct tls_files {
    const char *ca;   /* NULL or "" means none, in each of them */
    const char *cert; /* with its chain, if any; requires a key */
    const char *key;  /* not encrypted */
    /* Reads no CA at all, for sessions that check no name: the system's CAs take 1 MiB. */
    bool without_ca;
};

/* Returns whether any file is given. */
bool tls_files_any(const struct tls_files *files);

/* Reads the files and copies their names. Errors name the file: -errno if it cannot be read,
 * ERR_SYNTAX if its content is wrong, ERR_USAGE for a certificate without a key. */
int tls_client_new(const struct tls_files *files, struct tls_client **ret,
                   struct err *err) MUST_CHECK;
void tls_client_free(struct tls_client *client);

enum tls_refresh { TLS_UNCHANGED, TLS_READ_AGAIN, TLS_READ_FAILED };

/* Rereads the files if one has changed; call it before each connection. Returns TLS_READ_FAILED,
 * once per change, if the new content is unusable (err has the reason); the old one stays in
 * use. */
enum tls_refresh tls_client_refresh(struct tls_client *client, struct err *err);

/* Returns the context for new connections; borrowed. Each connection stays with the one it started
 * with. */
struct ssl_ctx_st *tls_client_context(const struct tls_client *client);

/* Returns a number that differs for each content of the files, and for each client: sessions are
 * resumed only within one. */
uint64_t tls_client_generation(const struct tls_client *client);

/* Returns "" when the system's CAs are used. */
const char *tls_client_ca_file(const struct tls_client *client);
const char *tls_client_cert_file(const struct tls_client *client);

#endif
