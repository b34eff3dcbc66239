#include "skydns/engine/search_list_try_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/override_match.h"
#include "skydns/answer/special_names.h"
#include "skydns/engine/direct_internal.h"
#include "skydns/engine/search_list_internal.h"
#include "skydns/external/hosts_table.h"
#include "skydns/fast/plain_names.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/reply_limit.h"
#include "skydns/wire/response.h"

/* A domain, and its rule for names that do not exist. */
struct path_zone {
    struct plain_names plain;
    bool may_rule_out;                     /* a name below exists only by its own records */
    const struct store_node *domain, *svc; /* in the version in use; may be NULL */
};

/* A name's end, from its prefix's last label on, and the candidate names in the domain that are
 * ruled out for names with it. Two namespaces and two dozen top-level domains fit side by side. */
enum { PATH_ENDS_BITS = 7, PATH_END_MAX = 94 };

struct path_end {
    uint64_t serial; /* the version's serial; 0: nothing is known */
    uint8_t ruled_out, len;
    uint8_t bytes[PATH_END_MAX];
};

struct search_list_try {
    const struct engine_config *config;
    struct direct *direct;
    struct engine_counts *counts;
    uint64_t serial; /* serial of the version whose nodes are known; 0: none */
    struct path_zone zones[ENGINE_ZONES_MAX];
    struct path_end ends[1 << PATH_ENDS_BITS];

    /* The query being answered: */
    struct path path;
    unsigned ruled_out;      /* a bit for each candidate name in the domain */
    struct question refresh; /* the question that a cached response on the way needs refreshed;
                              * name.len 0: none */
    struct path_candidate candidate;
};

_Static_assert((int)SEARCH_LIST_PLACES_MAX < (int)ENGINE_PATH_OVER, "places before the end");

void search_list_try_configure(struct search_list_try *tries, const struct engine_config *config)
{
    tries->config = config;
    tries->serial = 0;
    memset(tries->ends, 0, sizeof(tries->ends)); /* they belong to another configuration */
    for (size_t i = 0; i < config->zone_count && config->settings.autopath; i++) {
        struct path_zone *z = &tries->zones[i];
        const struct engine_zone *zone = &config->zones[i];
        plain_names_make(&z->plain, config, zone);
        z->may_rule_out = !zone->is_incomplete && !z->plain.has_domains_below &&
                          !engine_config_is_above_stub(config, &zone->domain);
    }
}

struct search_list_try *search_list_try_new(const struct engine_config *config,
                                            struct direct *direct, struct engine_counts *counts)
{
    struct search_list_try *tries = xcalloc(1, sizeof(*tries));
    tries->direct = direct;
    tries->counts = counts;
    search_list_try_configure(tries, config);
    return tries;
}

void search_list_try_free(struct search_list_try *tries)
{
    free(tries);
}

/* ---- Names that need no answer ---- */

static void use_store(struct search_list_try *tries, const struct store *store)
{
    if (tries->serial != store_serial(store)) {
        tries->serial = store_serial(store);
        for (size_t i = 0; i < tries->config->zone_count; i++) {
            struct path_zone *z = &tries->zones[i];
            z->domain = store_find(store, &tries->config->zones[i].domain);
            z->svc = z->domain ? store_child(z->domain, slice_of("svc", 3)) : NULL;
        }
    }
}

/* Returns whether the prefix or the namespace's name has a wildcard. */
static bool search_list_try_has_wildcard(const struct path *path)
{
    for (unsigned i = 0; i <= path->prefix_labels; i++) {
        if (lookup_is_wildcard(fast_query_label(path->question, i))) {
            return true;
        }
    }
    return false;
}

/* Returns whether names of the domain with this label in front of it are NXDOMAIN if the store
 * lacks them. */
static bool search_list_try_is_plain(const struct path_zone *z, struct slice label)
{
    enum kube_tree tree = kube_tree_of(label);
    return z->plain.classes[tree][1][0].when_absent == PLAIN_NO_NAME &&
           !(tree == KUBE_TREE_OTHER && plain_names_are_own(&z->plain, label));
}

/* Returns whether the candidate name at a place in the domain is NXDOMAIN because the store has
 * nothing with its top label. A name that is hidden from the client may be there, and is left to
 * direct_answer. */
static bool is_absent(const struct search_list_try *tries, unsigned place)
{
    const struct path *path = &tries->path;
    const struct path_zone *z = &tries->zones[path->zone_at];
    const struct slice top = path_top(path);
    if (!search_list_try_is_plain(z, place == PATH_DOMAIN ? top : slice_of("svc", 3))) {
        return false;
    }
    const struct store_node *above = place == PATH_DOMAIN ? z->domain : z->svc;
    if (place == 0 && above) {
        above = store_child(above, fast_query_label(path->question, path->prefix_labels));
    }
    return !above || !store_child(above, top);
}

/* Returns the slot of an end. Most queries end in one of few ways, .com.<namespace>.svc.<domain>.
 */
static struct path_end *find_end(struct search_list_try *tries, struct slice end)
{
    uint64_t head = 0;
    memcpy(&head, end.ptr, end.len < sizeof(head) ? end.len : sizeof(head));
    return &tries->ends[head * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PATH_ENDS_BITS)];
}

/* Finds the candidate names in the domain that need no answer. */
static void rule_out(struct search_list_try *tries, const struct store *store)
{
    const struct fast_query *q = tries->path.question;
    unsigned at = q->offsets[tries->path.prefix_labels - 1];
    const struct slice end = slice_of(q->name + at, q->name_len - at);
    tries->ruled_out = 0;
    if (!store || !tries->zones[tries->path.zone_at].may_rule_out ||
        search_list_try_has_wildcard(&tries->path)) {
        return;
    }
    use_store(tries, store);
    struct path_end *known = find_end(tries, end);
    if (known->serial == tries->serial && slice_equal(slice_of(known->bytes, known->len), end)) {
        tries->ruled_out = known->ruled_out;
        return;
    }
    for (unsigned place = 0; place <= PATH_DOMAIN; place++) {
        tries->ruled_out |= is_absent(tries, place) ? 1u << place : 0;
    }
    if (end.len <= sizeof(known->bytes)) {
        *known = (struct path_end){.serial = tries->serial,
                                   .ruled_out = (uint8_t)tries->ruled_out,
                                   .len = (uint8_t)end.len};
        memcpy(known->bytes, end.ptr, end.len);
    }
}

static bool is_ruled_out(const struct search_list_try *tries, unsigned place)
{
    return place <= PATH_DOMAIN && (tries->ruled_out & 1u << place) != 0;
}

/* Returns whether -ndots keeps the candidate name at a place from being forwarded, and nothing here
 * answers it but perhaps hosts files. */
static bool has_too_few_dots(const struct search_list_try *tries, const struct dname *name)
{
    const uint16_t type = tries->path.question->type;
    struct dname lower;
    if (!engine_config_is_too_short(tries->config, dname_label_count(name), type, false)) {
        return false;
    }
    lower = *name;
    dname_lower(&lower);
    return engine_config_keeps_short_name(tries->config, &lower, type) &&
           special_name_find(&lower, NULL) == SPECIAL_NONE;
}

/* ---- Outcomes ---- */

/* A response's meaning for the search. */
enum outcome { OUTCOME_ANSWER, OUTCOME_NO_DATA, OUTCOME_NO_NAME, OUTCOME_FAILED };

static enum outcome place_outcome(const struct search_list_try *tries, unsigned place,
                                  const struct response *response)
{
    const unsigned aliases = place > 0;
    switch (response_low_rcode(response)) {
    case DNS_RCODE_NOERROR:
        return search_list_names_pass_no_data(place, search_list_places(&tries->path)) &&
                       response_answers(response) == aliases && !response_is_truncated(response)
                   ? OUTCOME_NO_DATA
                   : OUTCOME_ANSWER;
    case DNS_RCODE_NXDOMAIN:
        return OUTCOME_NO_NAME;
    default:
        return OUTCOME_FAILED;
    }
}

/* Returns the client's name, in its spelling. */
static struct slice asked_name(const struct search_list_try *tries)
{
    return slice_of(tries->path.query->wire + DNS_HEADER_SIZE, tries->path.question->name_len);
}

/* Makes the query for another name, whose response is to begin with a CNAME to it. Returns false
 * when that would not even hold the question. */
static bool search_list_try_make_query(struct search_list_try *tries,
                                       const struct engine_query *query, const struct dname *name,
                                       struct engine_query *ret)
{
    enum { OPT_MAX = EDNS_OPT_SIZE + EDNS_SUBNET_MAX + EDNS_ERROR_SIZE };
    const struct fast_query *q = tries->path.question;
    const size_t limit =
        reply_limit_of(query, q->has_edns, q->udp_size, tries->config->settings.max_udp_size);
    *ret = *query;
    ret->len = path_query(&tries->path, name, &tries->candidate);
    ret->wire = tries->candidate.wire;
    ret->parsed = &tries->candidate.parsed;
    ret->ahead = 0;
    return response_start_of(asked_name(tries), name->len).records_at + OPT_MAX <= limit;
}

static void count_answer(struct search_list_try *tries, unsigned place)
{
    counter_add(&tries->counts->path_answers, 1);
    counter_add(&tries->counts->path_saved, place);
}

/* ---- Refreshing ---- */

static void pass_refresh(const struct search_list_try *tries, struct engine_deferral *ret_deferral)
{
    if (tries->refresh.name.len > 0) {
        ret_deferral->wants_refresh = true;
        ret_deferral->refresh = tries->refresh;
    }
}

/* ---- The search ---- */

/* A call's arguments. */
struct search {
    const struct store *store;
    const struct engine_query *query;
    const struct external_answers *externals;
    struct response *response;
    struct engine_deferral *ret_deferral;
    unsigned seen;    /* ENGINE_PATH_SAW_... */
    bool has_no_room; /* the response at a place has no room: the client had better search by itself
                       */
};

/* Answers the query as it stands. */
static enum engine_verdict answer_plainly(struct search_list_try *tries, const struct search *s,
                                          const struct external_answers *externals)
{
    enum engine_verdict verdict =
        direct_answer(tries->direct, s->store, s->query, externals, s->response, s->ret_deferral);
    if (s->query->search_list_at > 0 || tries->path.query) {
        s->ret_deferral->search_list_at = ENGINE_PATH_OVER;
    }
    return verdict;
}

/* Gives the first name's answer, since no candidate name has one; unless some could not be
 * answered. */
static enum engine_verdict search_list_try_give_up(struct search_list_try *tries,
                                                   const struct search *s)
{
    enum engine_verdict verdict = answer_plainly(tries, s, NULL);
    const enum outcome outcome =
        verdict == ENGINE_REPLY ? place_outcome(tries, 0, s->response) : OUTCOME_ANSWER;
    const unsigned seen = s->has_no_room ? 0 : s->seen;
    if (seen & ENGINE_PATH_SAW_FAILURE && outcome != OUTCOME_FAILED) {
        direct_error(tries->direct, s->query, DNS_RCODE_SERVFAIL, DNS_FLAG_RA,
                     EDNS_ERROR_NO_AUTHORITY, s->response);
        verdict = ENGINE_REPLY;
    } else if (seen & ENGINE_PATH_SAW_NO_DATA && outcome == OUTCOME_NO_NAME) {
        response_set_no_data(s->response);
    }
    pass_refresh(tries, s->ret_deferral);
    return verdict;
}

enum step { STEP_NEXT, STEP_END, STEP_GIVE_UP };

/* Takes the verdict on the client's own name, or on another one if `query` is not the client's. The
 * step is a response, a deferral, or neither. */
static enum step take_verdict(struct search_list_try *tries, struct search *s,
                              const struct engine_query *query, unsigned place,
                              enum engine_verdict verdict)
{
    struct engine_deferral *deferral = s->ret_deferral;
    if (verdict == ENGINE_DEFER) {
        deferral->search_list_at = (uint8_t)place;
        deferral->search_list_serial = tries->config->serial;
        deferral->search_list_seen = (uint8_t)s->seen;
        if (place > 0 && deferral->kind == ENGINE_DEFER_FORWARD) {
            deferral->forward = query_question(query->parsed)->name;
        }
        return STEP_END;
    }
    enum outcome outcome =
        verdict == ENGINE_REPLY ? place_outcome(tries, place, s->response) : OUTCOME_FAILED;
    if (deferral->wants_refresh &&
        tries->refresh.name.len == 0) { /* one for each query: others just expire */
        tries->refresh = deferral->refresh;
    }
    if (outcome == OUTCOME_ANSWER) {
        if (place > 0) {
            count_answer(tries, place);
        }
        return STEP_END;
    }
    s->seen |= outcome == OUTCOME_FAILED    ? ENGINE_PATH_SAW_FAILURE
               : outcome == OUTCOME_NO_DATA ? ENGINE_PATH_SAW_NO_DATA
                                            : 0;
    return STEP_NEXT;
}

/* Tries a candidate name after the first. */
static enum step try_name(struct search_list_try *tries, struct search *s, unsigned place,
                          const struct external_answers *externals, enum engine_verdict *verdict)
{
    struct dname name;
    struct engine_query query;
    if (!path_name(&tries->path, place, &name)) {
        return STEP_NEXT;
    }
    bool is_short = place >= PATH_FIRST_SEARCH && has_too_few_dots(tries, &name);
    if (is_short && !tries->config->hosts && !override_may_match(tries->config, s->store)) {
        return STEP_NEXT;
    }
    if (!search_list_try_make_query(tries, s->query, &name, &query)) {
        s->has_no_room = true;
        return STEP_GIVE_UP;
    }
    query.takes_stale = s->query->takes_stale && place == s->query->search_list_at;
    s->response->asked = asked_name(tries);
    *verdict =
        direct_answer(tries->direct, s->store, &query, externals, s->response, s->ret_deferral);
    s->response->asked = slice_of(NULL, 0);
    if (is_short && *verdict == ENGINE_REPLY &&
        place_outcome(tries, place, s->response) != OUTCOME_ANSWER) {
        return STEP_NEXT;
    }
    return take_verdict(tries, s, &query, place, *verdict);
}

static enum step try_place(struct search_list_try *tries, struct search *s, unsigned place,
                           enum engine_verdict *verdict)
{
    const struct external_answers *externals =
        place == s->query->search_list_at ? s->externals : NULL;
    if (is_ruled_out(tries, place)) {
        return STEP_NEXT;
    }
    if (place > 0) {
        return try_name(tries, s, place, externals, verdict);
    }
    *verdict =
        direct_answer(tries->direct, s->store, s->query, externals, s->response, s->ret_deferral);
    return *verdict == ENGINE_DROP ? STEP_END : take_verdict(tries, s, s->query, place, *verdict);
}

static enum engine_verdict search_list_try_search(struct search_list_try *tries, struct search *s)
{
    enum engine_verdict verdict = ENGINE_REPLY;
    tries->refresh.name.len = 0;
    s->seen = s->query->search_list_seen;
    rule_out(tries, s->store);
    for (unsigned place = s->query->search_list_at; place < search_list_places(&tries->path);
         place++) {
        switch (try_place(tries, s, place, &verdict)) {
        case STEP_NEXT:
            break;
        case STEP_END:
            pass_refresh(tries, s->ret_deferral);
            return verdict;
        case STEP_GIVE_UP:
            return search_list_try_give_up(tries, s);
        }
    }
    return search_list_try_give_up(tries, s);
}

/* Returns whether the search is over. A place of an earlier configuration may be another name's
 * now. */
static bool search_list_try_is_over(const struct search_list_try *tries,
                                    const struct engine_query *query)
{
    return query->search_list_at == ENGINE_PATH_OVER ||
           (query->search_list_at > 0 && query->search_list_serial != tries->config->serial);
}

/* Returns whether the response to the question as it stands has signatures. The search list's CNAME
 * would contradict it: one denies what the other gives. */
static bool search_list_try_is_signed(const struct search_list_try *tries)
{
    return tries->path.question->dnssec_ok &&
           signed_zones_domain(tries->config, &tries->config->zones[tries->path.zone_at]);
}

static bool has_path(struct search_list_try *tries, const struct engine_query *query)
{
    tries->path.query = NULL;
    return tries->config->settings.autopath && !search_list_try_is_over(tries, query) &&
           path_find(&tries->path, tries->config, query) && !search_list_try_is_signed(tries);
}

enum engine_verdict search_list_try_answer(struct search_list_try *tries, const struct store *store,
                                           const struct engine_query *query,
                                           const struct external_answers *externals,
                                           struct response *response,
                                           struct engine_deferral *ret_deferral)
{
    struct search s = {.store = store,
                       .query = query,
                       .externals = externals,
                       .response = response,
                       .ret_deferral = ret_deferral};
    if (has_path(tries, query)) {
        return search_list_try_search(tries, &s);
    }
    tries->path.query = NULL;
    return answer_plainly(tries, &s, externals);
}

bool search_list_try_forwarded(struct search_list_try *tries, const struct engine_query *query,
                               const struct parsed_response *upstream, struct cache_image *image,
                               struct response *response)
{
    struct dname name;
    struct engine_query candidate;
    if (query->search_list_at == 0 || query->search_list_at == ENGINE_PATH_OVER) {
        return direct_forwarded(tries->direct, query, upstream, image, response);
    }
    if (!has_path(tries, query) || query->search_list_at >= search_list_places(&tries->path) ||
        !path_name(&tries->path, query->search_list_at, &name) ||
        !search_list_try_make_query(tries, query, &name, &candidate)) {
        return false;
    }
    response->asked = asked_name(tries);
    const bool is_answer = direct_forwarded(tries->direct, &candidate, upstream, image, response) &&
                           place_outcome(tries, query->search_list_at, response) == OUTCOME_ANSWER;
    response->asked = slice_of(NULL, 0);
    if (is_answer) {
        count_answer(tries, query->search_list_at);
    }
    return is_answer;
}
