/* Are PEM texts what TLS needs them to be? For who takes them from files or configuration and wants
 * to say at once what is wrong with them, before some connection fails. Pure. Failures are
 * ERR_SYNTAX, with what was expected; who calls says of which file or field. */
#ifndef COMMON_TLS_TLS_PEM_H
#define COMMON_TLS_TLS_PEM_H

#include "common/base/attributes.h"
#include "common/base/err.h"

/* At least one certificate. */
int tls_pem_check_certificates(const char *pem, struct err *err) MUST_CHECK;

/* A private key that needs no passphrase. */
int tls_pem_check_key(const char *pem, struct err *err) MUST_CHECK;

/* Both are what they should be: the key is that of the first certificate. */
int tls_pem_check_pair(const char *certificates, const char *key, struct err *err) MUST_CHECK;

#endif
