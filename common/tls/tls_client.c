#include "common/tls/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/file_stamp.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_files_internal.h"

enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_COUNT };

struct tls_client {
    char *paths[FILE_COUNT]; /* "" = none */
    bool without_ca;
    struct file_stamp stamps[FILE_COUNT];
    SSL_CTX *context;
    uint64_t generation;
};

static int read_ca(SSL_CTX *context, const char *path, struct err *err)
{
    if (path[0]) {
        return tls_files_read_ca(context, "CA certificate", path, err);
    }
    if (SSL_CTX_set_default_verify_paths(context) != 1) {
        ERR_clear_error();
        return err_set(err, ERR_SYNTAX, "TLS: the system's CAs cannot be read");
    }
    return 0;
}

/* Takes the stamps first, so that a change during the read is noticed next time. */
static int tls_client_read_all(struct tls_client *client, struct err *err)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        client->stamps[i] = file_stamp_at(client->paths[i]);
    }
    SSL_CTX *context = tls_context_new(TLS_client_method());
    ERR_clear_error();
    int rc = client->without_ca ? 0 : read_ca(context, client->paths[FILE_CA], err);
    if (rc == 0 && client->paths[FILE_CERT][0]) {
        rc = tls_files_read_pair(context, client->paths[FILE_CERT], client->paths[FILE_KEY], err);
    }
    if (rc != 0) {
        SSL_CTX_free(context);
        return rc;
    }
    SSL_CTX_free(client->context);
    client->context = context;
    static _Atomic uint64_t generations; /* no two contexts of the process share one */
    client->generation = atomic_fetch_add_explicit(&generations, 1, memory_order_relaxed);
    return 0;
}

/* ---- Lifecycle ---- */

bool tls_files_any(const struct tls_files *files)
{
    return (files->ca && files->ca[0]) || (files->cert && files->cert[0]) ||
           (files->key && files->key[0]);
}

int tls_client_new(const struct tls_files *files, struct tls_client **ret, struct err *err)
{
    const char *const paths[FILE_COUNT] = {files->ca, files->cert, files->key};
    struct tls_client *client = xcalloc(1, sizeof(*client));
    client->without_ca = files->without_ca;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        client->paths[i] = xstrdup(paths[i] ? paths[i] : "");
    }
    int rc;
    if (!client->paths[FILE_CERT][0] != !client->paths[FILE_KEY][0]) {
        rc = err_set(err, ERR_USAGE, "TLS: set both a certificate and its key, or neither");
    } else {
        rc = tls_client_read_all(client, err);
    }
    if (rc != 0) {
        tls_client_free(client);
        return rc;
    }
    *ret = client;
    return 0;
}

void tls_client_free(struct tls_client *client)
{
    if (client) {
        for (size_t i = 0; i < FILE_COUNT; i++) {
            free(client->paths[i]);
        }
        SSL_CTX_free(client->context);
        free(client);
    }
}

enum tls_refresh tls_client_refresh(struct tls_client *client, struct err *err)
{
    bool is_changed = false;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        const struct file_stamp now = file_stamp_at(client->paths[i]);
        is_changed |= !file_stamp_is_same(&now, &client->stamps[i]);
    }
    if (!is_changed) {
        return TLS_UNCHANGED;
    }
    return tls_client_read_all(client, err) == 0 ? TLS_READ_AGAIN : TLS_READ_FAILED;
}

struct ssl_ctx_st *tls_client_context(const struct tls_client *client)
{
    return client->context;
}

uint64_t tls_client_generation(const struct tls_client *client)
{
    return client->generation;
}

const char *tls_client_ca_file(const struct tls_client *client)
{
    return client->paths[FILE_CA];
}

const char *tls_client_cert_file(const struct tls_client *client)
{
    return client->paths[FILE_CERT];
}
