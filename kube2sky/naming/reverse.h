/* The name of an address that several owners may claim: a table address -> claims. The best claim
 * (claims.h) wins; when it goes, the next one takes over. Also converts addresses to keys and back.
 * Pure data, no I/O; single-threaded, owned by the planner. */
#ifndef KUBE2SKY_NAMING_REVERSE_H
#define KUBE2SKY_NAMING_REVERSE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/contract.h"

struct reverse;

struct reverse *reverse_new(void);
void reverse_free(struct reverse *reverse); /* NULL is fine */

/* Called for each address whose name changed, appeared or disappeared. It may call reverse_winner,
 * and must not change the table. */
typedef void (*reverse_changed_fn)(void *data, const struct ip *ip);

/* Replaces the claims of the owner ("svc/default/web") by these (sealed). */
void reverse_set(struct reverse *reverse, struct slice owner, const struct claims *claims,
                 reverse_changed_fn changed, void *data);

/* Replaces these claims of the owner (sealed) by those, and leaves its others alone. */
void reverse_change(struct reverse *reverse, struct slice owner, const struct claims *gone,
                    const struct claims *come, reverse_changed_fn changed, void *data);

struct reverse_winner {
    struct slice host;
    struct slice owner;
};

/* The address's name and its claimant, borrowed until the next reverse_set. False: unclaimed. */
bool reverse_winner(const struct reverse *reverse, const struct ip *ip,
                    struct reverse_winner *ret_winner);

/* Addresses that have a name. */
size_t reverse_count(const struct reverse *reverse);

/* ---- Keys ---- */

/* Longest key: the prefix and 32 nibbles. */
enum { REVERSE_KEY_MAX = sizeof(REVERSE_V6_TREE) + 64 };

/* Appends "/skydns/arpa/in-addr/10/0/0/1", "/skydns/arpa/ip6/f/d/0/0/...". */
void reverse_key(const struct ip *ip, struct buf *out);

/* The address of such a key. False if it is not one, or not in reverse_key's form, so that we
 * cannot have written it. */
bool reverse_parse_key(struct slice key, struct ip *ret_ip) MUST_CHECK;

#endif
