#include "kube2sky/naming/slice_change.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"

/* A hash in hex has at most as many digits: such a hostname could be another endpoint's label. */
enum { HASH_DIGITS_MAX = 8 };

/* Slices have a handful of ports. Comparing more of them costs more than it saves. */
enum { PORTS_MAX = 32 };

static bool is_like_a_hash(const char *word)
{
    size_t digits = strspn(word, "0123456789abcdefABCDEF");
    return digits > 0 && digits <= HASH_DIGITS_MAX && word[digits] == '\0';
}

/* Returns whether the word could be the label of another endpoint, which has no name. */
static bool is_like_a_label(const char *word)
{
    return *word && (is_like_a_hash(word) || naming_is_address_label(slice_str(word)));
}

static bool could_take_a_label(const struct kube_slice_endpoint *endpoint)
{
    return is_like_a_label(endpoint->hostname) || is_like_a_label(endpoint->pod);
}

static const struct kube_slice *any_of(const struct slice_change *change)
{
    return change->after ? &change->after->slice : &change->before->slice;
}

/* ---- Words ---- */

/* Sets the name's hash and returns 1. Returns 0 for a name that is no label: it shares no key. */
static size_t slice_change_hash_name(const char *name, uint32_t *ret_hash)
{
    char lower[DNAME_LABEL_MAX];
    size_t len = strlen(name);
    if (len == 0 || len > sizeof(lower)) {
        return 0; /* its endpoint's label is its address */
    }
    ascii_lower_copy(lower, name, len);
    *ret_hash = seeded_hash(slice_of(lower, len));
    return 1;
}

static size_t hash_address(const char *text, uint32_t *ret_hash)
{
    struct ip ip;
    if (!ip_parse_sloppy(slice_str(text), &ip)) {
        return 0;
    }
    *ret_hash = seeded_hash(slice_of(ip.bytes, ip.family_bytes));
    return 1;
}

/* Hashes an endpoint's words, at most two more than it has addresses. Returns their number. */
static size_t hash_endpoint(const struct kube_slice_endpoint *endpoint, uint32_t *ret_hashes)
{
    size_t count = slice_change_hash_name(endpoint->hostname, ret_hashes);
    count += slice_change_hash_name(endpoint->pod, ret_hashes + count);
    for (size_t i = 0; i < endpoint->address_count; i++) {
        count += hash_address(endpoint->addresses[i], ret_hashes + count);
    }
    return count;
}

static int slice_change_compare_hashes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

struct slice_words *slice_words_new(const struct kube_slice *slice)
{
    size_t most = 0;
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        most += 2 + slice->endpoints[i].address_count;
    }
    struct slice_words *words = xmalloc(sizeof(*words) + most * sizeof(words->hashes[0]));
    *words = (struct slice_words){.count = 0};
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        words->could_take_a_label |= could_take_a_label(&slice->endpoints[i]);
        words->count += hash_endpoint(&slice->endpoints[i], words->hashes + words->count);
    }
    qsort(words->hashes, words->count, sizeof(words->hashes[0]), slice_change_compare_hashes);
    return xrealloc(words, sizeof(*words) + words->count * sizeof(words->hashes[0]));
}

/* ---- Ports ---- */

static bool is_same_name(const struct kube_port *a, const struct kube_port *b)
{
    return strcasecmp(a->name, b->name) == 0 && strcasecmp(a->protocol, b->protocol) == 0;
}

static bool are_ports_equal(const struct kube_slice *a, const struct kube_slice *b)
{
    bool are_equal = a->port_count == b->port_count;
    for (size_t i = 0; are_equal && i < a->port_count; i++) {
        are_equal =
            a->ports[i].port == b->ports[i].port && is_same_name(&a->ports[i], &b->ports[i]);
    }
    return are_equal;
}

static bool are_ports_distinct(const struct kube_slice *slice)
{
    bool are_distinct = slice->port_count <= PORTS_MAX;
    for (size_t i = 0; are_distinct && i < slice->port_count; i++) {
        for (size_t j = 0; are_distinct && j < i; j++) {
            are_distinct = !is_same_name(&slice->ports[i], &slice->ports[j]);
        }
    }
    return are_distinct;
}

/* ---- Endpoints ---- */

static bool is_same_endpoint(const struct kube_slice_endpoint *a,
                             const struct kube_slice_endpoint *b)
{
    bool is_same = a->is_ready == b->is_ready && a->address_count == b->address_count &&
                   strcmp(a->hostname, b->hostname) == 0 && strcmp(a->pod, b->pod) == 0;
    for (size_t i = 0; is_same && i < a->address_count; i++) {
        is_same = strcmp(a->addresses[i], b->addresses[i]) == 0;
    }
    return is_same;
}

static size_t endpoint_count(const struct kube_object *object)
{
    return object ? object->slice.endpoint_count : 0;
}

/* Returns whether the object has the endpoint, at this index or a few beside it: controllers
 * preserve the order. */
static bool has_endpoint(const struct kube_object *object, size_t at,
                         const struct kube_slice_endpoint *endpoint)
{
    size_t count = endpoint_count(object);
    bool has = false;
    for (size_t i = at > 1 ? at - 1 : 0; i < count && i < at + 2 && !has; i++) {
        has = is_same_endpoint(&object->slice.endpoints[i], endpoint);
    }
    return has;
}

/* Adds the object's endpoints that the other one lacks. Returns false if they are too many, or one
 * has a name like the label of an unnamed one. */
static bool slice_change_collect(struct slice_change *change, const struct kube_object *object,
                                 const struct kube_object *other, size_t *addresses)
{
    for (size_t i = 0; i < endpoint_count(object); i++) {
        const struct kube_slice_endpoint *endpoint = &object->slice.endpoints[i];
        if (endpoint->address_count == 0 || has_endpoint(other, i, endpoint)) {
            continue;
        }
        *addresses += endpoint->address_count;
        if (*addresses > SLICE_CHANGED_MAX || could_take_a_label(endpoint)) {
            return false;
        }
        change->word_count += hash_endpoint(endpoint, change->words + change->word_count);
    }
    return true;
}

bool slice_change_is_usable(const struct kube_object *slice)
{
    return !slice->is_garbled && !slice->is_bare;
}

bool slice_change_init(struct slice_change *change, const struct kube_object *service,
                       const struct kube_object *before, const struct kube_object *after)
{
    size_t addresses = 0;
    *change = (struct slice_change){.service = service, .before = before, .after = after};
    if ((before && !slice_change_is_usable(before)) || (after && !slice_change_is_usable(after)) ||
        !are_ports_distinct(any_of(change))) {
        return false;
    }
    if (before && after &&
        (before->slice.address_type != after->slice.address_type ||
         strcmp(kube_slice_cluster(&before->slice), kube_slice_cluster(&after->slice)) != 0 ||
         !are_ports_equal(&before->slice, &after->slice))) {
        return false;
    }
    return slice_change_collect(change, before, after, &addresses) &&
           slice_change_collect(change, after, before, &addresses);
}

bool slice_change_spares(const struct slice_change *change, const struct kube_object *other,
                         const struct slice_words *words)
{
    bool is_spared = !words->could_take_a_label && are_ports_equal(any_of(change), &other->slice);
    for (size_t i = 0; i < change->word_count && is_spared; i++) {
        is_spared =
            !words->count || !bsearch(&change->words[i], words->hashes, words->count,
                                      sizeof(words->hashes[0]), slice_change_compare_hashes);
    }
    return is_spared;
}

/* ---- The difference ---- */

static int name_part(const struct naming_config *config, const struct kube_object *service,
                     const struct kube_object *part, struct desired *desired, struct claims *claims)
{
    struct owner_objects objects;
    struct err ignored;
    owner_objects_init(&objects);
    objects.service = service;
    if (part) {
        owner_objects_add_part(&objects, part);
    }
    int r = naming_build(config, &objects, desired, claims, &ignored);
    owner_objects_fini(&objects);
    return r;
}

/* Returns the records of `from` that are not in `other`; is_by_key: whatever their values. Both are
 * sorted. */
static void slice_change_subtract(const struct desired *from, const struct desired *other,
                                  bool is_by_key, struct desired *ret)
{
    size_t at = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct desired_record record = desired_get(from, i);
        while (at < other->count && slice_compare(desired_get(other, at).key, record.key) < 0) {
            at++;
        }
        bool is_there = at < other->count && slice_equal(desired_get(other, at).key, record.key);
        if (!is_there || (!is_by_key && !slice_equal(desired_get(other, at).value, record.value))) {
            desired_add(ret, record.key, record.value);
        }
    }
    desired_seal(ret);
}

static void subtract_claims(const struct claims *from, const struct claims *other,
                            struct claims *ret)
{
    size_t at = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct claim claim = claims_get(from, i), there = {.ip = {0}};
        int d = 1;
        for (; at < other->count; at++) {
            there = claims_get(other, at);
            d = claim_compare_ips(&there.ip, &claim.ip);
            if (d >= 0) {
                break;
            }
        }
        if (at == other->count || d != 0 || claim_compare(&there, &claim) != 0) {
            claims_add(ret, &claim);
        }
    }
    claims_seal(ret);
}

static void difference_init(struct slice_difference *d)
{
    desired_init(&d->come);
    desired_init(&d->gone);
    claims_init(&d->claims_come);
    claims_init(&d->claims_gone);
}

static void difference_fini(struct slice_difference *d)
{
    desired_fini(&d->come);
    desired_fini(&d->gone);
    claims_fini(&d->claims_come);
    claims_fini(&d->claims_gone);
}

struct slice_difference *slice_difference_new(const struct naming_config *config,
                                              const struct slice_change *change)
{
    struct slice_difference *difference = NULL, whole;
    struct naming_config quiet = *config;
    quiet.dropped = NULL; /* drops of the former state were reported when it came */
    difference_init(&whole);
    if (name_part(&quiet, change->service, change->before, &whole.gone, &whole.claims_gone) == 0 &&
        name_part(config, change->service, change->after, &whole.come, &whole.claims_come) == 0) {
        difference = xcalloc(1, sizeof(*difference));
        difference_init(difference);
        difference->count_change = (int32_t)whole.come.count - (int32_t)whole.gone.count;
        slice_change_subtract(&whole.come, &whole.gone, false, &difference->come);
        slice_change_subtract(&whole.gone, &whole.come, true, &difference->gone);
        subtract_claims(&whole.claims_come, &whole.claims_gone, &difference->claims_come);
        subtract_claims(&whole.claims_gone, &whole.claims_come, &difference->claims_gone);
    }
    difference_fini(&whole);
    return difference;
}

void slice_difference_free(struct slice_difference *difference)
{
    if (difference) {
        difference_fini(difference);
        free(difference);
    }
}
