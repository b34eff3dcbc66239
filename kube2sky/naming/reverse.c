#include "kube2sky/naming/reverse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"

struct claimant;

/* One claim, in two lists: its address's, best first, and its claimant's. */
struct held_claim {
    struct held_claim *next_here;
    struct held_claim *next_own; /* by address */
    struct claimant *claimant;
    struct ip ip;
    uint8_t rank;
    uint16_t host_len;
    char host[];
};

/* An owner that has claims. */
struct claimant {
    struct held_claim *first;
    uint32_t id_len;
    char id[];
};

struct reverse {
    struct key_table addresses; /* of the best claims */
    struct key_table claimants;
};

/* family_bytes, followed by that many bytes. */
static struct slice ip_bytes(const struct ip *ip)
{
    return slice_of(ip, 1 + (size_t)ip->family_bytes);
}

static struct slice address_key(const void *thing)
{
    const struct held_claim *held = thing;
    return ip_bytes(&held->ip);
}

static struct slice claimant_key(const void *thing)
{
    const struct claimant *claimant = thing;
    return slice_of(claimant->id, claimant->id_len);
}

struct reverse *reverse_new(void)
{
    struct reverse *reverse = xcalloc(1, sizeof(*reverse));
    key_table_init(&reverse->addresses, address_key);
    key_table_init(&reverse->claimants, claimant_key);
    return reverse;
}

void reverse_free(struct reverse *reverse)
{
    struct claimant *claimant;
    if (!reverse) {
        return;
    }
    for (size_t at = 0; (claimant = key_table_next(&reverse->claimants, &at)); at++) {
        while (claimant->first) {
            struct held_claim *held = claimant->first;
            claimant->first = held->next_own;
            free(held);
        }
        free(claimant);
    }
    key_table_fini(&reverse->addresses);
    key_table_fini(&reverse->claimants);
    free(reverse);
}

/* ---- One claim ---- */

static struct claim view(const struct held_claim *held)
{
    return (struct claim){
        .ip = held->ip,
        .rank = held->rank,
        .host = slice_of(held->host, held->host_len),
    };
}

static struct held_claim *hold(struct claimant *claimant, const struct claim *claim)
{
    struct held_claim *held = xcalloc(1, sizeof(*held) + claim->host.len);
    held->claimant = claimant;
    held->ip = claim->ip;
    held->rank = (uint8_t)claim->rank;
    held->host_len = (uint16_t)claim->host.len;
    memcpy(held->host, claim->host.ptr, claim->host.len);
    return held;
}

static struct held_claim *best_at(const struct reverse *reverse, const struct ip *ip)
{
    return key_table_find(&reverse->addresses, ip_bytes(ip));
}

static void set_best(struct reverse *reverse, const struct ip *ip, struct held_claim *best)
{
    if (best) {
        (void)key_table_put(&reverse->addresses,
                            best); /* the previous one is in its list, or gone */
    } else {
        (void)key_table_take(&reverse->addresses, ip_bytes(ip));
    }
}

static void link_here(struct reverse *reverse, struct held_claim *held)
{
    struct held_claim *best = best_at(reverse, &held->ip);
    struct held_claim **link = &best;
    struct claim claim = view(held);
    for (; *link; link = &(*link)->next_here) {
        struct claim other = view(*link);
        if (claim_compare(&claim, &other) <= 0) {
            break;
        }
    }
    held->next_here = *link;
    *link = held;
    set_best(reverse, &held->ip, best);
}

static void unlink_here(struct reverse *reverse, const struct held_claim *held)
{
    struct held_claim *best = best_at(reverse, &held->ip);
    struct held_claim **link = &best;
    while (*link != held) {
        link = &(*link)->next_here;
    }
    *link = held->next_here;
    set_best(reverse, &held->ip, best);
}

/* ---- An owner's claims ---- */

/* Replaces the claimant's old claim on one address (NULL: none) by the new one (NULL: none).
 * Reports a change of name. */
static void replace(struct reverse *reverse, const struct ip *ip, struct held_claim *old,
                    struct held_claim *new, reverse_changed_fn changed, void *data)
{
    const struct held_claim *before = best_at(reverse, ip);
    if (!before && new) { /* the first claim on an address, as nearly all are */
        set_best(reverse, ip, new);
        changed(data, ip);
        return;
    }
    if (old) {
        unlink_here(reverse, old);
    }
    if (new) {
        link_here(reverse, new);
    }
    const struct held_claim *after = best_at(reverse, ip);
    bool is_same = before && after &&
                   slice_equal(slice_of(before->host, before->host_len),
                               slice_of(after->host, after->host_len));
    if (!is_same) {
        changed(data, ip);
    }
    free(old);
}

static bool is_same_claim(const struct held_claim *held, const struct claim *claim)
{
    struct claim mine = view(held);
    return claim_compare(&mine, claim) == 0;
}

/* Whether one is on this address; they are sorted. */
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

/* Both lists are sorted by address. gone: of the claimant's others, those that go; NULL: all. */
static void merge(struct reverse *reverse, struct claimant *claimant, const struct claims *gone,
                  const struct claims *claims, reverse_changed_fn changed, void *data)
{
    struct held_claim **link = &claimant->first;
    size_t at = 0;
    while (*link || at < claims->count) {
        struct held_claim *old = *link;
        struct claim claim = {.ip = {0}};
        int order = -1; /* an old claim, a new one, or both, on one address */
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
            replace(reverse, &ip, old, NULL, changed, data);
            continue;
        }
        at++;
        if (order > 0 || !is_same_claim(old, &claim)) {
            struct held_claim *new = hold(claimant, &claim);
            struct held_claim *replaced = order == 0 ? old : NULL;
            new->next_own = replaced ? replaced->next_own : old;
            *link = new;
            replace(reverse, &claim.ip, replaced, new, changed, data);
        }
        link = &(*link)->next_own;
    }
}

static void set_claims(struct reverse *reverse, struct slice owner, const struct claims *gone,
                       const struct claims *claims, reverse_changed_fn changed, void *data)
{
    struct claimant *claimant = key_table_find(&reverse->claimants, owner);
    if (!claimant && claims->count == 0) {
        return;
    }
    if (!claimant) {
        claimant = xcalloc(1, sizeof(*claimant) + owner.len);
        claimant->id_len = (uint32_t)owner.len;
        memcpy(claimant->id, owner.ptr, owner.len);
        (void)key_table_put(&reverse->claimants, claimant); /* was not there */
    }
    merge(reverse, claimant, gone, claims, changed, data);
    if (!claimant->first) {
        (void)key_table_take(&reverse->claimants, claimant_key(claimant)); /* this one */
        free(claimant);
    }
}

void reverse_set(struct reverse *reverse, struct slice owner, const struct claims *claims,
                 reverse_changed_fn changed, void *data)
{
    set_claims(reverse, owner, NULL, claims, changed, data);
}

void reverse_change(struct reverse *reverse, struct slice owner, const struct claims *gone,
                    const struct claims *come, reverse_changed_fn changed, void *data)
{
    set_claims(reverse, owner, gone, come, changed, data);
}

/* ---- Queries ---- */

bool reverse_winner(const struct reverse *reverse, const struct ip *ip,
                    struct reverse_winner *ret_winner)
{
    const struct held_claim *best = best_at(reverse, ip);
    if (best) {
        ret_winner->host = slice_of(best->host, best->host_len);
        ret_winner->owner = claimant_key(best->claimant);
    }
    return best != NULL;
}

size_t reverse_count(const struct reverse *reverse)
{
    return reverse->addresses.count;
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

/* "/d" for each nibble. */
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

/* "/10/0/0/1": with dots for the inner slashes it is an address. */
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

static bool has_prefix(struct slice key, const char *prefix, struct slice *ret_rest)
{
    size_t len = strlen(prefix);
    if (!slice_has_prefix(key, slice_of(prefix, len))) {
        return false;
    }
    *ret_rest = slice_of(key.ptr + len, key.len - len);
    return true;
}

bool reverse_parse_key(struct slice key, struct ip *ret_ip)
{
    struct slice rest;
    if (has_prefix(key, REVERSE_V6_TREE, &rest)) {
        return parse_nibbles(rest, ret_ip);
    }
    return has_prefix(key, REVERSE_V4_TREE, &rest) && parse_numbers(rest, ret_ip);
}
