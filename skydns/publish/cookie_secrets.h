/* The secrets of server cookies (RFC 9018): those of -cookie-secret's file, or one that is drawn at
 * the start. Servers behind one address share a file, so that each accepts the others' cookies; a
 * secret is replaced by adding the new one as the last line everywhere, then making it the first,
 * then removing the old one. Plain data; pure, but for cookie_secrets_draw. */
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
    /* Of the file: that many lines of 32 digits, and as much again for blank lines. */
    COOKIE_SECRETS_FILE_MAX = 1024,
};

struct cookie_secrets {
    size_t count; /* 0: no cookies; clients' are ignored */
    uint8_t items[COOKIE_SECRETS_MAX]
                 [COOKIE_SECRET_SIZE]; /* the first makes cookies, each will do */
};

/* One secret a line, 32 hex digits; blank lines and blanks around a secret are ignored. Fails, and
 * changes nothing, if there is none, too many, or a line is something else; the message names the
 * line, and repeats nothing of it. */
int cookie_secrets_parse(struct slice text, struct cookie_secrets *ret_secrets,
                         struct err *err) MUST_CHECK;

/* A secret of this process alone. */
void cookie_secrets_draw(struct cookie_secrets *ret_secrets);

#endif
