/* Follows a chain of CNAMEs to addresses. Shared by follow.c (our names), follow_external.c
 * (upstreams) and follow_override.c (aliases, overrides). On the engine's thread. */
#ifndef SKYDNS_ANSWER_FOLLOW_INTERNAL_H
#define SKYDNS_ANSWER_FOLLOW_INTERNAL_H

#include "skydns/answer/follow.h"

/* Limits the synthesized addresses of one answer; further ones are cut. */
enum { FOLLOW_MAPPED_BYTES = 16, FOLLOW_MAPPED_MAX = RR_LIST_MAX * FOLLOW_MAPPED_BYTES };

/* The CNAMEs on the way to addresses. They are added to the answer once an address is found. A flat
 * chain adds none of them: its addresses get the chain's start as their owner name. */
struct follow_chain {
    struct rr_list *out;
    enum follow_families families;
    bool is_for_target; /* for the additional section, where addresses are optional */
    struct slice start; /* the name at the start of the chain */
    bool is_flat;
    uint32_t *flat_ttl_s;        /* flat: the least TTL on the way so far */
    struct follow_chain *parent; /* flat: the chain that leads to its start, or NULL */
    unsigned count;
    unsigned shown; /* the first of `links`, already in `out` */
    struct rr links[FOLLOW_CHAIN_MAX];
};

/* Adds the addresses of a name inside or outside the domains. */
void follow_chain_name(struct follow *f, struct follow_chain *chain, struct slice name);

/* Goes on with the CNAME's target, unless the chain is full or has had that target. */
void follow_chain_link(struct follow *f, struct follow_chain *chain, const struct rr *cname);

/* Follows an external name, given in lower case and with the record's spelling. */
void follow_chain_external(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                           struct slice name);

/* Adds a record that the chain leads to, behind its CNAMEs. */
void follow_chain_add(struct follow_chain *chain, const struct rr *rr);

/* Adds an address to a flat chain; notes only the TTL of a CNAME. */
void follow_chain_add_flat(struct follow_chain *chain, const struct rr *rr);

/* Adds the record's addresses of the chain's families. */
void follow_chain_add_record(struct follow *f, struct follow_chain *chain,
                             const struct store_record *record, struct slice owner);

/* Adds the links that are not in the answer yet. */
void follow_chain_show(struct follow_chain *chain);

/* Adds the addresses of hosts files. Returns true if one has the name: then nothing else counts. */
bool follow_chain_hosts(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                        struct slice name);

/* Follows an external name by the first that has it: aliases, hosts files, overrides. Returns false
 * if none has: then its upstream is queried. */
bool follow_override(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                     struct slice name);

#endif
