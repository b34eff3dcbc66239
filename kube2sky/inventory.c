#include "kube2sky/inventory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/dname.h"
#include "common/xalloc.h"

#define uthash_malloc(size)    xmalloc(size)
#define uthash_free(ptr, size) free(ptr)
#include <uthash.h>

#define FIRST_SERVICE "default/kubernetes"

/* Namespace and name of at most 253 bytes each (the API's limit) and the slash; longer ones, from
 * an API gone mad, are cut and found as cut. */
enum { OWNER_ID_MAX = 1024 };

/* One kind's object of a pair. */
struct place {
    struct kube_object *object; /* NULL with is_there: never understood */
    bool is_there;
    uint32_t generation; /* of the list that last named it */
};

struct pair {
    UT_hash_handle hh;
    struct place places[KUBE_KIND_COUNT];
    size_t id_len;
    char id[];
};

struct kind_state {
    uint32_t generation; /* of the list under way or done last */
    size_t count;
    bool is_listing;
    bool is_listed;
    bool wants_first;  /* the list has ended without default/kubernetes */
    bool has_nameless; /* the list has an object that nobody can name */
};

struct inventory {
    struct inventory_config config;
    struct pair *pairs;
    struct kind_state kinds[KUBE_KIND_COUNT];
};

struct inventory *inventory_new(const struct inventory_config *config)
{
    struct inventory *inventory = xcalloc(1, sizeof(*inventory));
    inventory->config = *config;
    return inventory;
}

static void discard(struct inventory *inventory, struct pair *pair)
{
    HASH_DEL(inventory->pairs, pair);
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        kube_object_free(pair->places[kind].object);
    }
    free(pair);
}

void inventory_free(struct inventory *inventory)
{
    struct pair *pair, *next;
    if (!inventory) {
        return;
    }
    HASH_ITER(hh, inventory->pairs, pair, next)
    {
        discard(inventory, pair);
    }
    free(inventory);
}

/* ---- Pairs ---- */

static void append_lower(struct buf *out, const char *text)
{
    for (; *text; text++) {
        buf_append_char(out, (char)ascii_lower((uint8_t)*text));
    }
}

static struct pair *find(const struct inventory *inventory, struct slice id)
{
    struct pair *pair;
    HASH_FIND(hh, inventory->pairs, id.ptr, id.len, pair);
    return pair;
}

static struct pair *find_or_add(struct inventory *inventory, struct slice id)
{
    struct pair *pair = find(inventory, id);
    if (!pair) {
        pair = xcalloc(1, sizeof(*pair) + id.len);
        pair->id_len = id.len;
        memcpy(pair->id, id.ptr, id.len);
        HASH_ADD_KEYPTR(hh, inventory->pairs, pair->id, pair->id_len, pair);
    }
    return pair;
}

static void tell(struct inventory *inventory, const struct pair *pair)
{
    inventory->config.changed(inventory->config.data, slice_of(pair->id, pair->id_len));
}

/* The pair may be gone afterwards. */
static void empty_place(struct inventory *inventory, struct pair *pair, enum kube_kind kind)
{
    struct place *place = &pair->places[kind];
    bool is_used = false;
    kube_object_free(place->object);
    *place = (struct place){.object = NULL};
    inventory->kinds[kind].count--;
    tell(inventory, pair);
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        is_used = is_used || pair->places[i].is_there;
    }
    if (!is_used) {
        discard(inventory, pair);
    }
}

/* Everything of the kind that the current list did not name is gone. */
static void sweep(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    struct pair *pair, *next;
    HASH_ITER(hh, inventory->pairs, pair, next)
    {
        struct place *place = &pair->places[kind];
        if (place->is_there && place->generation != state->generation) {
            empty_place(inventory, pair, kind);
        }
    }
    state->is_listed = true;
    state->wants_first = false;
}

static bool has_first_service(const struct inventory *inventory)
{
    const struct pair *pair = find(inventory, slice_str(FIRST_SERVICE));
    const struct place *place = pair ? &pair->places[KUBE_SERVICE] : NULL;
    return place && place->is_there &&
           place->generation == inventory->kinds[KUBE_SERVICE].generation;
}

/* ---- The reflectors' side ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    state->generation++;
    state->is_listing = true;
    state->has_nameless = false;
}

static struct pair *mark(struct inventory *inventory, enum kube_kind kind, struct slice id)
{
    struct kind_state *state = &inventory->kinds[kind];
    struct pair *pair = find_or_add(inventory, id);
    struct place *place = &pair->places[kind];
    state->count += !place->is_there;
    place->is_there = true;
    place->generation = state->generation;
    return pair;
}

static void sweep_if_first_came(struct inventory *inventory)
{
    const struct kind_state *state = &inventory->kinds[KUBE_SERVICE];
    if (state->wants_first && !state->is_listing && has_first_service(inventory)) {
        sweep(inventory, KUBE_SERVICE);
    }
}

void inventory_upsert(struct inventory *inventory, struct kube_object *object)
{
    struct buf id;
    enum kube_kind kind = object->kind;
    buf_init(&id, OWNER_ID_MAX);
    append_lower(&id, object->ns);
    buf_append_char(&id, '/');
    append_lower(&id, object->name);
    struct pair *pair = mark(inventory, kind, buf_slice(&id));
    buf_fini(&id);

    kube_object_free(pair->places[kind].object);
    pair->places[kind].object = object;
    tell(inventory, pair);
    sweep_if_first_came(inventory);
}

void inventory_bad(struct inventory *inventory, enum kube_kind kind, const char *name)
{
    struct buf id;
    buf_init(&id, OWNER_ID_MAX);
    append_lower(&id, name);
    if (id.len) {
        tell(inventory, mark(inventory, kind, buf_slice(&id)));
    } else {
        inventory->kinds[kind].has_nameless = true;
    }
    buf_fini(&id);
    sweep_if_first_came(inventory);
}

void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name)
{
    struct buf id;
    buf_init(&id, OWNER_ID_MAX);
    append_lower(&id, ns);
    buf_append_char(&id, '/');
    append_lower(&id, name);
    struct pair *pair = find(inventory, buf_slice(&id));
    buf_fini(&id);
    if (pair && pair->places[kind].is_there) {
        empty_place(inventory, pair, kind);
    }
}

void inventory_list_end(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    state->is_listing = false;
    if (state->has_nameless) {
        return;
    }
    if (kind == KUBE_SERVICE && !has_first_service(inventory)) {
        state->wants_first = true;
        return;
    }
    sweep(inventory, kind);
}

/* ---- The reconciler's side ---- */

const char *inventory_missing(const struct inventory *inventory)
{
    static const struct {
        const char *unlisted;
        const char *nameless;
    } texts[KUBE_KIND_COUNT] = {
        [KUBE_SERVICE] = {"services are not listed yet", "a service without a name was listed"},
        [KUBE_ENDPOINTS] = {"endpoints are not listed yet", "endpoints without a name were listed"},
    };
    if (inventory->kinds[KUBE_SERVICE].wants_first) {
        return "service default/kubernetes does not exist yet";
    }
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        const struct kind_state *state = &inventory->kinds[kind];
        if (!state->is_listed) {
            return state->has_nameless ? texts[kind].nameless : texts[kind].unlisted;
        }
    }
    return NULL;
}

bool inventory_is_complete(const struct inventory *inventory)
{
    return inventory_missing(inventory) == NULL;
}

bool inventory_get(const struct inventory *inventory, struct slice owner,
                   struct inventory_pair *ret_pair)
{
    const struct pair *pair = find(inventory, owner);
    *ret_pair = (struct inventory_pair){.service = NULL};
    if (!pair) {
        return true;
    }
    const struct place *service = &pair->places[KUBE_SERVICE];
    const struct place *endpoints = &pair->places[KUBE_ENDPOINTS];
    if (service->is_there && !service->object) {
        return false;
    }
    ret_pair->service = service->object;
    ret_pair->endpoints = endpoints->object;
    bool counts = service->object && service->object->service.is_headless;
    return !(counts && endpoints->is_there && !endpoints->object);
}

size_t inventory_count(const struct inventory *inventory, enum kube_kind kind)
{
    return inventory->kinds[kind].count;
}
