#include "kube2sky/naming/reverse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/inventory.h"

struct owner_object;

/* Holds one claim, in two lists: its address's, the winner first, and its owner object's. */
struct held_claim {
    struct held_claim *next_here;
    struct held_claim *next_own; /* in the order of addresses */
    struct owner_object *owner_object;
    struct ip ip;
    uint8_t rank;
    bool is_winner;
    uint16_t host_len;
    char host[];
};

/* Holds an owner that has claims. */
struct owner_object {
    struct held_claim *first;
    uint32_t id_len;
    char id[];
};

struct reverse {
    struct reverse_config config;
    struct key_table addresses; /* the first claim on each address */
    struct key_table claimants;
    size_t winner_count;
};

/* Returns the key of the table: family_bytes, followed by that many bytes. */
static struct slice ip_bytes(const struct ip *ip)
{
    return slice_of(ip, 1 + (size_t)ip->family_bytes);
}

static struct slice reverse_address_key(const void *thing)
{
    const struct held_claim *held = thing;
    return ip_bytes(&held->ip);
}

static struct slice owner_object_key(const void *thing)
{
    const struct owner_object *owner_object = thing;
    return slice_of(owner_object->id, owner_object->id_len);
}

struct reverse *reverse_new(const struct reverse_config *config)
{
    struct reverse *reverse = xcalloc(1, sizeof(*reverse));
    reverse->config = *config;
    key_table_init(&reverse->addresses, reverse_address_key);
    key_table_init(&reverse->claimants, owner_object_key);
    return reverse;
}

void reverse_free(struct reverse *reverse)
{
    struct owner_object *owner_object;
    if (!reverse) {
        return;
    }
    for (size_t at = 0; (owner_object = key_table_next(&reverse->claimants, &at)); at++) {
        while (owner_object->first) {
            struct held_claim *held = owner_object->first;
            owner_object->first = held->next_own;
            free(held);
        }
        free(owner_object);
    }
    key_table_fini(&reverse->addresses);
    key_table_fini(&reverse->claimants);
    free(reverse);
}

/* ---- One claim ---- */

static struct claim reverse_claim_view(const struct held_claim *held)
{
    return (struct claim){
        .ip = held->ip,
        .rank = held->rank,
        .host = slice_of(held->host, held->host_len),
    };
}

static struct held_claim *reverse_add_claim(struct owner_object *owner_object,
                                            const struct claim *claim)
{
    struct held_claim *held = xcalloc(1, sizeof(*held) + claim->host.len);
    held->owner_object = owner_object;
    held->ip = claim->ip;
    held->rank = (uint8_t)claim->rank;
    held->host_len = (uint16_t)claim->host.len;
    memcpy(held->host, claim->host.ptr, claim->host.len);
    return held;
}

static struct held_claim *first_at(const struct reverse *reverse, const struct ip *ip)
{
    return key_table_find(&reverse->addresses, ip_bytes(ip));
}

static struct held_claim *winner_at(const struct reverse *reverse, const struct ip *ip)
{
    struct held_claim *first = first_at(reverse, ip);
    return first && first->is_winner ? first : NULL;
}

static void set_first(struct reverse *reverse, const struct ip *ip, struct held_claim *first)
{
    if (first) {
        (void)key_table_put(&reverse->addresses,
                            first); /* the previous first one is in its list, or freed */
    } else {
        (void)key_table_take(&reverse->addresses, ip_bytes(ip));
    }
}

static void set_winner(struct reverse *reverse, struct held_claim *held, bool is_winner)
{
    reverse->winner_count += is_winner;
    reverse->winner_count -= held->is_winner;
    held->is_winner = is_winner;
}

/* Links the claim behind the first one, which stays. */
static void link_here(struct reverse *reverse, struct held_claim *held)
{
    struct held_claim *first = first_at(reverse, &held->ip);
    if (first) {
        held->next_here = first->next_here;
        first->next_here = held;
    } else {
        set_first(reverse, &held->ip, held);
    }
}

static void unlink_here(struct reverse *reverse, struct held_claim *held)
{
    struct held_claim *first = first_at(reverse, &held->ip);
    struct held_claim **link = &first;
    while (*link != held) {
        link = &(*link)->next_here;
    }
    *link = held->next_here;
    held->next_here = NULL;
    set_winner(reverse, held, false);
    set_first(reverse, &held->ip, first);
}

/* ---- Deciding between owner objects ---- */

/* Returns "default" for "svc/default/web". */
static struct slice reverse_namespace_of(struct slice owner)
{
    (void)slice_cut(&owner, '/');
    const struct slice ns = slice_cut(&owner, '/');
    return owner.len ? ns : slice_of(NULL, 0);
}

bool reverse_is_same_namespace(struct slice owner, struct slice other)
{
    return slice_equal(reverse_namespace_of(owner), reverse_namespace_of(other));
}

static struct slice namespace_of_claim(const struct held_claim *held)
{
    return reverse_namespace_of(owner_object_key(held->owner_object));
}

static bool has_pods(const struct reverse *reverse, const struct ip *ip)
{
    return reverse->config.inventory && inventory_has_pod(reverse->config.inventory, ip);
}

static bool has_pods_of(const struct reverse *reverse, const struct ip *ip, struct slice ns)
{
    return inventory_has_pod_of(reverse->config.inventory, ip, ns);
}

static struct slice holding_namespace(const struct reverse *reverse, const struct ip *ip)
{
    const struct reverse_config *config = &reverse->config;
    return config->holder ? reverse_namespace_of(config->holder(config->data, ip))
                          : slice_of(NULL, 0);
}

static bool is_same_namespace(const struct held_claim *held, struct slice ns)
{
    return ns.len > 0 && slice_equal(namespace_of_claim(held), ns);
}

/* Ranks the reasons to win; smaller wins, whatever the claims' ranks. Those of imports follow. */
enum precedence { BY_ALLOCATION, BY_HOLDING, BY_LAST_DECISION, BY_NAME, PRECEDENCES };

static unsigned precedence_of(const struct held_claim *held, struct slice holding,
                              struct slice last)
{
    enum precedence own = held->rank == CLAIM_CLUSTER_IP     ? BY_ALLOCATION
                          : is_same_namespace(held, holding) ? BY_HOLDING
                          : is_same_namespace(held, last)    ? BY_LAST_DECISION
                                                             : BY_NAME;
    return (unsigned)own + (held->rank >= CLAIM_IMPORT_IP ? PRECEDENCES : 0);
}

/* Returns the winning claim of all on the first one's address; NULL: none may win. last: the
 * namespace that won before; empty: none. */
static struct held_claim *reverse_choose(const struct reverse *reverse, struct held_claim *first,
                                         struct slice last)
{
    const struct ip *ip = &first->ip;
    bool is_pods = has_pods(reverse, ip);
    struct slice holding = slice_of(NULL, 0);
    struct held_claim *best = NULL;
    unsigned best_precedence = 0;
    if (first->next_here) {
        holding = holding_namespace(reverse, ip);
    }
    for (struct held_claim *held = first; held; held = held->next_here) {
        unsigned precedence = precedence_of(held, holding, last);
        if (precedence != BY_ALLOCATION && is_pods &&
            !has_pods_of(reverse, ip, namespace_of_claim(held))) {
            continue;
        }
        struct claim claim = reverse_claim_view(held),
                     other = best ? reverse_claim_view(best) : claim;
        if (!best || precedence < best_precedence ||
            (precedence == best_precedence && claim_compare(&claim, &other) < 0)) {
            best = held;
            best_precedence = precedence;
        }
    }
    return best;
}

/* Decides an address again; last: see reverse_choose. Returns the winner, or NULL. */
static const struct held_claim *naming_reverse_decide(struct reverse *reverse, const struct ip *ip,
                                                      struct slice last)
{
    struct held_claim *first = first_at(reverse, ip);
    if (!first) {
        return NULL;
    }
    struct held_claim *winner = reverse_choose(reverse, first, last);
    set_winner(reverse, first, false);
    if (winner && winner != first) {
        unlink_here(reverse, winner);
        winner->next_here = first;
        set_first(reverse, ip, winner);
    }
    if (winner) {
        set_winner(reverse, winner, true);
    }
    return winner;
}

/* Decides again an address whose winner was this one; NULL: it had none. Returns whether its name
 * has changed. */
static bool decide_from(struct reverse *reverse, const struct ip *ip,
                        const struct held_claim *before)
{
    struct slice last = before ? namespace_of_claim(before) : slice_of(NULL, 0);
    const struct held_claim *after = naming_reverse_decide(reverse, ip, last);
    bool is_same = before == after || (before && after &&
                                       slice_equal(slice_of(before->host, before->host_len),
                                                   slice_of(after->host, after->host_len)));
    return !is_same;
}

bool reverse_decide(struct reverse *reverse, const struct ip *ip)
{
    return decide_from(reverse, ip, winner_at(reverse, ip));
}

bool reverse_may_win(const struct reverse *reverse, const struct ip *ip, struct slice owner)
{
    const struct held_claim *winner = winner_at(reverse, ip);
    bool is_allocated = winner && winner->rank == CLAIM_CLUSTER_IP;
    return !is_allocated &&
           (!has_pods(reverse, ip) || has_pods_of(reverse, ip, reverse_namespace_of(owner)));
}

bool reverse_is_claimed_beside(const struct reverse *reverse, const struct ip *ip,
                               struct slice owner)
{
    const struct held_claim *held = first_at(reverse, ip);
    struct slice ns = reverse_namespace_of(owner);
    while (held && !is_same_namespace(held, ns)) {
        held = held->next_here;
    }
    return held != NULL;
}

/* ---- An owner's claims ---- */

/* Replaces the owner object's old claim on one address by the new one; NULL: none. Reports a change
 * of name. */
static void reverse_replace(struct reverse *reverse, const struct ip *ip, struct held_claim *old,
                            struct held_claim *new, reverse_changed_fn changed, void *data)
{
    const struct held_claim *before = winner_at(reverse, ip);
    if (new) {
        link_here(reverse, new);
    }
    if (old) {
        unlink_here(reverse, old);
    }
    if (decide_from(reverse, ip, before)) {
        changed(data, ip);
    }
    free(old);
}

static bool is_same_claim(const struct held_claim *held, const struct claim *claim)
{
    struct claim mine = reverse_claim_view(held);
    return claim_compare(&mine, claim) == 0;
}

/* Returns whether a claim is on this address; claims are sorted. */
static bool has_claim_on(const struct claims *claims, const struct ip *ip)
{
    size_t low = 0, high = claims->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct claim claim = claims_get(claims, middle);
        int d = claim_compare_ips(&claim.ip, ip);
        if (d == 0) {
            return true;
        }
        low = d < 0 ? middle + 1 : low;
        high = d < 0 ? high : middle;
    }
    return false;
}

/* Merges the owner object's claims, sorted by address, with the new ones. gone: old claims to
 * remove; NULL: all that are not renewed. */
static void reverse_merge(struct reverse *reverse, struct owner_object *owner_object,
                          const struct claims *gone, const struct claims *claims,
                          reverse_changed_fn changed, void *data)
{
    struct held_claim **link = &owner_object->first;
    size_t at = 0;
    while (*link || at < claims->count) {
        struct held_claim *old = *link;
        struct claim claim = {.ip = {0}};
        int order = -1; /* negative: an old claim; positive: a new one; 0: both, on one address */
        if (at < claims->count) {
            claim = claims_get(claims, at);
            order = old ? claim_compare_ips(&old->ip, &claim.ip) : 1;
        }
        if (order < 0 && gone && !has_claim_on(gone, &old->ip)) {
            link = &old->next_own;
            continue;
        }
        if (order < 0) {
            struct ip ip = old->ip;
            *link = old->next_own;
            reverse_replace(reverse, &ip, old, NULL, changed, data);
            continue;
        }
        at++;
        if (order > 0 || !is_same_claim(old, &claim)) {
            struct held_claim *new = reverse_add_claim(owner_object, &claim);
            struct held_claim *replaced = order == 0 ? old : NULL;
            new->next_own = replaced ? replaced->next_own : old;
            *link = new;
            reverse_replace(reverse, &claim.ip, replaced, new, changed, data);
        }
        link = &(*link)->next_own;
    }
}

void reverse_change(struct reverse *reverse, struct slice owner, const struct claims *gone,
                    const struct claims *claims, reverse_changed_fn changed, void *data)
{
    struct owner_object *owner_object = key_table_find(&reverse->claimants, owner);
    if (!owner_object && claims->count == 0) {
        return;
    }
    if (!owner_object) {
        owner_object = xcalloc(1, sizeof(*owner_object) + owner.len);
        owner_object->id_len = (uint32_t)owner.len;
        memcpy(owner_object->id, owner.ptr, owner.len);
        (void)key_table_put(&reverse->claimants, owner_object); /* returns NULL: it was absent */
    }
    reverse_merge(reverse, owner_object, gone, claims, changed, data);
    if (!owner_object->first) {
        (void)key_table_take(&reverse->claimants,
                             owner_object_key(owner_object)); /* removes this one */
        free(owner_object);
    }
}

void reverse_set(struct reverse *reverse, struct slice owner, const struct claims *claims,
                 reverse_changed_fn changed, void *data)
{
    reverse_change(reverse, owner, NULL, claims, changed, data);
}

/* ---- Queries ---- */

bool reverse_winner(const struct reverse *reverse, const struct ip *ip,
                    struct reverse_winner *ret_winner)
{
    const struct held_claim *winner = winner_at(reverse, ip);
    if (winner) {
        ret_winner->host = slice_of(winner->host, winner->host_len);
        ret_winner->owner = owner_object_key(winner->owner_object);
        ret_winner->is_allocated = winner->rank == CLAIM_CLUSTER_IP;
        ret_winner->is_import = winner->rank >= CLAIM_IMPORT_IP;
    }
    return winner != NULL;
}

size_t reverse_count(const struct reverse *reverse)
{
    return reverse->winner_count;
}

size_t reverse_refused_count(const struct reverse *reverse)
{
    return reverse->addresses.count - reverse->winner_count;
}

/* ---- Keys ---- */

void reverse_key(const struct ip *ip, struct buf *out)
{
    if (ip->family_bytes == 4) {
        char text[INET6_ADDRSTRLEN];
        (void)ip_format(ip, text);
        for (char *c = text; *c; c++) {
            *c = (char)(*c == '.' ? '/' : *c);
        }
        buf_append_str(out, REVERSE_V4_TREE "/");
        buf_append_str(out, text);
        return;
    }
    buf_append_str(out, REVERSE_V6_TREE);
    for (size_t i = 0; i < 16; i++) {
        buf_printf(out, "/%x/%x", ip->bytes[i] >> 4, ip->bytes[i] & 15);
    }
}

/* Parses "/d" for each nibble. */
static bool parse_nibbles(struct slice text, struct ip *ret_ip)
{
    static const char digits[] = "0123456789abcdef";
    *ret_ip = (struct ip){.family_bytes = 16};
    for (size_t i = 0; i < 32 && text.len == 64; i++) {
        const char *digit = memchr(digits, text.ptr[2 * i + 1], 16);
        if (text.ptr[2 * i] != '/' || !digit) {
            return false;
        }
        ret_ip->bytes[i / 2] = (uint8_t)(ret_ip->bytes[i / 2] << 4 | (digit - digits));
    }
    return text.len == 64;
}

/* Parses "/10/0/0/1": with dots in place of the inner slashes it is an address. */
static bool parse_numbers(struct slice text, struct ip *ret_ip)
{
    char dotted[sizeof("255.255.255.255")];
    if (text.len < 2 || text.len > sizeof(dotted) || text.ptr[0] != '/' ||
        memchr(text.ptr, '.', text.len)) {
        return false;
    }
    for (size_t i = 1; i < text.len; i++) {
        dotted[i - 1] = text.ptr[i] == '/' ? '.' : text.ptr[i];
    }
    return ip_parse(slice_of(dotted, text.len - 1), ret_ip) && ret_ip->family_bytes == 4;
}

static bool reverse_has_prefix(struct slice key, const char *prefix, struct slice *ret_rest)
{
    size_t len = strlen(prefix);
    if (!slice_has_prefix(key, slice_of(prefix, len))) {
        return false;
    }
    *ret_rest = slice_skip(key, len);
    return true;
}

bool reverse_parse_key(struct slice key, struct ip *ret_ip)
{
    struct slice rest;
    if (reverse_has_prefix(key, REVERSE_V6_TREE, &rest)) {
        return parse_nibbles(rest, ret_ip);
    }
    return reverse_has_prefix(key, REVERSE_V4_TREE, &rest) && parse_numbers(rest, ret_ip);
}
