/* Warns of a domain without a single key in an etcd data set that has keys of another. That is
 * almost always a typing error: kube2sky's --domain and skydns's -domain differ. One warning names
 * both. Called after each full read; main thread. */
#ifndef SKYDNS_SYNC_DOMAIN_CHECK_INTERNAL_H
#define SKYDNS_SYNC_DOMAIN_CHECK_INTERNAL_H

#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"

struct store;
struct store_keys;

/* Domains warned of; zeroed at first. */
struct domain_check {
    size_t told_count;
    struct dname told[ENGINE_ZONES_MAX]; /* domains warned of, until they have keys */
};

/* Warns of each domain in force that it concerns. store NULL: nothing is read yet. */
void domain_check(struct domain_check *check, const struct store *store,
                  const struct store_keys *keys);

/* Guesses the domain that a key's name is in, by its form: the labels above the last `svc` or
 * `pod`, or the last two. Pure. */
struct dname domain_check_guess(const struct dname *name);

#endif
