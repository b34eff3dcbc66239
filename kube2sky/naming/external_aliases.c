#include "kube2sky/naming/external_aliases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"

/* A prefix, a name and the label of a key. */
enum { ALIAS_KEY_MAX = 512 };

struct alias_name {
    struct slice key;            /* "/skydns/com/example/app" */
    struct alias_claim **claims; /* the winner first */
    size_t count;
    size_t cap;
    size_t taken; /* claims that lead to another target than the winner */
};

/* One name of one requester. */
struct alias_claim {
    struct alias_requester *requester;
    struct alias_name *name; /* NULL: not allowed, see verdict */
    char *text;
    enum override_verdict verdict;
};

/* A Service that names lead to. */
struct alias_target {
    struct slice id; /* "alias/prod/web" */
    LIST_HEAD(alias_target_requesters, alias_requester) requesters;
    char label[9];
};

/* A namespace with its requesters. */
struct alias_space {
    struct slice ns;
    LIST_HEAD(alias_space_requesters, alias_requester) requesters;
    size_t claims;  /* allowed ones */
    size_t refused; /* beyond EXTERNAL_ALIASES_NAMESPACE_MAX, or an object's own limit */
    size_t won;     /* scratch of external_aliases_build: names of one target still to come */
};

/* A requester: an object with its claims. */
struct alias_requester {
    struct slice id;
    enum alias_rank rank;
    int64_t created_s;
    struct alias_target *target; /* NULL: the ConfigMap */
    struct alias_space *space;
    LIST_ENTRY(alias_requester) of_target, of_space;
    struct alias_claim *claims;
    size_t count;
};

struct external_aliases {
    struct external_aliases_config config;
    struct key_table names, requesters, targets, spaces;
    struct buf key;
    struct external_aliases_counts counts;
    char *held[EXTERNAL_ALIASES_HELD_MAX];
    size_t held_count;
};

/* ---- Tables ---- */

struct external_aliases *external_aliases_new(const struct external_aliases_config *config)
{
    struct external_aliases *aliases = xcalloc(1, sizeof(*aliases));
    aliases->config = *config;
    key_table_init_keyed(&aliases->names);
    key_table_init_keyed(&aliases->requesters);
    key_table_init_keyed(&aliases->targets);
    key_table_init_keyed(&aliases->spaces);
    buf_init(&aliases->key, ALIAS_KEY_MAX);
    return aliases;
}

static void free_alias_claims(struct alias_requester *requester)
{
    for (size_t i = 0; i < requester->count; i++) {
        free(requester->claims[i].text);
    }
    free(requester->claims);
    requester->claims = NULL;
    requester->count = 0;
}

void external_aliases_free(struct external_aliases *aliases)
{
    if (!aliases) {
        return;
    }
    size_t at = 0;
    for (struct alias_name *name; (name = key_table_next(&aliases->names, &at)); at++) {
        free(name->claims);
        free(name);
    }
    at = 0;
    for (struct alias_requester *requester; (requester = key_table_next(&aliases->requesters, &at));
         at++) {
        free_alias_claims(requester);
        free(requester);
    }
    key_table_fini(&aliases->names);
    key_table_fini(&aliases->requesters);
    key_table_fini_things(&aliases->targets);
    key_table_fini_things(&aliases->spaces);
    for (size_t i = 0; i < aliases->held_count; i++) {
        free(aliases->held[i]);
    }
    buf_fini(&aliases->key);
    free(aliases);
}

/* Finds or adds the target of the Service "prod/web". */
static struct alias_target *get_alias_target(struct external_aliases *aliases, struct slice id)
{
    enum { PREFIX_LEN = sizeof(ALIAS_PREFIX) - 1 };
    buf_clear(&aliases->key);
    buf_append_str(&aliases->key, ALIAS_PREFIX);
    buf_append_slice(&aliases->key, id);
    struct slice owner = buf_slice(&aliases->key);
    struct alias_target *target = key_table_find(&aliases->targets, owner);
    if (!target) {
        target = key_table_add(&aliases->targets, owner, sizeof(*target));
        (void)record_label(id, target->label);
    }
    return target;
}

static void leave_alias_lists(struct external_aliases *aliases, struct alias_requester *requester)
{
    struct alias_space *space = requester->space;
    struct alias_target *target = requester->target;
    LIST_REMOVE(requester, of_space);
    if (LIST_EMPTY(&space->requesters)) {
        free(key_table_take(&aliases->spaces, space->ns));
    }
    if (target) {
        LIST_REMOVE(requester, of_target);
    }
    if (target && LIST_EMPTY(&target->requesters)) {
        free(key_table_take(&aliases->targets, target->id));
    }
}

/* ---- Who has a name ---- */

/* Returns "prod/web" of "svc/prod/web". */
static struct slice alias_object(const struct alias_requester *requester)
{
    struct slice object = requester->id;
    (void)slice_cut(&object, '/');
    return object.len ? object : requester->id;
}

static int compare_alias_requesters(const struct alias_requester *a,
                                    const struct alias_requester *b)
{
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->created_s != b->created_s) {
        return a->created_s < b->created_s ? -1 : 1;
    }
    int d = slice_compare(alias_object(a), alias_object(b));
    return d ? d : slice_compare(a->id, b->id);
}

static const struct alias_requester *alias_winner(const struct alias_name *name)
{
    return name->count ? name->claims[0]->requester : NULL;
}

static void tell_alias_target(struct external_aliases *aliases,
                              const struct alias_requester *requester)
{
    if (requester && requester->target) {
        aliases->config.changed(aliases->config.data, requester->target->id);
    }
}

/* Counts `taken` anew after a claim came (change 1) or went (-1). Only a new winning target makes
 * all claims count again. */
static void count_alias_taken(struct external_aliases *aliases, struct alias_name *name,
                              const struct alias_requester *before,
                              const struct alias_requester *requester, int change)
{
    const struct alias_requester *winner = alias_winner(name);
    bool is_same = winner && before && before->target == winner->target;
    bool is_taken = is_same && requester->target != winner->target;
    size_t taken = is_same ? name->taken + (size_t)(change * (int)is_taken) : 0;
    for (size_t i = 1; i < name->count && !is_same; i++) {
        taken += name->claims[i]->requester->target != name->claims[0]->requester->target;
    }
    aliases->counts.taken += taken - name->taken;
    name->taken = taken;
}

static struct alias_name *get_alias_name(struct external_aliases *aliases, struct slice key)
{
    struct alias_name *name = key_table_find(&aliases->names, key);
    if (!name) {
        name = key_table_add(&aliases->names, key, sizeof(*name));
        aliases->counts.names++;
    }
    return name;
}

/* Returns the index at which the requester's claims begin, or would: in other letters
 * it may claim a name twice. */
static size_t alias_place(const struct alias_name *name, const struct alias_requester *requester)
{
    size_t from = 0, to = name->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        bool is_before = compare_alias_requesters(name->claims[middle]->requester, requester) < 0;
        from = is_before ? middle + 1 : from;
        to = is_before ? to : middle;
    }
    return from;
}

static void insert_alias_claim(struct external_aliases *aliases, struct alias_name *name,
                               struct alias_claim *claim)
{
    const struct alias_requester *before = alias_winner(name);
    size_t at = alias_place(name, claim->requester);
    name->claims = xgrow_array(name->claims, name->count, &name->cap, sizeof(struct alias_claim *));
    memmove(&name->claims[at + 1], &name->claims[at],
            (name->count - at) * sizeof(struct alias_claim *));
    name->claims[at] = claim;
    name->count++;
    claim->name = name;
    count_alias_taken(aliases, name, before, claim->requester, 1);
    if (before && before != alias_winner(name)) {
        tell_alias_target(aliases, before);
    }
}

static void remove_alias_claim(struct external_aliases *aliases, struct alias_claim *claim)
{
    struct alias_name *name = claim->name;
    size_t at = alias_place(name, claim->requester);
    const struct alias_requester *before = alias_winner(name);
    while (name->claims[at] != claim) {
        at++;
        assert(at < name->count);
    }
    memmove(&name->claims[at], &name->claims[at + 1],
            (name->count - at - 1) * sizeof(struct alias_claim *));
    name->count--;
    claim->name = NULL;
    count_alias_taken(aliases, name, before, claim->requester, -1);
    if (before != alias_winner(name)) {
        tell_alias_target(aliases, alias_winner(name));
    }
    if (!name->count) {
        (void)key_table_take(&aliases->names, name->key);
        free(name->claims);
        free(name);
        aliases->counts.names--;
    }
}

/* ---- What a requester claims ---- */

/* Judges a claim, and adds it to its name if it is allowed. */
static void place_alias_claim(struct external_aliases *aliases, struct alias_claim *claim,
                              size_t index)
{
    const struct alias_requester *requester = claim->requester;
    struct alias_space *space = requester->space;
    bool is_config = requester->rank == ALIAS_OF_CONFIG_MAP;
    struct dname name;
    bool is_name = override_name_parse(slice_str(claim->text), &name);
    bool is_beyond =
        !is_config &&
        (space->claims >= EXTERNAL_ALIASES_NAMESPACE_MAX ||
         (requester->rank == ALIAS_OF_SERVICE && index >= EXTERNAL_ALIASES_OBJECT_MAX));
    claim->verdict =
        !is_name ? OVERRIDE_NO_NAME : override_zones_judge(aliases->config.zones, &name, space->ns);
    if (claim->verdict == OVERRIDE_ALLOWED && is_beyond) {
        claim->verdict = OVERRIDE_TOO_MANY;
    }
    if (claim->verdict == OVERRIDE_ALLOWED) {
        buf_clear(&aliases->key);
        record_key_of(slice_str(SKYDNS_TREE), &name, &aliases->key);
        insert_alias_claim(aliases, get_alias_name(aliases, buf_slice(&aliases->key)), claim);
    }
    space->claims += claim->verdict == OVERRIDE_ALLOWED;
    space->refused += claim->verdict == OVERRIDE_TOO_MANY;
    aliases->counts.refused += claim->verdict != OVERRIDE_ALLOWED;
}

static void displace_alias_claim(struct external_aliases *aliases, struct alias_claim *claim)
{
    struct alias_space *space = claim->requester->space;
    if (claim->name) {
        remove_alias_claim(aliases, claim);
    }
    space->claims -= claim->verdict == OVERRIDE_ALLOWED;
    space->refused -= claim->verdict == OVERRIDE_TOO_MANY;
    aliases->counts.refused -= claim->verdict != OVERRIDE_ALLOWED;
}

/* Judges claims that were too many again, since the namespace may have room now. */
static void place_refused(struct external_aliases *aliases, const struct alias_space *space)
{
    struct alias_requester *requester = LIST_FIRST(&space->requesters);
    for (; requester && space->refused; requester = LIST_NEXT(requester, of_space)) {
        bool has_more = false;
        for (size_t i = 0; i < requester->count; i++) {
            struct alias_claim *claim = &requester->claims[i];
            if (claim->verdict == OVERRIDE_TOO_MANY &&
                space->claims < EXTERNAL_ALIASES_NAMESPACE_MAX) {
                displace_alias_claim(aliases, claim);
                place_alias_claim(aliases, claim, i);
                has_more |= claim->name != NULL;
            }
        }
        if (has_more) {
            tell_alias_target(aliases, requester);
        }
    }
}

static void drop_alias_requester(struct external_aliases *aliases,
                                 struct alias_requester *requester)
{
    for (size_t i = 0; i < requester->count; i++) {
        displace_alias_claim(aliases, &requester->claims[i]);
    }
    tell_alias_target(aliases, requester);
    (void)key_table_take(&aliases->requesters, requester->id);
    free_alias_claims(requester);
    leave_alias_lists(aliases, requester);
    free(requester);
}

static void add_alias_requester(struct external_aliases *aliases,
                                const struct alias_owner_object *owner_object,
                                const struct slice *names, size_t count)
{
    struct alias_requester *requester =
        key_table_add(&aliases->requesters, owner_object->id, sizeof(*requester));
    requester->rank = owner_object->rank;
    requester->created_s = owner_object->created_s;
    requester->target =
        owner_object->target.len ? get_alias_target(aliases, owner_object->target) : NULL;
    requester->space = key_table_get(&aliases->spaces, owner_object->ns, sizeof(*requester->space));
    requester->claims = xcalloc(count, sizeof(*requester->claims));
    requester->count = count;
    LIST_INSERT_HEAD(&requester->space->requesters, requester, of_space);
    if (requester->target) {
        LIST_INSERT_HEAD(&requester->target->requesters, requester, of_target);
    }
    for (size_t i = 0; i < count; i++) {
        requester->claims[i] = (struct alias_claim){.requester = requester,
                                                    .text = xstrndup(names[i].ptr, names[i].len)};
        place_alias_claim(aliases, &requester->claims[i], i);
    }
    tell_alias_target(aliases, requester);
}

static bool asks_the_same(const struct alias_requester *requester,
                          const struct alias_owner_object *owner_object, const struct slice *names,
                          size_t count)
{
    enum { PREFIX_LEN = sizeof(ALIAS_PREFIX) - 1 };
    struct slice target = requester->target ? requester->target->id : slice_of(NULL, 0);
    if (target.len) {
        target = slice_skip(target, PREFIX_LEN);
    }
    bool is_same = requester->count == count && requester->rank == owner_object->rank &&
                   requester->created_s == owner_object->created_s &&
                   slice_equal(target, owner_object->target);
    for (size_t i = 0; i < count && is_same; i++) {
        is_same = slice_equal(slice_str(requester->claims[i].text), names[i]);
    }
    return is_same;
}

/* The names of one object, each once: a route has a name at several listeners of its Gateway, and
 * would pay for it each time. */
struct distinct_names {
    struct key_table seen;
    struct slice *items;
    size_t count;
};

static void distinct_names_init(struct distinct_names *names, size_t names_max)
{
    key_table_init_keyed(&names->seen);
    names->items = xcalloc(names_max, sizeof(*names->items));
    names->count = 0;
}

static void distinct_names_fini(struct distinct_names *names)
{
    key_table_fini_things(&names->seen);
    free(names->items);
}

static void distinct_names_add(struct distinct_names *names, struct slice name)
{
    if (!key_table_find(&names->seen, name)) {
        (void)key_table_add(&names->seen, name, sizeof(struct slice));
        names->items[names->count++] = name;
    }
}

static void set_distinct_names(struct external_aliases *aliases,
                               const struct alias_owner_object *owner_object,
                               const struct slice *names, size_t count)
{
    struct alias_requester *requester = key_table_find(&aliases->requesters, owner_object->id);
    if (requester ? asks_the_same(requester, owner_object, names, count) : count == 0) {
        return;
    }
    if (requester) {
        drop_alias_requester(aliases, requester);
    }
    if (count) {
        add_alias_requester(aliases, owner_object, names, count);
    } else if (aliases->config.unclaimed) {
        aliases->config.unclaimed(aliases->config.data, owner_object->id);
    }
    const struct alias_space *space = key_table_find(&aliases->spaces, owner_object->ns);
    if (space && space->refused) {
        place_refused(aliases, space);
    }
}

void external_aliases_set(struct external_aliases *aliases,
                          const struct alias_owner_object *owner_object, const struct slice *names,
                          size_t count)
{
    struct distinct_names distinct;
    distinct_names_init(&distinct, count);
    for (size_t i = 0; i < count; i++) {
        distinct_names_add(&distinct, names[i]);
    }
    set_distinct_names(aliases, owner_object, distinct.items, distinct.count);
    distinct_names_fini(&distinct);
}

/* Reads one name more than the annotation may have, to report it. */
enum { ALIAS_TEXT_NAMES = EXTERNAL_ALIASES_OBJECT_MAX + 1 };

void external_aliases_set_text(struct external_aliases *aliases,
                               const struct alias_owner_object *owner_object, struct slice text)
{
    struct distinct_names distinct;
    distinct_names_init(&distinct, ALIAS_TEXT_NAMES);
    while (text.len && distinct.count < ALIAS_TEXT_NAMES) {
        const struct slice name = slice_trim(slice_cut(&text, ','));
        if (name.len) {
            distinct_names_add(&distinct, name);
        }
    }
    set_distinct_names(aliases, owner_object, distinct.items, distinct.count);
    distinct_names_fini(&distinct);
}

void external_aliases_tell(struct external_aliases *aliases, struct slice target)
{
    char *id = xasprintf(ALIAS_PREFIX "%.*s", (int)target.len, target.ptr);
    const struct alias_target *found = key_table_find(&aliases->targets, slice_str(id));
    if (found) {
        aliases->config.changed(aliases->config.data, found->id);
    }
    free(id);
}

/* ---- What an owner wants ---- */

/* Appends the record of "alias/prod/web": its host is "web.prod.svc.cluster.local.". */
static void append_alias_value(const struct external_aliases *aliases, struct slice owner,
                               struct buf *host, struct buf *out)
{
    struct slice service = slice_skip(owner, sizeof(ALIAS_PREFIX) - 1);
    const struct slice ns = slice_cut(&service, '/');
    buf_append_slice(host, service);
    buf_append_char(host, '.');
    buf_append_slice(host, ns);
    buf_append_str(host, "." SERVICE_LABEL ".");
    buf_append_str(host, aliases->config.domain);
    const struct record record = {
        .host = buf_slice(host),
        .priority = RECORD_PRIORITY,
        .weight = RECORD_WEIGHT,
        .ttl_s = aliases->config.ttl_s,
        .targetstrip = ALIAS_TARGETSTRIP,
    };
    record_to_json(&record, out);
}

/* Returns whether the name leads to the claim's target, perhaps by another object's claim. */
static bool is_alias_won(const struct alias_claim *claim)
{
    const struct alias_name *name = claim->name;
    return name && name->claims[0]->requester->target == claim->requester->target;
}

/* Counts the names that each namespace wins for the target; returns their sum. */
static size_t count_won(struct external_aliases *aliases, const struct alias_target *target)
{
    size_t at = 0, count = 0;
    for (struct alias_space *space; (space = key_table_next(&aliases->spaces, &at)); at++) {
        space->won = 0;
    }
    const struct alias_requester *requester = target ? LIST_FIRST(&target->requesters) : NULL;
    for (; requester; requester = LIST_NEXT(requester, of_target)) {
        for (size_t i = 0; i < requester->count; i++) {
            bool is_won = is_alias_won(&requester->claims[i]);
            requester->space->won += is_won;
            count += is_won;
        }
    }
    return count;
}

/* Returns how many names all namespaces have together if none has more than `share`. */
static size_t external_aliases_count_shared(const struct external_aliases *aliases, size_t share)
{
    size_t at = 0, count = 0;
    for (const struct alias_space *space; (space = key_table_next(&aliases->spaces, &at)); at++) {
        count += space->won < share ? space->won : share;
    }
    return count;
}

/* Returns how many of the target's names each namespace may have; SIZE_MAX: all fit. */
static size_t find_share(struct external_aliases *aliases, const struct alias_target *target,
                         size_t names_max)
{
    size_t from = 0, to = count_won(aliases, target);
    if (to <= names_max) {
        return SIZE_MAX;
    }
    while (from + 1 < to) {
        size_t middle = from + (to - from) / 2;
        bool fits = external_aliases_count_shared(aliases, middle) <= names_max;
        from = fits ? middle : from;
        to = fits ? to : middle;
    }
    return from;
}

void external_aliases_build(struct external_aliases *aliases, struct slice owner, size_t names_max,
                            bool (*is_taken)(const void *data, struct slice name_key,
                                             struct slice key),
                            const void *data, struct desired *wanted, struct desired *left)
{
    const struct alias_target *target = key_table_find(&aliases->targets, owner);
    size_t share = find_share(aliases, target, names_max);
    struct buf key, value, host;
    buf_init(&key, ALIAS_KEY_MAX);
    buf_init(&value, RECORD_JSON_MAX);
    buf_init(&host, RECORD_JSON_MAX);
    desired_clear(wanted);
    desired_clear(left);
    append_alias_value(aliases, owner, &host, &value);
    const struct alias_requester *requester = target ? LIST_FIRST(&target->requesters) : NULL;
    for (; requester; requester = LIST_NEXT(requester, of_target)) {
        for (size_t i = 0; i < requester->count; i++) {
            const struct alias_name *name = requester->claims[i].name;
            if (!name) {
                continue;
            }
            struct slice name_key = name->key;
            buf_clear(&key);
            buf_append_slice(&key, name_key);
            buf_append_char(&key, '/');
            buf_append_str(&key, target->label);
            bool is_won = is_alias_won(&requester->claims[i]);
            bool has_share = is_won && requester->space->won <= share;
            requester->space->won -= is_won;
            bool is_mine = has_share && !is_taken(data, name_key, buf_slice(&key));
            desired_add(is_mine ? wanted : left, buf_slice(&key), buf_slice(&value));
        }
    }
    desired_seal(wanted);
    desired_seal(left);
    buf_fini(&key);
    buf_fini(&value);
    buf_fini(&host);
}

struct slice external_aliases_owner(const struct external_aliases *aliases, struct slice name_key,
                                    bool *ret_is_config)
{
    const struct alias_name *name = key_table_find(&aliases->names, name_key);
    const struct alias_requester *winner = name ? alias_winner(name) : NULL;
    *ret_is_config = winner && !winner->target;
    return winner && winner->target ? winner->target->id : slice_of(NULL, 0);
}

void external_aliases_each(const struct external_aliases *aliases, struct slice owner,
                           void (*fn)(void *data, const struct alias_view *view), void *data)
{
    const struct alias_target *target = key_table_find(&aliases->targets, owner);
    const struct alias_requester *requester = target ? LIST_FIRST(&target->requesters) : NULL;
    for (; requester; requester = LIST_NEXT(requester, of_target)) {
        for (size_t i = 0; i < requester->count; i++) {
            const struct alias_claim *claim = &requester->claims[i];
            const struct alias_name *name = claim->name;
            const struct alias_requester *winner = name ? alias_winner(name) : NULL;
            assert(!name || winner); /* this claim at least */
            const struct alias_view view = {
                .name = slice_str(claim->text),
                .key = name ? name->key : slice_of(NULL, 0),
                .owner_object = requester->id,
                .winner = winner ? winner->id : slice_of(NULL, 0),
                .is_won = winner && winner->target == target,
                .label = target->label,
                .verdict = claim->verdict,
            };
            fn(data, &view);
        }
    }
}

static size_t find_held(const struct external_aliases *aliases, struct slice owner)
{
    size_t i = 0;
    while (i < aliases->held_count && !slice_equal(slice_str(aliases->held[i]), owner)) {
        i++;
    }
    return i;
}

void external_aliases_hold(struct external_aliases *aliases, struct slice owner, bool is_held)
{
    if (is_held) {
        assert(aliases->held_count < EXTERNAL_ALIASES_HELD_MAX);
        aliases->held[aliases->held_count++] = xstrndup(owner.ptr, owner.len);
        return;
    }
    size_t at = find_held(aliases, owner);
    assert(at < aliases->held_count);
    free(aliases->held[at]);
    aliases->held[at] = aliases->held[--aliases->held_count];
    if (!external_aliases_is_held(aliases, owner)) {
        aliases->config.changed(aliases->config.data, owner);
    }
}

bool external_aliases_is_held(const struct external_aliases *aliases, struct slice owner)
{
    return find_held(aliases, owner) < aliases->held_count;
}

struct external_aliases_counts external_aliases_count(const struct external_aliases *aliases)
{
    struct external_aliases_counts counts = aliases->counts;
    counts.held = aliases->held_count;
    return counts;
}
