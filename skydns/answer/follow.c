#include "skydns/answer/follow_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/answer/address_pick.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/answer_kube.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/rrsynth_internal.h"
#include "skydns/records/store_ready.h"

void follow_init(struct follow *follow, const struct answer_input *in)
{
    *follow = (struct follow){.in = in,
                              .lookup = lookup_new(ENGINE_SCAN_MAX),
                              .pick = xcalloc(1, sizeof(*follow->pick)),
                              .cached = xcalloc(1, sizeof(*follow->cached))};
    cached_targets_init(follow->cached);
    rr_list_init(&follow->targets);
    buf_init(&follow->mapped, FOLLOW_MAPPED_MAX);
}

void follow_fini(struct follow *follow)
{
    lookup_free(follow->lookup);
    free(follow->pick);
    cached_targets_fini(follow->cached);
    free(follow->cached);
    rr_list_fini(&follow->targets);
    buf_fini(&follow->mapped);
}

void follow_start(struct follow *follow)
{
    follow->is_some = false;
    follow->is_deferred = false;
    follow->has_failed = false;
    follow->is_open = false;
    follow->is_lacking = false;
    follow->far_count = 0;
    follow->is_endless = false;
    follow->is_flat = false;
    follow->flat_ttl_s = UINT32_MAX;
    follow->unasked_count = 0;
    follow->missed = 0;
    follow->added = follow->added_cached = 0;
    follow->added_mapped = follow->added_cached_mapped = 0;
    buf_clear(&follow->mapped);
    cached_targets_start(follow->cached);
    follow->deferral->question_count = 0;
    follow->deferral->lacks_target = false;
    follow->deferral->keeps_name = follow->deferral->needs_recursion = false;
    rr_list_clear(&follow->targets);
    lookup_start(follow->lookup);
}

void follow_end(struct follow *follow)
{
    const struct cached_targets *cached = follow->cached;
    if (!follow->is_deferred) {
        cached_targets_count(cached, follow->in->cached);
    }
    for (unsigned i = 0; i < follow->missed; i++) {
        cache_access_miss(follow->in->cached, follow->in->query);
    }
    if (follow->may_ask) {
        cached_targets_refresh(cached, follow->deferral);
    }
}

size_t follow_visits(const struct follow *follow)
{
    return follow->in->may_scan   ? LOOKUP_RECORDS_MAX
           : follow->in->is_brief ? ENGINE_BRIEF_MAX
                                  : ENGINE_SCAN_MAX;
}

bool follow_defer_scan(struct follow *follow)
{
    if (follow->in->may_scan) {
        return false;
    }
    follow->is_deferred = true;
    follow->deferral->kind = ENGINE_DEFER_SCAN;
    return true;
}

bool follow_is_scan_deferred(const struct follow *follow)
{
    return follow->is_deferred && follow->deferral->kind == ENGINE_DEFER_SCAN;
}

void follow_chain_show(struct follow_chain *chain)
{
    if (chain->is_flat) {
        return;
    }
    for (; chain->shown < chain->count; chain->shown++) {
        rr_list_add(chain->out, &chain->links[chain->shown]);
    }
}

void follow_chain_add(struct follow_chain *chain, const struct rr *rr)
{
    if (chain->is_flat) {
        follow_chain_add_flat(chain, rr);
        return;
    }
    follow_chain_show(chain);
    rr_list_add(chain->out, rr);
}

/* ---- Rules ---- */

static bool is_kubernetes(const struct follow *f)
{
    return f->config->settings.schema == ENGINE_SCHEMA_KUBERNETES;
}

/* Returns NULL, whatever the keys say, for names that the Kubernetes specification and -pods
 * reserve.
 */
const struct store_record *follow_alias(const struct view *view, const struct engine_zone *zone,
                                        const struct dname *name)
{
    const struct engine_config *config = view->config;
    if (config->settings.schema != ENGINE_SCHEMA_KUBERNETES || dname_equal(name, &zone->version) ||
        (config->settings.pods != ENGINE_PODS_VERIFIED && zone->pods.len > 0 &&
         dname_is_within(name, &zone->pods)) ||
        !kube_has_data(zone, name, DNS_TYPE_CNAME)) {
        return NULL;
    }
    return lookup_alias(view, name);
}

bool follow_is_hidden(const struct view *view, const struct engine_zone *domain,
                      const struct dname *name)
{
    return lookup_is_hidden(view, name, follow_rule(view->config, domain));
}

/* ---- The nearest ---- */

struct near follow_near(const struct follow *follow, const struct dname *name)
{
    return near_of(follow->config, follow->in->client.zone, rr_name(name));
}

void follow_keep_near(struct follow *follow, const struct dname *name, struct lookup_span *span)
{
    const struct near near = follow_near(follow, name);
    follow->far_count += lookup_keep_near(follow->lookup, &near, span);
}

/* ---- More addresses than are prepared ---- */

/* A name with many addresses. */
struct many {
    const struct store_node *node;
    struct store_tally tally;
    struct near near;
};

/* Picks addresses of one family and charges this answer's visits. Returns false when it needs too
 * many visits. */
static bool follow_pick(struct follow *f, const struct many *many, unsigned family_bytes)
{
    size_t count = store_tally_of_family(&many->tally, family_bytes);
    size_t enough = address_pick_enough(family_bytes, f->in->reply_limit);
    size_t visits = lookup_visits_left(f->lookup);
    const struct address_wanted wanted = {
        .config = f->config,
        .node = many->node,
        .family_bytes = family_bytes,
        .reply_limit = f->in->reply_limit,
        .visits_max = visits < UINT32_MAX ? (uint32_t)visits : UINT32_MAX,
        .random = f->in->random,
        .near = many->near,
    };
    if ((count < enough ? count : enough) > visits) {
        return false;
    }
    bool is_done = address_pick(f->pick, &wanted);
    lookup_allow(f->lookup, visits - f->pick->visits);
    return is_done;
}

/* Returns whether a response cannot hold all addresses of the family. */
static bool is_too_many(struct follow *f, const struct many *many, unsigned family_bytes)
{
    return store_tally_of_family(&many->tally, family_bytes) >=
               address_pick_enough(family_bytes, f->in->reply_limit) &&
           follow_pick(f, many, family_bytes) && !f->pick->is_all;
}

/* Adds a target with many addresses: the additional section has all of them or none. */
static bool add_target_of_many(struct follow *f, const struct many *many, struct rr_list *out)
{
    out->is_cut = out->is_cut || is_too_many(f, many, 4) || is_too_many(f, many, 16);
    return out->is_cut;
}

/* Adds many addresses. Some are enough when a response cannot hold all, whatever CNAMEs there are.
 * All of them are added when their order is random. */
static bool add_many(struct follow *f, struct follow_chain *chain, const struct store_node *node,
                     const struct dname *name, struct slice owner)
{
    struct many many = {.node = node, .tally = store_node_tally(node)};
    unsigned family_bytes = chain->families == FOLLOW_A ? 4 : 16;
    if (store_visible_count(node) <= STORE_READY_MAX || many.tally.groups > 0 ||
        many.tally.rrs > 0) {
        return false;
    }
    many.near = follow_near(f, name);
    if (chain->families == FOLLOW_BOTH) {
        return add_target_of_many(f, &many, chain->out);
    }
    if (!is_too_many(f, &many, family_bytes) &&
        (many.tally.names > 0 || !f->config->settings.round_robin ||
         !follow_pick(f, &many, family_bytes))) {
        return false;
    }
    f->far_count += f->pick->far;
    for (size_t i = 0; i < f->pick->count; i++) {
        struct rr rr = rrsynth_address(f->config, f->pick->records[i], owner);
        rr.ttl_s = f->pick->ttl_s;
        follow_chain_add(chain, &rr);
    }
    return true;
}

bool follow_many(struct follow *follow, const struct store_node *node, const struct dname *name,
                 struct slice owner, enum follow_families families, struct rr_list *out)
{
    struct follow_chain chain = {.out = out, .families = families, .start = owner};
    return add_many(follow, &chain, node, name, owner);
}

/* ---- Names ---- */

static void follow_host(struct follow *f, struct follow_chain *chain,
                        const struct store_record *record, struct slice owner);
static void follow_add_addresses(struct follow *f, struct follow_chain *chain,
                                 const struct lookup_span *span, struct slice owner);

/* Adds the addresses of a name inside or outside the domain. */
void follow_chain_name(struct follow *f, struct follow_chain *chain, struct slice name)
{
    const struct dname lower = dname_lower_of(name);
    const struct engine_zone *zone = engine_config_zone(f->config, &lower);
    bool is_hidden = zone && follow_is_hidden(&f->view, zone, &lower);
    if (!zone || (!is_hidden && engine_config_stub(f->config, &lower, DNS_TYPE_A, zone))) {
        follow_chain_external(f, chain, &lower, name);
        return;
    }
    f->is_lacking = f->is_lacking || zone->is_incomplete;
    if (is_hidden) {
        return; /* as if it did not exist */
    }
    const struct store_record *alias = follow_alias(&f->view, zone, &lower);
    if (alias) {
        follow_host(f, chain, alias, name);
        return;
    }
    if (is_kubernetes(f) && !kube_has_data(zone, &lower, DNS_TYPE_A)) {
        return; /* a client that asks about it gets none either */
    }
    const struct store_node *node = lookup_node(&f->view, &lower, follow_rule(f->config, zone));
    if (node && add_many(f, chain, node, &lower, name)) {
        return;
    }
    struct lookup_span span;
    switch (lookup_find(f->lookup, &f->view, &lower, follow_rule(f->config, zone), &span)) {
    case LOOKUP_FOUND:
        lookup_keep_group(f->lookup, &span);
        follow_keep_near(f, &lower, &span);
        follow_add_addresses(f, chain, &span, name);
        lookup_release(f->lookup, &span);
        break;
    case LOOKUP_ABSENT:
        break;
    case LOOKUP_LIMIT:
        (void)follow_defer_scan(f); /* else this name gets no addresses */
        break;
    }
}

/* Returns whether the chain already went through the target. */
static bool is_loop(const struct follow_chain *chain, struct slice target)
{
    for (unsigned i = 0; i < chain->count; i++) {
        if (rr_same_name(chain->links[i].data, target)) {
            return true;
        }
    }
    return rr_same_name(chain->start, target);
}

static void follow_host(struct follow *f, struct follow_chain *chain,
                        const struct store_record *record, struct slice owner)
{
    const struct rr cname = rrsynth_pointer(f->config, record, owner, RR_CNAME);
    follow_chain_link(f, chain, &cname);
}

void follow_chain_link(struct follow *f, struct follow_chain *chain, const struct rr *cname)
{
    if (chain->count == FOLLOW_CHAIN_MAX || is_loop(chain, cname->data)) {
        f->is_endless = f->is_endless || chain->is_flat;
        return;
    }
    chain->links[chain->count++] = *cname;
    if (chain->is_flat) {
        follow_chain_add_flat(chain, cname);
    }
    if (is_kubernetes(f)) {
        follow_chain_show(chain); /* an alias gives its CNAME, whatever it points to */
    }
    follow_chain_name(f, chain, cname->data);
    chain->count--;
    if (chain->shown > chain->count) {
        chain->shown = chain->count;
    }
}

static bool follow_is_wanted(const struct follow_chain *chain, const struct store_record *record)
{
    return record->host == STORE_HOST_IP &&
           (chain->families & (record->host_len == 4 ? FOLLOW_A : FOLLOW_AAAA)) != 0;
}

/* Adds the addresses of the record's `rr`. */
static void add_packed_addresses(struct follow *f, struct follow_chain *chain,
                                 const struct store_record *record, struct slice owner)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    while (record_rrs_next(&r, &packed)) {
        if ((packed.type == DNS_TYPE_A && (chain->families & FOLLOW_A)) ||
            (packed.type == DNS_TYPE_AAAA && (chain->families & FOLLOW_AAAA))) {
            struct rr rr = rrsynth_packed(f->config, record, owner, &packed);
            follow_chain_add(chain, &rr);
        }
    }
}

void follow_chain_add_record(struct follow *f, struct follow_chain *chain,
                             const struct store_record *record, struct slice owner)
{
    if (follow_is_wanted(chain, record)) {
        struct rr rr = rrsynth_address(f->config, record, owner);
        follow_chain_add(chain, &rr);
    }
    if (record->lens[RECORD_RR] > 0) {
        add_packed_addresses(f, chain, record, owner);
    }
}

static void follow_add_addresses(struct follow *f, struct follow_chain *chain,
                                 const struct lookup_span *span, struct slice owner)
{
    for (size_t i = 0; i < span->count && !chain->out->is_cut && !follow_is_scan_deferred(f); i++) {
        const struct store_record *record = lookup_record(f->lookup, span, i);
        if (record->host == STORE_HOST_NAME && !is_kubernetes(f) && !f->is_some) {
            follow_host(f, chain, record, owner);
        } else {
            follow_chain_add_record(f, chain, record, owner);
        }
    }
}

void follow_records(struct follow *follow, const struct lookup_span *span, struct slice owner,
                    enum follow_families families, struct rr_list *out)
{
    struct follow_chain chain = {.out = out, .families = families, .start = owner};
    follow_add_addresses(follow, &chain, span, owner);
}

void follow_target(struct follow *follow, struct slice target, struct rr_list *out)
{
    size_t known = follow->targets.count;
    struct rr entry = {.owner = target};
    out->is_cut = out->is_cut || out->least_bytes > follow->in->reply_limit;
    if (out->is_cut) {
        return; /* all or nothing, and all do not fit */
    }
    rr_list_add(&follow->targets, &entry);
    if (follow->targets.count > known) {
        struct follow_chain chain = {
            .out = out, .families = FOLLOW_BOTH, .is_for_target = true, .start = target};
        follow_chain_name(follow, &chain, target);
    }
}
