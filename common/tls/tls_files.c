#include "common/tls/tls_files_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

int tls_file_malformed(const char *role, const char *path, struct err *err)
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

int tls_files_read_ca(struct ssl_ctx_st *context, const char *role, const char *path,
                      struct err *err)
{
    int rc = check_readable(role, path, err);
    if (rc == 0 && SSL_CTX_load_verify_file(context, path) != 1) {
        rc = tls_file_malformed(role, path, err);
    }
    /* Trusts every certificate in the file, intermediate CAs included, not only self-signed ones.
     */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    return rc;
}

int tls_no_passphrase(char *out UNUSED, int size UNUSED, int is_writing UNUSED, void *data)
{
    *(bool *)data = true;
    return -1;
}

static int tls_files_read_key(SSL_CTX *context, const char *path, struct err *err)
{
    bool is_encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, tls_no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_encrypted);
    int rc = check_readable("key", path, err);
    if (rc == 0 && SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1) {
        if (is_encrypted) {
            rc = err_set(err, ERR_SYNTAX, "TLS: key `%s`: encrypted; use one without a passphrase",
                         path);
            ERR_clear_error();
        } else {
            rc = tls_file_malformed("key", path, err);
        }
    }
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return rc;
}

int tls_files_read_pair(struct ssl_ctx_st *context, const char *cert, const char *key,
                        struct err *err)
{
    int rc = check_readable("certificate", cert, err);
    if (rc == 0 && SSL_CTX_use_certificate_chain_file(context, cert) != 1) {
        rc = tls_file_malformed("certificate", cert, err);
    }
    if (rc == 0) {
        /* Rejects a key that does not match the certificate. */
        rc = tls_files_read_key(context, key, err);
    }
    if (rc == 0 && SSL_CTX_check_private_key(context) != 1) {
        rc = tls_file_malformed("key", key, err);
    }
    return rc;
}

struct ssl_ctx_st *tls_context_new(const struct ssl_method_st *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        xalloc_out_of_memory(); /* the only failure with such arguments */
    }
    /* RFC 9113 9.2.1 forbids renegotiation and compression. A peer that closes its side without
     * close_notify, as many do, still gets what is left to send: framing above tells whether a
     * message is whole. */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* The writer's buffer moves and grows between attempts; idle connections hold none of
     * OpenSSL's. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    return context;
}
