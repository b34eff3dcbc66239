#include "tests/support/certs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "common/base/cleanup.h"
#include "tests/support/unit_test.h"

struct certs_ca {
    EVP_PKEY *key;
    X509 *certificate;
};

static void certs_extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_true(X509_add_ext(certificate, extension, -1));
    X509_EXTENSION_free(extension);
}

/* Not signed yet. */
static X509 *certs_certificate_new(EVP_PKEY *key, const char *name, long from_s, long to_s)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    assert_true(X509_set_version(certificate, X509_VERSION_3));
    assert_true(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++));
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), from_s));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), to_s));
    assert_true(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                           (const unsigned char *)name, -1, -1, 0));
    assert_true(X509_set_pubkey(certificate, key));
    return certificate;
}

/* A reader sees the old file or the new one, never a partial one. */
static void certs_write_file(const char *folder, const char *name, const char *suffix,
                             X509 *certificate, EVP_PKEY *key)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s.%s", folder, name, suffix);
    CLEANUP_FREE char *new_path = xasprintf("%s.new", path);
    FILE *file = fopen(new_path, "we");
    assert_non_null(file);
    assert_true(certificate ? PEM_write_X509(file, certificate)
                            : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(new_path, path), 0);
}

enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S };

struct certs_ca *certs_ca_new(const char *folder, const char *name)
{
    struct certs_ca *ca = xcalloc(1, sizeof(*ca));
    ca->key = EVP_EC_gen("P-256");
    assert_non_null(ca->key);
    ca->certificate = certs_certificate_new(ca->key, name, -HOUR_S, DAY_S);
    assert_true(X509_set_issuer_name(ca->certificate, X509_get_subject_name(ca->certificate)));
    certs_extend(ca->certificate, ca->certificate, NID_basic_constraints, "critical,CA:TRUE");
    certs_extend(ca->certificate, ca->certificate, NID_key_usage, "critical,keyCertSign");
    certs_extend(ca->certificate, ca->certificate, NID_subject_key_identifier, "hash");
    assert_true(X509_sign(ca->certificate, ca->key, EVP_sha256()));
    certs_write_file(folder, name, "crt", ca->certificate, NULL);
    return ca;
}

void certs_ca_free(struct certs_ca *ca)
{
    if (ca) {
        EVP_PKEY_free(ca->key);
        X509_free(ca->certificate);
        free(ca);
    }
}

void certs_issue(const struct certs_ca *ca, const char *folder, const struct certs_leaf *leaf)
{
    bool is_default = leaf->from_s == 0 && leaf->to_s == 0;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *certificate = certs_certificate_new(key, leaf->name, is_default ? -HOUR_S : leaf->from_s,
                                              is_default ? DAY_S : leaf->to_s);
    assert_true(X509_set_issuer_name(certificate, X509_get_subject_name(ca->certificate)));
    certs_extend(certificate, ca->certificate, NID_ext_key_usage, "serverAuth,clientAuth");
    certs_extend(certificate, ca->certificate, NID_authority_key_identifier, "keyid");
    if (leaf->names) {
        certs_extend(certificate, ca->certificate, NID_subject_alt_name, leaf->names);
    }
    assert_true(X509_sign(certificate, ca->key, EVP_sha256()));
    certs_write_file(folder, leaf->name, "key", NULL, key);
    certs_write_file(folder, leaf->name, "crt", certificate, NULL);
    EVP_PKEY_free(key);
    X509_free(certificate);
}
