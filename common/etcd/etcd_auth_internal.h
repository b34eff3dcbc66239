/* Authenticates us to etcd: user name, password, and the token that etcd issues for them. Each call
 * sends the token. Internal to etcd.c and etcd_link.c; same loop and thread.
 *
 *     none --get--> asking --token--> have --refused--> none
 *                     `--no--> failed --(backoff over, or the password file has changed)--> none
 *
 * At most one Authenticate is in flight, however many calls wait for it: it costs etcd 60 ms of
 * CPU. Each one rereads the password file, so a new password takes effect as soon as etcd refuses
 * the old token. If etcd reports authentication off, calls go without a token until it asks for
 * one. */
#ifndef COMMON_ETCD_ETCD_AUTH_INTERNAL_H
#define COMMON_ETCD_ETCD_AUTH_INTERNAL_H

#include "common/base/attributes.h"
#include "common/etcd/etcd.h"

struct etcd_auth;
struct etcd_counts;

struct etcd_auth_config {
    struct etcd *etcd;
    const char *username; /* copied, like the passwords */
    const char *password;
    const char *password_file;  /* NULL or empty: use `password` */
    struct etcd_counts *counts; /* borrowed */
};

/* Notes that the ETCD_AUTH_WAIT of etcd_auth_get is over. err NULL: call it again. From the loop;
 * in etcd.c. */
void etcd_auth_settled(const struct etcd *etcd, const struct err *err);

struct etcd_auth *etcd_auth_new(const struct etcd_auth_config *config);

/* Free the client's links first. NULL is fine. */
void etcd_auth_free(struct etcd_auth *auth);

enum etcd_auth_state {
    ETCD_AUTH_READY,  /* *ret_token is borrowed until the loop runs on; NULL = none needed */
    ETCD_AUTH_WAIT,   /* etcd_auth_settled follows */
    ETCD_AUTH_FAILED, /* *ret_err says why; call again later: after a backoff it asks etcd again */
};

/* Returns the token and its generation, which etcd_auth_refused needs. */
enum etcd_auth_state etcd_auth_get(struct etcd_auth *auth, const char **ret_token,
                                   uint64_t *ret_generation, struct err *ret_err) MUST_CHECK;

/* Drops the token of this generation, which etcd refused. Ignores an older generation, from a late
 * call. */
void etcd_auth_refused(struct etcd_auth *auth, uint64_t generation);

/* Returns whether a call ended because its token was refused or missing. Such a call changed
 * nothing and may be resent. */
bool etcd_auth_is_refusal(int status, const char *message);

#endif
