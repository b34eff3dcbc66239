#include "skydns/engine/search_list_internal.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/engine/search_list.h"
#include "skydns/wire/query_parse.h"

/* ---- The query ---- */

bool path_take_query(struct path *path, const struct engine_query *query)
{
    path->query = query;
    path->question = &query->parsed->fast;
    if (!query->parsed->is_ordinary) { /* gives it an ordinary query's form */
        const struct question *question = query_question(query->parsed);
        if (query->parsed->verdict != QUESTION_OK || question->qclass != DNS_CLASS_IN) {
            return false;
        }
        (void)!query_make_fast(question, query->wire, &path->other); /* false: this is known */
        path->question = &path->other;
    }
    return true;
}

/* ---- The search domain ---- */

static bool is_within(const struct fast_query *q, const struct engine_zone *zone)
{
    return q->label_count >= zone->labels && q->name_len >= zone->domain.len &&
           q->offsets[q->label_count - zone->labels] == q->name_len - zone->domain.len &&
           memcmp(q->name + q->name_len - zone->domain.len, zone->domain.wire, zone->domain.len) ==
               0;
}

/* Finds the domain that contains the name. The first is the longest: engine_config.h. Pods search
 * no external zone; these are last. */
static const struct engine_zone *search_list_find_zone(struct path *path)
{
    const struct engine_config *config = path->config;
    for (unsigned i = 0; i < config->zone_count && !config->zones[i].is_external; i++) {
        if (is_within(path->question, &config->zones[i])) {
            path->zone_at = i;
            return &config->zones[i];
        }
    }
    return NULL;
}

/* Returns whether the label so far in front of the domain is `text`. The name has labels to spare.
 */
static bool search_list_is_label(const struct fast_query *q, unsigned at, struct slice text)
{
    return slice_equal(fast_query_label(q, at), text);
}

/* Returns whether the name is ours: a stub zone may have it. */
static bool search_list_is_ours(const struct path *path, const struct engine_zone *zone)
{
    const struct fast_query *q = path->question;
    if (!path->config->zones_of_others) {
        return true;
    }
    struct dname name = {.len = q->name_len};
    memcpy(name.wire, q->name, q->name_len);
    return !engine_config_stub(path->config, &name, DNS_TYPE_SOA, zone);
}

bool path_find(struct path *path, const struct engine_config *config,
               const struct engine_query *query)
{
    enum { ABOVE_PREFIX = 2 }; /* <namespace>.svc */
    const struct client_space *space = query->view.space;
    path->config = config;
    if (!space || !path_take_query(path, query) || dns_type_is_meta(path->question->type) ||
        path->question->type == DNS_TYPE_ANY) {
        return false;
    }
    const struct fast_query *q = path->question;
    const struct engine_zone *zone = search_list_find_zone(path);
    if (!zone || q->label_count <= zone->labels + ABOVE_PREFIX) {
        return false;
    }
    path->prefix_labels = q->label_count - zone->labels - ABOVE_PREFIX;
    path->prefix_len = q->offsets[path->prefix_labels];
    return search_list_is_label(q, path->prefix_labels, client_space_label(space)) &&
           search_list_is_label(q, path->prefix_labels + 1, slice_of("svc", 3)) &&
           search_list_is_ours(path, zone);
}

/* ---- Candidate names ---- */

/* Returns the labels after the prefix, with the root label. */
static struct slice search_list_suffix(const struct path *path, unsigned place)
{
    static const uint8_t root[1];
    const struct engine_config *config = path->config;
    const struct fast_query *q = path->question;
    unsigned above = place > PATH_DOMAIN ? PATH_DOMAIN : place;
    unsigned at = q->offsets[path->prefix_labels + above];
    if (place < PATH_FIRST_SEARCH) {
        return slice_of(q->name + at, q->name_len - at);
    }
    place -= PATH_FIRST_SEARCH;
    return place < config->settings.search_count
               ? slice_of(config->settings.search[place].wire, config->settings.search[place].len)
               : slice_of(root, sizeof(root));
}

bool path_name(const struct path *path, unsigned place, struct dname *ret_name)
{
    struct slice behind = search_list_suffix(path, place);
    if (path->prefix_len + behind.len > DNAME_MAX) {
        return false;
    }
    memcpy(ret_name->wire, path->query->wire + DNS_HEADER_SIZE, path->prefix_len);
    memcpy(ret_name->wire + path->prefix_len, behind.ptr, behind.len);
    ret_name->len = (uint8_t)(path->prefix_len + behind.len);
    return true;
}

size_t path_query(const struct path *path, const struct dname *name, struct path_candidate *ret)
{
    const uint8_t *wire = path->query->wire;
    const struct query *client = path->query->parsed;
    const size_t name_end = DNS_HEADER_SIZE + (size_t)name->len;
    struct query *q = &ret->parsed;
    memcpy(ret->wire, wire, DNS_HEADER_SIZE);
    memcpy(ret->wire + DNS_HEADER_SIZE, name->wire, name->len);
    memcpy(ret->wire + name_end, wire + DNS_HEADER_SIZE + path->question->name_len,
           DNS_QUESTION_TAIL);
    q->verdict = QUESTION_OK;
    q->fast.type = path->question->type;
    q->fast.udp_size = path->question->udp_size;
    q->fast.has_edns = path->question->has_edns;
    q->fast.dnssec_ok = path->question->dnssec_ok;
    q->fast.asks = q->fast.cookie_len = 0; /* the end of the client's response has these */
    q->is_ordinary = fast_query_set_name(&q->fast, ret->wire, name->len) && client->is_ordinary;
    q->has_question = !q->is_ordinary;
    if (q->has_question) {
        q->question = *query_question(path->query->parsed);
        q->question.name = *name;
        q->question.asks = q->question.cookie.len = 0;
    }
    return name_end + DNS_QUESTION_TAIL;
}

/* ---- For explanations ---- */

_Static_assert((int)SEARCH_LIST_NAMES_MAX == (int)SEARCH_LIST_PLACES_MAX, "a name for each place");

void search_list_names_find(const struct engine_config *config, const struct client_space *space,
                            const struct dname *name, uint16_t type, struct search_list_names *ret)
{
    uint8_t wire[QUESTION_WIRE_MAX];
    struct path path;
    struct query parsed = {
        .has_question = true,
        .question = {.name = *name, .type = type, .qclass = DNS_CLASS_IN},
    };
    const struct engine_query query = {.wire = wire, .parsed = &parsed, .view.space = space};
    ret->count = 0;
    (void)question_write(&parsed.question, wire);
    if (!config->settings.autopath || !path_find(&path, config, &query)) {
        return;
    }
    ret->count = search_list_places(&path);
    for (unsigned i = 0; i < ret->count; i++) {
        if (i == 0) {
            ret->names[i] = *name;
        } else if (!path_name(&path, i, &ret->names[i])) {
            ret->names[i].len = 0;
        }
    }
}
