/* What a TLS client trusts and shows: a CA file, a certificate and its key, in PEM, read again when
 * they change on disk. Used by the etcd client, one for all its connections; the loop's thread
 * only.
 *
 * Without a CA file the system's roots are trusted; without a certificate none is shown. TLS 1.2 or
 * later. */
#ifndef COMMON_TLS_TLS_CLIENT_H
#define COMMON_TLS_TLS_CLIENT_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct tls_client;
struct ssl_ctx_st;

struct tls_files {
    const char *ca;   /* NULL or "" in all of them: none */
    const char *cert; /* with the chain to the CA, if there is one; only with a key */
    const char *key;  /* not encrypted */
};

bool tls_files_any(const struct tls_files *files);

/* Reads the files; their names are copied. A message that names the file: -errno when it cannot be
 * read, ERR_SYNTAX when it is not what it should be, ERR_USAGE for a certificate without a key. */
int tls_client_new(const struct tls_files *files, struct tls_client **ret,
                   struct err *err) MUST_CHECK;
void tls_client_free(struct tls_client *client);

enum tls_refresh { TLS_UNCHANGED, TLS_READ_AGAIN, TLS_KEPT };

/* Reads the files again if one of them is another than the last time: for the beginning of a
 * connection. TLS_KEPT: what they hold now cannot be used, with the reason in err, and what was
 * read before stays in use; said once for each change of the files. */
enum tls_refresh tls_client_refresh(struct tls_client *client, struct err *err);

/* For connections begun now; borrowed, each keeps what it began with. */
struct ssl_ctx_st *tls_client_context(const struct tls_client *client);

/* "" when the system's roots are used. */
const char *tls_client_ca_file(const struct tls_client *client);
const char *tls_client_cert_file(const struct tls_client *client);

#endif
