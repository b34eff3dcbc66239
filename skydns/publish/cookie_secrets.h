/* Parses the secrets of server cookies (RFC 9018) from -cookie-secret's file, or draws one at the
 * start. Plain data; pure, except cookie_secrets_draw.
 *
 * Servers behind one address share a file, so that each accepts the others' cookies. To replace a
 * secret, add the new one as the last line everywhere, then make it the first, then remove the old
 * one. */
#ifndef SKYDNS_PUBLISH_COOKIE_SECRETS_H
#define SKYDNS_PUBLISH_COOKIE_SECRETS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

enum {
    COOKIE_SECRET_SIZE = 16, /* SipHash's key */
    COOKIE_SECRETS_MAX = 8,  /* a rollover needs two; each costs a wrong cookie one more hash */
    /* The file's limit: that many lines of 32 digits, and as much again for blank lines. */
    COOKIE_SECRETS_FILE_MAX = 1024,
};

struct cookie_secrets {
    size_t count; /* 0: no cookies; clients' are ignored */
    uint8_t items[COOKIE_SECRETS_MAX]
                 [COOKIE_SECRET_SIZE]; /* the first makes cookies, any verifies them */
};

/* Parses one secret a line, 32 hex digits; ignores blank lines and blanks around a secret. Fails,
 * and changes nothing, if there is none, too many, or a line is something else. The message names
 * the line, and repeats nothing of it. */
int cookie_secrets_parse(struct slice text, struct cookie_secrets *ret_secrets,
                         struct err *err) MUST_CHECK;

/* Draws a secret of this process alone. */
void cookie_secrets_draw(struct cookie_secrets *ret_secrets);

#endif
