/* Who we are to an etcd with authentication: the user name, the password, and the token that etcd
 * gave for them, which goes with each call. The inside of etcd.c and etcd_link.c; same loop and
 * thread.
 *
 *     none --get--> asking --token--> have --refused--> none
 *                     `--no--> failed --(back-off over, or the password file has changed)--> none
 *
 * One Authenticate is under way at most, whoever waits for it: it costs etcd 60 ms of a processor.
 * A password file is read for each of them, so that a new password counts from the first refusal on
 * that the old one gets. An etcd that says that authentication is off is served without a token
 * until it asks for one. */
#ifndef COMMON_ETCD_ETCD_AUTH_INTERNAL_H
#define COMMON_ETCD_ETCD_AUTH_INTERNAL_H

#include "common/base/attributes.h"
#include "common/etcd/etcd.h"

struct etcd_auth;
struct etcd_counts;

struct etcd_auth_config {
    struct etcd *etcd;
    const char *username; /* copied, as the others */
    const char *password;
    const char *password_file;  /* NULL or empty: `password` counts */
    struct etcd_counts *counts; /* borrowed */

    /* What etcd_auth_get said ETCD_AUTH_WAIT to is settled: err NULL = ask again. From the loop. */
    void (*on_settled)(void *data, const struct err *err);
    void *data;
};

struct etcd_auth *etcd_auth_new(const struct etcd_auth_config *config);

/* After the client's links. NULL is fine. */
void etcd_auth_free(struct etcd_auth *auth);

enum etcd_auth_state {
    ETCD_AUTH_READY,  /* *ret_token is borrowed until the loop runs on; NULL = none is needed */
    ETCD_AUTH_WAIT,   /* on_settled comes */
    ETCD_AUTH_FAILED, /* *ret_err says why; worth asking again, which soon asks etcd again */
};

/* The generation goes back to etcd_auth_refused. */
enum etcd_auth_state etcd_auth_get(struct etcd_auth *auth, const char **ret_token,
                                   uint64_t *ret_generation, struct err *ret_err) MUST_CHECK;

/* etcd did not take the token of this generation; calls that come late with an older one change
 * nothing. */
void etcd_auth_refused(struct etcd_auth *auth, uint64_t generation);

/* Whether a call's end means that its token was not taken (or that one is needed): such a call has
 * changed nothing and may be sent again. */
bool etcd_auth_is_refusal(int status, const char *message);

#endif
