/* The way to addresses, as follow.c (names, upstreams) and follow_override.c share it. Aliases and
 * overrides are followed in the latter. On the engine's thread. */
#ifndef SKYDNS_ANSWER_FOLLOW_INTERNAL_H
#define SKYDNS_ANSWER_FOLLOW_INTERNAL_H

#include "skydns/answer/follow.h"

/* The CNAMEs on the way to addresses. They are added to the answer when an address turns up; never,
 * if the chain is flat: then its addresses are owned by its start. */
struct follow_chain {
    struct rr_list *out;
    enum follow_families families;
    bool is_for_target; /* for the additional section, where addresses are optional */
    struct slice start; /* the name at the start of the chain */
    bool is_flat;
    uint32_t *flat_ttl_s;        /* of a flat one: the least on the way, so far */
    struct follow_chain *parent; /* of a flat one: that leads to its start, or NULL */
    unsigned count;
    unsigned shown; /* of count, already in out */
    struct rr links[FOLLOW_CHAIN_MAX];
};

/* Adds the addresses of a name inside or outside the domains. */
void follow_chain_name(struct follow *f, struct follow_chain *chain, struct slice name);

/* Goes on with the CNAME's target, unless the chain is full or was there. */
void follow_chain_link(struct follow *f, struct follow_chain *chain, const struct rr *cname);

/* Adds an address; of a CNAME, notes the TTL. */
void follow_chain_add_flat(struct follow_chain *chain, const struct rr *rr);

/* Those whose families are wanted. */
void follow_chain_add_record(struct follow *f, struct follow_chain *chain,
                             const struct store_record *record, struct slice owner);

/* Shows the links that are not in the answer yet. */
void follow_chain_show(struct follow_chain *chain);

/* True: a hosts file has the name, and nothing else counts. */
bool follow_chain_hosts(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                        struct slice name);

/* The first that knows an external name: aliases, hosts files, overrides. False: its upstream. */
bool follow_override(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                     struct slice name);

#endif
