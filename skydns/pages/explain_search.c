/* The names that a pod's resolver asks for when it is given a short name: those of its search list,
 * then the name itself (behaviour of `search` with `options ndots:5`, which the kubelet writes). */
#include <string.h>

#include "skydns/pages/explain_internal.h"

/* A name with as many dots is asked for first as it is. */
enum { KUBELET_NDOTS = 5 };

static bool add(struct explain_search *search, const struct dname *name, const struct dname *suffix)
{
    struct dname joined = suffix ? *suffix : (struct dname){.len = 1};
    struct dname_labels labels;
    bool ok = search->count < PATH_NAMES_MAX;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0 && ok; i--) {
        ok = dname_prepend(&joined, dname_label(name, labels.offsets[i - 1]));
    }
    if (ok) {
        search->names[search->count++] = joined;
    }
    return ok;
}

/* `<namespace>.svc.D`, `svc.D`, `D`, those of -search; a name that is too long is left out, as
 * resolvers do. */
static void find_names(const struct engine_config *config, const struct dname *name,
                       struct explain_search *search)
{
    struct dname suffixes[2];
    suffixes[1] = config->zones[0].domain;
    bool ok = dname_prepend(&suffixes[1], slice_str("svc"));
    suffixes[0] = suffixes[1];
    if (ok && dname_prepend(&suffixes[0], search->space)) {
        (void)add(search, name, &suffixes[0]);
    }
    if (ok) {
        (void)add(search, name, &suffixes[1]);
    }
    (void)add(search, name, &config->zones[0].domain);
    for (size_t i = 0; i < config->settings.search_count; i++) {
        (void)add(search, name, &config->settings.search[i]);
    }
    (void)add(search, name, NULL);
}

static bool is_short(const struct explainer *e, const char *text)
{
    const struct dname *name = &e->result.asked;
    struct dname lower = *name;
    size_t len = strlen(text);
    dname_lower(&lower);
    return name->len > 1 && text[len - 1] != '.' && dname_label_count(name) <= KUBELET_NDOTS &&
           e->config->zone_count > 0 && !engine_config_zone(e->config, &lower);
}

void explain_search(struct explainer *e, const char *text)
{
    struct explain_search *search = &e->result.search;
    const struct client_space *space = e->result.who.view.space;
    search->count = 0;
    if (!is_short(e, text)) {
        return;
    }
    search->is_assumed = !space;
    search->space = space ? client_space_label(space) : slice_str("default");
    find_names(e->config, &e->result.asked, search);
    for (size_t i = 0; i < search->count; i++) {
        search->outcomes[i] = explain_try(e, &search->names[i]);
    }
    e->result.question.name = e->result.asked;
}
