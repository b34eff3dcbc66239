/* Certificates for tests, made with libcrypto: a CA and the leaves it signs, as PEM files in a
 * folder. Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_CERTS_H
#define TESTS_SUPPORT_CERTS_H

struct certs_ca;

/* Writes FOLDER/NAME.crt. */
struct certs_ca *certs_ca_new(const char *folder, const char *name);
void certs_ca_free(struct certs_ca *ca); /* NULL is fine */

struct certs_leaf {
    const char *name;  /* FOLDER/NAME.crt and FOLDER/NAME.key, each replaced atomically */
    const char *names; /* "DNS:localhost,IP:127.0.0.1"; NULL = none */
    long from_s;       /* validity, seconds from now; both 0: from an hour ago for a day */
    long to_s;
};

void certs_issue(const struct certs_ca *ca, const char *folder, const struct certs_leaf *leaf);

#endif
