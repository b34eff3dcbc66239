#include "common/tls/tls_client.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_COUNT };

static const char *const roles[FILE_COUNT] = {"CA certificate", "certificate", "key"};

/* Identifies a file's content. A mounted Secret becomes another file behind a symbolic link at each
 * change; an overwritten file has other times. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    struct timespec changed;
};

struct tls_client {
    char *paths[FILE_COUNT]; /* "" = none */
    struct stamp stamps[FILE_COUNT];
    SSL_CTX *context;
};

static struct stamp stamp_of(const char *path)
{
    struct stamp stamp;
    struct stat st;
    memset(&stamp, 0, sizeof(stamp)); /* all zero: no file */
    if (path[0] && stat(path, &st) == 0) {
        stamp.device = st.st_dev;
        stamp.inode = st.st_ino;
        stamp.size = st.st_size;
        stamp.modified = st.st_mtim;
        stamp.changed = st.st_ctim;
    }
    return stamp;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

/* ---- Reading ---- */

/* OpenSSL's innermost reason; clears its queue for the next call. */
static int malformed(struct err *err, const char *role, const char *path)
{
    unsigned long error = ERR_peek_error();
    const char *text = ERR_reason_error_string(error);
    bool is_other_key =
        ERR_GET_LIB(error) == ERR_LIB_X509 && ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH;
    ERR_clear_error();
    if (is_other_key) {
        return err_set(err, ERR_SYNTAX, "TLS: %s `%s`: does not match the certificate", role, path);
    }
    return err_set(err, ERR_SYNTAX, "TLS: %s `%s`: not found as PEM (%s)", role, path,
                   text ? text : "no reason given");
}

static int check_readable(const char *role, const char *path, struct err *err)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file || (fgetc(file) == EOF && ferror(file))) { /* a directory opens but cannot be read */
        int code = -errno;
        return err_set(err, code, "TLS: read %s `%s`: %s", role, path, err_code_text(code));
    }
    return 0;
}

static int read_ca(SSL_CTX *context, const char *path, struct err *err)
{
    if (path[0] == '\0') {
        if (SSL_CTX_set_default_verify_paths(context) != 1) {
            ERR_clear_error();
            return err_set(err, ERR_SYNTAX, "TLS: the system's CAs cannot be read");
        }
        return 0;
    }
    int rc = check_readable(roles[FILE_CA], path, err);
    if (rc == 0 && SSL_CTX_load_verify_file(context, path) != 1) {
        rc = malformed(err, roles[FILE_CA], path);
    }
    /* Trusts every certificate in the file, intermediate CAs included, not only self-signed ones.
     */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    return rc;
}

/* Instead of prompting on the terminal. */
static int no_passphrase(char *out, int size, int is_writing, void *data)
{
    (void)out;
    (void)size;
    (void)is_writing;
    *(bool *)data = true;
    return -1;
}

static int read_key(SSL_CTX *context, const char *path, struct err *err)
{
    bool is_encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_encrypted);
    int rc = check_readable(roles[FILE_KEY], path, err);
    if (rc == 0 && SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1) {
        if (is_encrypted) {
            rc = err_set(err, ERR_SYNTAX, "TLS: key `%s`: encrypted; use one without a passphrase",
                         path);
            ERR_clear_error();
        } else {
            rc = malformed(err, roles[FILE_KEY], path);
        }
    }
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return rc;
}

static int read_cert(SSL_CTX *context, const char *cert, const char *key, struct err *err)
{
    if (cert[0] == '\0') {
        return 0;
    }
    int rc = check_readable(roles[FILE_CERT], cert, err);
    if (rc == 0 && SSL_CTX_use_certificate_chain_file(context, cert) != 1) {
        rc = malformed(err, roles[FILE_CERT], cert);
    }
    if (rc == 0) {
        /* A key that does not match is rejected here. */
        rc = read_key(context, key, err);
    }
    if (rc == 0 && SSL_CTX_check_private_key(context) != 1) {
        rc = malformed(err, roles[FILE_KEY], key);
    }
    return rc;
}

static SSL_CTX *context_new(void)
{
    static const unsigned char protocols[] = {2, 'h', '2'};
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols)) != 0) {
        xalloc_out_of_memory(); /* the only failure with such arguments */
    }
    /* RFC 9113 9.2.1 forbids both. */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* The writer's buffer moves and grows between attempts; idle connections keep none of
     * OpenSSL's.
     */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    return context;
}

/* Stamps first: a change during the read is picked up next time. */
static int read_all(struct tls_client *client, struct err *err)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        client->stamps[i] = stamp_of(client->paths[i]);
    }
    SSL_CTX *context = context_new();
    ERR_clear_error();
    int rc = read_ca(context, client->paths[FILE_CA], err);
    if (rc == 0) {
        rc = read_cert(context, client->paths[FILE_CERT], client->paths[FILE_KEY], err);
    }
    if (rc != 0) {
        SSL_CTX_free(context);
        return rc;
    }
    SSL_CTX_free(client->context);
    client->context = context;
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
    for (size_t i = 0; i < FILE_COUNT; i++) {
        client->paths[i] = xstrdup(paths[i] ? paths[i] : "");
    }
    int rc;
    if (!client->paths[FILE_CERT][0] != !client->paths[FILE_KEY][0]) {
        rc = err_set(err, ERR_USAGE, "TLS: set both a certificate and its key, or neither");
    } else {
        rc = read_all(client, err);
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
        const struct stamp now = stamp_of(client->paths[i]);
        is_changed |= !is_same(&now, &client->stamps[i]);
    }
    if (!is_changed) {
        return TLS_UNCHANGED;
    }
    return read_all(client, err) == 0 ? TLS_READ_AGAIN : TLS_KEPT;
}

struct ssl_ctx_st *tls_client_context(const struct tls_client *client)
{
    return client->context;
}

const char *tls_client_ca_file(const struct tls_client *client)
{
    return client->paths[FILE_CA];
}

const char *tls_client_cert_file(const struct tls_client *client)
{
    return client->paths[FILE_CERT];
}
