/* Finds Services that the user may have meant: of a similar name in the same namespace, of the same
 * name in another one, or with both parts nearly right. Pure. */
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/typing_errors.h"
#include "kube2sky/explain.h"
#include "kube2sky/naming/inventory.h"

/* Limits the compared Services, since the loop waits: some 10 ms. */
enum { COMPARED_MAX = 20000 };

/* A word may have one typo or swap of neighbours, a word of this length two. */
enum { LONG_WORD = 8 };

/* Distances from a Service to the wanted one; smaller is nearer. */
enum { NAME_ELSEWHERE = 1, TYPOS = 2, FAR = 100 };

struct search {
    struct slice ns, name;
    char (*near)[EXPLAIN_ID_MAX + 1];
    unsigned far[EXPLAIN_NEAR_MAX];
    size_t count;
    size_t compared;
};

static size_t kube2sky_explain_near_max_distance(struct slice word)
{
    return word.len >= LONG_WORD ? 2 : 1;
}

static unsigned kube2sky_explain_near_distance(const struct search *s, struct slice ns,
                                               struct slice name)
{
    if (slice_equal(name, s->name)) {
        return typing_errors(ns, s->ns) <= kube2sky_explain_near_max_distance(s->ns)
                   ? 0
                   : NAME_ELSEWHERE;
    }
    size_t errors = typing_errors(name, s->name);
    if (errors > kube2sky_explain_near_max_distance(s->name)) {
        return FAR;
    }
    size_t more = slice_equal(ns, s->ns) ? 0 : typing_errors(ns, s->ns);
    return more <= kube2sky_explain_near_max_distance(s->ns) ? TYPOS + (unsigned)(errors + more)
                                                             : FAR;
}

/* Adds a Service to the nearest ones, sorted, if it is near enough. */
static void kube2sky_explain_near_add(struct search *s, struct slice id, unsigned far)
{
    size_t at = s->count;
    while (at > 0 && s->far[at - 1] > far) {
        at--;
    }
    if (at == EXPLAIN_NEAR_MAX || id.len > EXPLAIN_ID_MAX) {
        return;
    }
    s->count += s->count < EXPLAIN_NEAR_MAX;
    for (size_t i = s->count - 1; i > at; i--) {
        memcpy(s->near[i], s->near[i - 1], sizeof(s->near[i]));
        s->far[i] = s->far[i - 1];
    }
    memcpy(s->near[at], id.ptr, id.len);
    s->near[at][id.len] = '\0';
    s->far[at] = far;
}

static bool kube2sky_explain_near_consider(void *data, struct slice id,
                                           const struct kube_object *object UNUSED)
{
    struct search *s = data;
    struct slice name = id;
    const struct slice ns = slice_cut(&name, '/');
    unsigned far = kube2sky_explain_near_distance(s, ns, name);
    if (far < FAR) {
        kube2sky_explain_near_add(s, id, far);
    }
    return ++s->compared < COMPARED_MAX;
}

size_t kube2sky_explain_near(const struct inventory *inventory, const char *id,
                             char ret_near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1])
{
    struct search s = {.near = ret_near, .name = slice_str(id)};
    s.ns = slice_cut(&s.name, '/');
    inventory_each(inventory, KUBE_SERVICE, kube2sky_explain_near_consider, &s);
    return s.count;
}
