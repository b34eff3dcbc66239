/* tls_pem: valid texts, and the messages for invalid ones. */
#include "common/tls/tls_pem.h"

#include <unistd.h>

#include "tests/support/certs.h"
#include "tests/support/unit_test.h"

static char dir[] = "/tmp/test_tls_pem.XXXXXX";
static char texts[4][8192]; /* a.crt, a.key, b.crt, b.key */
enum { A_CRT, A_KEY, B_CRT, B_KEY };

static void take_file(const char *name, char *out)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(out, 1, sizeof(texts[0]) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(unlink(path), 0);
}

static int make_texts(void **state)
{
    assert_non_null(mkdtemp(dir));
    struct certs_ca *ca = certs_ca_new(dir, "ca");
    certs_issue(ca, dir, &(struct certs_leaf){.name = "a"});
    certs_issue(ca, dir, &(struct certs_leaf){.name = "b"});
    certs_ca_free(ca);
    take_file("a.crt", texts[A_CRT]);
    take_file("a.key", texts[A_KEY]);
    take_file("b.crt", texts[B_CRT]);
    take_file("b.key", texts[B_KEY]);
    take_file("ca.crt", (char[sizeof(texts[0])]){0});
    return rmdir(dir);
}

UNIT_TESTS_ONCE(make_texts, NULL)

UNIT_TEST(test_right_ones)
{
    struct err err;
    CLEANUP_FREE char *chain = xasprintf("a comment\n%s%s", texts[A_CRT], texts[B_CRT]);
    assert_int_equal(tls_pem_check_certificates(chain, &err), 0);
    assert_int_equal(tls_pem_check_key(texts[A_KEY], &err), 0);
    assert_int_equal(tls_pem_check_pair(chain, texts[A_KEY], &err), 0);
}

/* "secret" encrypts it: openssl genpkey -algorithm ed25519 -aes256. */
static const char encrypted[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                                "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAieAYaoMbK9LwICCAAw\n"
                                "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEH0Wc5hYJBY5C9BazjdCRQEEQAKQ\n"
                                "uxMUOu3MprFrtFSycVUdhmSYSvI58ifiQMV3JdQXstdZ64rgfCuw/HItjPtjIkOY\n"
                                "/T4KcJQuIvcyuqcMp9A=\n"
                                "-----END ENCRYPTED PRIVATE KEY-----\n";

UNIT_TEST(test_wrong_ones)
{
    const struct {
        int (*check)(const char *pem, struct err *err);
        const char *text, *want;
    } cases[] = {
        {tls_pem_check_certificates, "", "expected a certificate as PEM text (no start line)"},
        {tls_pem_check_certificates, texts[A_KEY],
         "expected a certificate as PEM text (no start line)"},
        {tls_pem_check_certificates,
         "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n",
         "expected a certificate as PEM text ("},
        {tls_pem_check_key, texts[A_CRT], "expected a private key as PEM text ("},
        {tls_pem_check_key, encrypted, "encrypted; expected a private key without a passphrase"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        assert_int_equal(cases[i].check(cases[i].text, &err), ERR_SYNTAX);
        assert_that(strncmp(err.msg, cases[i].want, strlen(cases[i].want)) == 0, "case %zu: %s", i,
                    err.msg);
    }
    struct err err = {0};
    assert_int_equal(tls_pem_check_pair(texts[A_CRT], texts[B_KEY], &err), ERR_SYNTAX);
    assert_string_equal(err.msg, "the key does not match the certificate");
}
