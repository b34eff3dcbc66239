/* Follows external names by -alias and -overrides, before their upstreams are queried. */
#include "skydns/answer/follow_internal.h"
#include "skydns/answer/override_match.h"
#include "skydns/answer/rrsynth_internal.h"

void follow_chain_add_flat(struct follow_chain *chain, const struct rr *rr)
{
    struct rr flat = *rr;
    flat.owner = chain->start;
    if (rr->ttl_s < *chain->flat_ttl_s) {
        *chain->flat_ttl_s = rr->ttl_s;
    }
    if (rr->type == RR_CNAME) {
        return;
    }
    if (chain->parent) {
        follow_chain_show(chain->parent);
    }
    rr_list_add(chain->out, &flat);
}

static void follow_override_add_alias(struct follow *f, struct follow_chain *chain,
                                      const struct dname *target, struct slice name)
{
    const struct rr cname = {
        .owner = name, .ttl_s = UINT32_MAX, .type = RR_CNAME, .data = rr_name(target)};
    follow_chain_link(f, chain, &cname);
}

/* Adds the records that the client may see. The caller releases the span. */
static void add_flat_records(struct follow *f, struct follow_chain *chain,
                             const struct lookup_span *span, struct slice name)
{
    for (size_t i = 0; i < span->count && !chain->out->is_cut && !follow_is_scan_deferred(f); i++) {
        const struct store_record *record = lookup_record(f->lookup, span, i);
        if (!override_shows(f, record)) {
            continue;
        }
        if (record->host == STORE_HOST_NAME) {
            const struct rr cname = rrsynth_pointer(f->config, record, name, RR_CNAME);
            follow_chain_link(f, chain, &cname);
        }
        follow_chain_add_record(f, chain, record, name);
    }
}

/* Adds what the match has to a flat chain. Returns false if it has none of the chain's families. */
static bool add_matched(struct follow *f, struct follow_chain *chain,
                        const struct override_match *match, struct slice name)
{
    if (match->is_deferred) {
        return true;
    }
    if ((match->families & chain->families) == 0) {
        return false;
    }
    if (match->is_alias) {
        follow_override_add_alias(f, chain, &match->target, name);
    } else {
        add_flat_records(f, chain, &match->span, name);
    }
    return true;
}

static bool follow_override_flatten(struct follow *f, struct follow_chain *chain,
                                    const struct override_match *match, struct slice name)
{
    if (chain->is_flat) {
        return add_matched(f, chain, match, name);
    }
    uint32_t ttl_s = UINT32_MAX;
    struct follow_chain flat = {
        .out = chain->out,
        .families = chain->families,
        .is_for_target = chain->is_for_target,
        .start = name,
        .is_flat = true,
        .flat_ttl_s = &ttl_s,
        .parent = chain,
    };
    const bool is_endless = f->is_endless;
    const bool is_known = add_matched(f, &flat, match, name);
    f->is_endless = is_endless; /* a loop within a target fails only that target */
    return is_known;
}

bool follow_override(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                     struct slice name)
{
    struct override_match match;
    if (!override_may_match(f->config, f->view.store) || engine_config_zone(f->config, lower)) {
        return follow_chain_hosts(f, chain, lower, name); /* a stub zone may be below a domain */
    }
    bool is_known =
        override_match_alias(f, lower, &match) && follow_override_flatten(f, chain, &match, name);
    if (is_known) {
        return true;
    }
    if (follow_chain_hosts(f, chain, lower, name)) {
        return true;
    }
    if (override_match_records(f, lower, &match)) {
        is_known = follow_override_flatten(f, chain, &match, name);
        override_match_end(f, &match);
    }
    return is_known;
}

static struct follow_chain flat_chain(struct follow *follow, struct slice owner,
                                      enum follow_families families, struct rr_list *out)
{
    return (struct follow_chain){.out = out,
                                 .families = families,
                                 .start = owner,
                                 .is_flat = true,
                                 .flat_ttl_s = &follow->flat_ttl_s};
}

bool follow_flat(struct follow *follow, const struct override_match *match, struct slice name,
                 enum follow_families families, struct rr_list *out)
{
    struct follow_chain chain = flat_chain(follow, name, families, out);
    follow->is_flat = true;
    return add_matched(follow, &chain, match, name);
}

void follow_flat_records(struct follow *follow, const struct lookup_span *span, struct slice owner,
                         enum follow_families families, struct rr_list *out)
{
    struct follow_chain chain = flat_chain(follow, owner, families, out);
    add_flat_records(follow, &chain, span, owner);
}
