/* Reads PEM files for clients and servers. Errors name the file's
 * role and path: -errno if it cannot be read, ERR_SYNTAX if its content is wrong. */
#ifndef COMMON_TLS_TLS_FILES_INTERNAL_H
#define COMMON_TLS_TLS_FILES_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/err.h"

struct ssl_ctx_st;

/* Reports OpenSSL's innermost reason as an error about this file, and clears its queue. Returns
 * ERR_SYNTAX. */
int tls_file_malformed(const char *role, const char *path, struct err *err);

/* Reads the CAs that the peer's certificate may come from. */
int tls_files_read_ca(struct ssl_ctx_st *context, const char *role, const char *path,
                      struct err *err) MUST_CHECK;

/* Reads our certificate with its chain, and the key that belongs to it. */
int tls_files_read_pair(struct ssl_ctx_st *context, const char *cert, const char *key,
                        struct err *err) MUST_CHECK;

/* Serves OpenSSL as the callback for a passphrase: sets the bool that `data` points to, and fails
 * instead of asking on the terminal. */
int tls_no_passphrase(char *out, int size, int is_writing, void *data);

/* Creates a context with what both sides set: TLS 1.2 or later, no renegotiation, no compression;
 * idle sessions hold no buffers. Never returns NULL. */
struct ssl_method_st;
struct ssl_ctx_st *tls_context_new(const struct ssl_method_st *method);

#endif
