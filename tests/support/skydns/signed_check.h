/* Judges a reply as a validator does (RFC 4035 5): every RRset of a signed zone has signatures that
 * libcrypto finds good, and a denial is proved by its NSEC records alone. Shares no code with
 * skydns/answer but the reading of names. */
#ifndef TESTS_SUPPORT_SKYDNS_SIGNED_CHECK_H
#define TESTS_SUPPORT_SKYDNS_SIGNED_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/dnssec/signing_key.h"

enum { SIGNED_CHECK_KEYS_MAX = 16, SIGNED_CHECK_UNSIGNED_MAX = 8 };

struct signed_check {
    size_t key_count;
    struct signing_key *keys[SIGNED_CHECK_KEYS_MAX]; /* their owners are the signed zones */
    size_t unsigned_count;
    const char *unsigned_zones[SIGNED_CHECK_UNSIGNED_MAX]; /* below them; and what is outside */
    int64_t now_s;
    bool may_be_open; /* CNAMEs may be all that there is: who asks goes on at their end */
    /* Names in lower case that exist, which no NSEC record may cover. */
    size_t name_count;
    const struct dname *names;
};

/* NULL, or what is wrong; valid until the next call. A reply whose question has no signed zone, and
 * one with TC, SERVFAIL or REFUSED, must have no signature. */
const char *signed_check(const struct signed_check *check, const uint8_t *wire, size_t len);

#endif
