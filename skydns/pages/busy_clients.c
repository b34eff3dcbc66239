#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/pages/busy_clients_internal.h"

enum {
    HEADS = 2 * BUSY_CLIENTS_MAX,
    MERGED_MAX = BUSY_PARTS * BUSY_CLIENTS_MAX,
    MERGED_HEADS = 2 * MERGED_MAX,
    NO_CLIENT = UINT16_MAX,
};

struct busy_key {
    struct ip ip; /* bytes beyond family_bytes are 0 */
    uint8_t none; /* 0: no padding is compared */
    uint16_t group;
};
_Static_assert(sizeof(struct busy_key) == 20, "no padding");

struct busy_entry {
    struct busy_key key;
    uint32_t figures[BUSY_FIGURES];
    uint32_t lacks; /* queries of clients that were replaced, which may be its own */
    uint16_t next;  /* of the same hash; NO_CLIENT: none */
};

/* Part of the window. Totals and groups of entries have arrays of their own: a search for the
 * least reads no more. */
struct busy_part {
    size_t count;
    uint64_t totals[BUSY_CLIENTS_MAX]; /* queries and lacks */
    uint16_t groups[BUSY_CLIENTS_MAX];
    uint16_t sizes[BUSY_GROUPS_MAX];  /* clients of each group */
    uint64_t floors[BUSY_GROUPS_MAX]; /* the largest total that a replaced client had */
    unsigned group_count;             /* groups with a client */
    uint16_t heads[HEADS];
    struct busy_entry entries[BUSY_CLIENTS_MAX];
};

struct busy_clients {
    unsigned now;
    struct busy_part *parts[BUSY_PARTS]; /* NULL: no client yet */
};

struct busy_clients *busy_clients_new(void)
{
    seeded_hash_init();
    return xcalloc(1, sizeof(struct busy_clients));
}

void busy_clients_free(struct busy_clients *clients)
{
    for (unsigned i = 0; clients && i < BUSY_PARTS; i++) {
        free(clients->parts[i]);
    }
    free(clients);
}

void busy_window_add(struct busy_window *window, unsigned part, const uint32_t add[BUSY_FIGURES])
{
    for (unsigned i = 0; i < BUSY_FIGURES; i++) {
        window->parts[part][i] += add[i];
    }
}

void busy_window_sum(const struct busy_window *window, uint64_t ret_sums[BUSY_FIGURES])
{
    memset(ret_sums, 0, BUSY_FIGURES * sizeof(*ret_sums));
    for (unsigned part = 0; part < BUSY_PARTS; part++) {
        for (unsigned i = 0; i < BUSY_FIGURES; i++) {
            ret_sums[i] += window->parts[part][i];
        }
    }
}

/* ---- Places ---- */

static struct busy_part *busy_part_new(void)
{
    struct busy_part *part = xcalloc(1, sizeof(*part));
    memset(part->heads, 0xff, sizeof(part->heads)); /* NO_CLIENT */
    return part;
}

static uint32_t busy_hash(const struct busy_key *key)
{
    return seeded_hash(slice_of(key, sizeof(*key)));
}

static bool is_same_client(const struct busy_key *a, const struct busy_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static unsigned find_largest_group(const struct busy_part *part)
{
    unsigned largest = 0;
    for (unsigned i = 1; i < BUSY_GROUPS_MAX; i++) {
        largest = part->sizes[i] > part->sizes[largest] ? i : largest;
    }
    return largest;
}

/* Returns the group's client with the fewest queries. It has one. */
static size_t find_least(const struct busy_part *part, unsigned group)
{
    uint64_t least = UINT64_MAX;
    size_t found = NO_CLIENT;
    for (size_t i = 0; i < part->count; i++) {
        if (part->groups[i] == group && part->totals[i] < least) {
            least = part->totals[i];
            found = i;
        }
    }
    assert(found != NO_CLIENT);
    return found;
}

static void unlink_client(struct busy_part *part, size_t at)
{
    uint16_t *link = &part->heads[busy_hash(&part->entries[at].key) % HEADS];
    while (*link != at) {
        link = &part->entries[*link].next;
    }
    *link = part->entries[at].next;
}

/* Takes the place of a client of the group or, while that has less than its share, of the largest
 * group. */
static size_t replace_client(struct busy_part *part, unsigned group)
{
    const unsigned groups = part->group_count + (part->sizes[group] == 0);
    const bool has_share = (size_t)part->sizes[group] * groups >= BUSY_CLIENTS_MAX;
    const unsigned loser = has_share ? group : find_largest_group(part);
    const size_t at = find_least(part, loser);
    if (part->totals[at] > part->floors[loser]) {
        part->floors[loser] = part->totals[at];
    }
    unlink_client(part, at);
    part->group_count -= --part->sizes[loser] == 0;
    return at;
}

static size_t place_client(struct busy_part *part, const struct busy_key *key, uint32_t hash)
{
    const size_t at =
        part->count < BUSY_CLIENTS_MAX ? part->count++ : replace_client(part, key->group);
    struct busy_entry *entry = &part->entries[at];
    uint16_t *head = &part->heads[hash % HEADS];
    *entry = (struct busy_entry){
        .key = *key, .lacks = (uint32_t)part->floors[key->group], .next = *head};
    *head = (uint16_t)at;
    part->totals[at] = entry->lacks;
    part->groups[at] = key->group;
    part->group_count += part->sizes[key->group]++ == 0;
    return at;
}

void busy_clients_add(struct busy_clients *clients, const struct ip *ip, unsigned group,
                      const uint32_t figures[BUSY_FIGURES])
{
    struct busy_key key = {.ip.family_bytes = ip->family_bytes, .group = (uint16_t)group};
    if (!clients->parts[clients->now]) {
        clients->parts[clients->now] = busy_part_new();
    }
    struct busy_part *part = clients->parts[clients->now];
    memcpy(key.ip.bytes, ip->bytes, ip->family_bytes);
    const uint32_t hash = busy_hash(&key);
    size_t at = part->heads[hash % HEADS];
    while (at != NO_CLIENT && !is_same_client(&part->entries[at].key, &key)) {
        at = part->entries[at].next;
    }
    if (at == NO_CLIENT) {
        at = place_client(part, &key, hash);
    }
    for (unsigned i = 0; i < BUSY_FIGURES; i++) {
        part->entries[at].figures[i] += figures[i];
    }
    part->totals[at] += figures[BUSY_QUERIES];
}

void busy_clients_turn(struct busy_clients *clients)
{
    clients->now = (clients->now + 1) % BUSY_PARTS;
    free(clients->parts[clients->now]);
    clients->parts[clients->now] = NULL;
}

unsigned busy_clients_part(const struct busy_clients *clients)
{
    return clients->now;
}

/* ---- Lists ---- */

/* Clients of all parts, each once. */
struct merged {
    size_t count;
    uint16_t heads[MERGED_HEADS], nexts[MERGED_MAX];
    struct busy_key keys[MERGED_MAX];
    struct busy_client clients[MERGED_MAX];
};
_Static_assert((int)MERGED_MAX < (int)NO_CLIENT, "a number for each");

/* Returns what a client of the group may lack that is in no part. */
static uint64_t sum_floors(const struct busy_clients *clients, unsigned group)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < BUSY_PARTS; i++) {
        sum += clients->parts[i] ? clients->parts[i]->floors[group] : 0;
    }
    return sum;
}

static struct busy_client *merged_client(struct merged *merged, const struct busy_clients *clients,
                                         const struct busy_key *key)
{
    uint16_t *head = &merged->heads[busy_hash(key) % MERGED_HEADS];
    size_t at = *head;
    while (at != NO_CLIENT && !is_same_client(&merged->keys[at], key)) {
        at = merged->nexts[at];
    }
    if (at == NO_CLIENT) {
        at = merged->count++;
        merged->keys[at] = *key;
        merged->nexts[at] = *head;
        *head = (uint16_t)at;
        merged->clients[at] = (struct busy_client){
            .ip = key->ip, .group = key->group, .lacks = sum_floors(clients, key->group)};
    }
    return &merged->clients[at];
}

static void merge_part(struct merged *merged, const struct busy_clients *clients,
                       const struct busy_part *part)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct busy_entry *entry = &part->entries[i];
        struct busy_client *client = merged_client(merged, clients, &entry->key);
        client->lacks -= part->floors[entry->key.group] - entry->lacks;
        for (unsigned k = 0; k < BUSY_FIGURES; k++) {
            client->figures[k] += entry->figures[k];
        }
    }
}

static int compare_busy(const void *a, const void *b)
{
    const struct busy_client *x = a, *y = b;
    const uint64_t p = x->figures[BUSY_QUERIES], q = y->figures[BUSY_QUERIES];
    return p < q ? 1 : p > q ? -1 : memcmp(&x->ip, &y->ip, sizeof(x->ip));
}

size_t busy_clients_list(const struct busy_clients *clients, struct busy_client *ret, size_t max)
{
    struct merged *merged = xmalloc(sizeof(*merged));
    merged->count = 0;
    memset(merged->heads, 0xff, sizeof(merged->heads)); /* NO_CLIENT */
    for (unsigned i = 0; i < BUSY_PARTS; i++) {
        if (clients->parts[i]) {
            merge_part(merged, clients, clients->parts[i]);
        }
    }
    qsort(merged->clients, merged->count, sizeof(merged->clients[0]), compare_busy);
    const size_t count = merged->count < max ? merged->count : max;
    memcpy(ret, merged->clients, count * sizeof(*ret));
    free(merged);
    return count;
}

void busy_clients_count(const struct busy_clients *clients, uint16_t ret_counts[BUSY_GROUPS_MAX])
{
    memset(ret_counts, 0, BUSY_GROUPS_MAX * sizeof(*ret_counts));
    for (unsigned i = 0; i < BUSY_PARTS; i++) {
        for (unsigned group = 0; clients->parts[i] && group < BUSY_GROUPS_MAX; group++) {
            const uint16_t size = clients->parts[i]->sizes[group];
            ret_counts[group] = size > ret_counts[group] ? size : ret_counts[group];
        }
    }
}
