#include "common/tls/tls_pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_files_internal.h"

static BIO *open_text(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    if (!bio) {
        xalloc_out_of_memory();
    }
    return bio;
}

/* Reports OpenSSL's reason; clears its queue for the next call. */
static int tls_pem_malformed(struct err *err, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    err_set(err, ERR_SYNTAX, "expected %s as PEM text (%s)", what, reason ? reason : "none found");
    ERR_clear_error();
    return ERR_SYNTAX;
}

/* Returns NULL if there is none. */
static X509 *read_certificate(const char *pem)
{
    BIO *bio = open_text(pem);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    return certificate;
}

static EVP_PKEY *tls_pem_read_key(const char *pem, bool *ret_is_encrypted)
{
    BIO *bio = open_text(pem);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, ret_is_encrypted);
    BIO_free(bio);
    return key;
}

int tls_pem_check_certificates(const char *pem, struct err *err)
{
    X509 *certificate = read_certificate(pem);
    if (!certificate) {
        return tls_pem_malformed(err, "a certificate");
    }
    X509_free(certificate);
    return 0;
}

int tls_pem_check_key(const char *pem, struct err *err)
{
    bool is_encrypted = false;
    EVP_PKEY *key = tls_pem_read_key(pem, &is_encrypted);
    if (is_encrypted) {
        ERR_clear_error();
        EVP_PKEY_free(key);
        return err_set(err, ERR_SYNTAX, "encrypted; expected a private key without a passphrase");
    }
    if (!key) {
        return tls_pem_malformed(err, "a private key");
    }
    EVP_PKEY_free(key);
    return 0;
}

int tls_pem_check_pair(const char *certificates, const char *key_text, struct err *err)
{
    bool is_encrypted = false;
    X509 *certificate = read_certificate(certificates);
    EVP_PKEY *key = tls_pem_read_key(key_text, &is_encrypted);
    bool fits = certificate && key && X509_check_private_key(certificate, key) == 1;
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    return fits ? 0 : err_set(err, ERR_SYNTAX, "the key does not match the certificate");
}
