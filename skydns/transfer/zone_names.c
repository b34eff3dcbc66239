#include "skydns/answer/zone_answers.h"
#include "skydns/transfer/zone_names_internal.h"

void zone_names_begin(struct zone_names *names, const struct dname *apex)
{
    *names = (struct zone_names){
        .apex = *apex,
        .record = *apex,
        .apex_labels = dname_label_count(apex),
    };
    names->labels = names->record_labels + 1;
}

/* ---- Names without records ---- */

enum { MADE_UP_MAX = 4 };

/* Lists the names that no record makes: fewer than MADE_UP_MAX; the apex first. */
static unsigned made_up(const struct zone_names *names, const struct engine_config *config,
                        const struct dname *ret[MADE_UP_MAX])
{
    unsigned count = 0;
    ret[count++] = &names->apex;
    for (size_t i = 0; i < config->zone_count; i++) {
        const struct engine_zone *zone = &config->zones[i];
        if (!dname_equal(&zone->domain, &names->apex)) {
            continue;
        }
        if (!dname_equal(&zone->ns, &zone->domain)) {
            ret[count++] = &zone->ns;
        }
        if (zone->version.len > 0) {
            ret[count++] = &zone->version;
        }
        if (zone->local.len > 0 && config->settings.local.len > 0) {
            ret[count++] = &zone->local;
        }
    }
    return count;
}

static bool is_made_up(const struct zone_names *names, const struct engine_config *config,
                       const struct dname *name)
{
    const struct dname *which[MADE_UP_MAX];
    unsigned count = made_up(names, config, which);
    for (unsigned i = 0; i < count; i++) {
        if (dname_equal(which[i], name)) {
            return true;
        }
    }
    return false;
}

/* ---- Names of records, and above them ---- */

/* Returns how many labels two names have in common, from the root. */
static unsigned common_labels(const struct dname *a, const struct dname *b)
{
    struct dname_labels of_a, of_b;
    unsigned n = 0;
    dname_labels(a, &of_a);
    dname_labels(b, &of_b);
    while (n < of_a.count && n < of_b.count &&
           slice_equal(dname_label(a, of_a.offsets[of_a.count - 1 - n]),
                       dname_label(b, of_b.offsets[of_b.count - 1 - n]))) {
        n++;
    }
    return n;
}

/* Takes the next record. All records below a name come together (store_next), so a name above two
 * of them was given with the first. */
static bool next_record(struct zone_names *names, const struct store *store)
{
    const struct store_record *record = store_next(store, &names->record);
    struct dname name;
    if (!record) {
        return false;
    }
    store_record_name(record, &name);
    if (!dname_is_within(&name, &names->apex)) {
        return false;
    }
    unsigned given = common_labels(&names->record, &name);
    names->labels = given + 1;
    names->record = name;
    names->record_labels = dname_label_count(&name);
    return true;
}

static bool zone_names_next_below(struct zone_names *names, const struct store *store,
                                  struct dname *ret_name)
{
    if (names->labels > names->record_labels && !next_record(names, store)) {
        return false;
    }
    *ret_name = names->record;
    dname_strip(ret_name, names->record_labels - names->labels);
    names->labels++;
    return true;
}

bool zone_names_next(struct zone_names *names, const struct engine_config *config,
                     const struct store *store, struct dname *ret_name)
{
    const struct dname *which[MADE_UP_MAX];
    if (names->made_up < made_up(names, config, which)) {
        *ret_name = *which[names->made_up++];
        return true;
    }
    while (zone_names_next_below(names, store, ret_name)) {
        if (zone_answers_is_of_zone(config, &names->apex, ret_name) &&
            !is_made_up(names, config, ret_name)) {
            return true;
        }
    }
    return false;
}
