/* Checks PEM texts from files or configuration at once, rather than when a connection fails.
 *
 * Pure. Failures are ERR_SYNTAX with what was expected; the caller adds the file or field. */
#ifndef COMMON_TLS_TLS_PEM_H
#define COMMON_TLS_TLS_PEM_H

#include "common/base/attributes.h"
#include "common/base/err.h"

/* Accepts at least one certificate. */
int tls_pem_check_certificates(const char *pem, struct err *err) MUST_CHECK;

/* Accepts a private key that needs no passphrase. */
int tls_pem_check_key(const char *pem, struct err *err) MUST_CHECK;

/* Accepts valid texts whose key matches the first certificate. */
int tls_pem_check_pair(const char *certificates, const char *key, struct err *err) MUST_CHECK;

#endif
