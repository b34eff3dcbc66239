/* Names one owner, in portions, and claims its reverse names and external ones. */
#include <assert.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/planner_internal.h"

/* ---- Faults ---- */

void planner_note_flaw(struct planner *planner, char *what, char *why)
{
    if (planner->config.flaws) {
        flaw_list_add(planner->config.flaws, what, why);
    }
    free(what);
    free(why);
}

void planner_on_dropped(void *data, const struct naming_drop *drop)
{
    static struct log_limit limit = {.burst = 10};
    struct planner *planner = data;
    planner->dropped++;
    planner_note_drop(planner, drop);
    planner_note_flaw(
        planner, xasprintf("%s %s%s%s", drop->kind, drop->ns, *drop->ns ? "/" : "", drop->name),
        xasprintf("%s `%s`: cannot be part of a key", drop->what, drop->value));
    if (log_limit_pass(&limit)) {
        log_warn("part of an object cannot be part of a key, left out", LOG_STR("kind", drop->kind),
                 LOG_STR("namespace", drop->ns), LOG_STR("name", drop->name),
                 LOG_STR("what", drop->what), LOG_STR("value", drop->value));
    }
}

/* ---- Names ---- */

bool planner_is_name_taken(const void *data, struct slice name_key, struct slice key)
{
    const struct external_keys *keys = data;
    return external_keys_has_other(keys, name_key, NULL, NULL) ||
           (external_keys_revision(keys, key) && !external_keys_owner(keys, key).len);
}

/* Fills `desired` and `others` with the owner's external names; those beyond its room are others.
 */
static void name_aliases(struct planner *planner, const struct naming_config *naming,
                         const struct owner *owner)
{
    const struct planner_config *config = &planner->config;
    size_t names_max = naming_records_max(naming);
    owner_objects_clear(&planner->objects);
    claims_clear(&planner->claims);
    desired_clear(&planner->desired);
    desired_clear(&planner->others);
    planner->desired.bytes_max = naming_bytes_max(naming);
    if (config->aliases && inventory_selects(config->inventory, owner->id)) {
        external_aliases_build(config->aliases, owner->id, names_max, planner_is_name_taken,
                               config->external_keys, &planner->desired, &planner->others);
    }
    if (planner->desired.is_beyond) {
        names_max = naming_bytes_max(naming) / EXTERNAL_ALIASES_RECORD_BYTES;
        external_aliases_build(config->aliases, owner->id, names_max, planner_is_name_taken,
                               config->external_keys, &planner->desired, &planner->others);
        assert(!planner->desired.is_beyond);
    }
}

void planner_job_begin_names(struct planner *planner, const struct naming_config *naming,
                             const struct owner *owner)
{
    struct planner_job *job = &planner->job;
    planner_forget_names(planner);
    if (owner_is_alias(owner)) {
        name_aliases(planner, naming, owner);
    } else if (slice_equal(owner->id, slice_str(EXTERNAL_PUBLIC_OWNER))) {
        owner_objects_clear(&planner->objects);
        claims_clear(&planner->claims);
        naming_build_public(naming, planner->config.external.is_public, &planner->desired);
    } else {
        inventory_get(planner_inventory(planner, owner->id), owner->id, &planner->objects);
        job->naming = naming_begin(naming, &planner->objects, &planner->desired, &planner->claims);
    }
    job->listed = owner_objects_work(&planner->objects);
    job->is_outdated = false;
}

int planner_job_end_names(struct planner *planner, const struct owner *owner, struct err *err)
{
    struct planner_job *job = &planner->job;
    int r = job->naming ? naming_end(STEAL(job->naming), err) : 0;
    if (r == 0 && !job->is_outdated) {
        buf_append_slice(&planner->named, owner->id);
    }
    return r;
}

void planner_forget_names(struct planner *planner)
{
    planner->job.is_outdated = true;
    buf_clear(&planner->named);
}

/* ---- Portions ---- */

/* Allows setbacks in a row. A page that is asked for again and again, or another writer that keeps
 * changing a key, does not hold up an owner for ever. */
enum { SETBACKS_MAX = 3 };

void planner_job_note_setback(struct planner *planner, const struct owner *owner)
{
    struct planner_setbacks *setbacks = &planner->setbacks;
    setbacks->count = setbacks->owner == owner ? setbacks->count + 1 : 1;
    setbacks->owner = owner;
}

bool planner_job_has_setbacks(const struct planner *planner, const struct owner *owner)
{
    return planner->setbacks.owner == owner && planner->setbacks.count >= SETBACKS_MAX;
}

const struct owner *planner_claiming(const struct planner *planner)
{
    return planner->job.is_plan ? NULL : planner->job.owner;
}

const struct owner *planner_planning(const struct planner *planner)
{
    return planner->job.is_plan ? planner->job.owner : NULL;
}

static void planner_end_job(struct planner *planner)
{
    struct planner_job *job = &planner->job;
    naming_free(job->naming);
    plan_place_fini(&job->place);
    *job = (struct planner_job){.owner = NULL};
}

void planner_give_up(struct planner *planner)
{
    if (planner->job.owner) {
        planner_job_note_setback(planner, planner->job.owner);
        planner_end_job(planner);
    }
}

void planner_job_open(struct planner *planner, const struct owner *owner, bool is_plan)
{
    planner_give_up(planner);
    planner->job.owner = owner;
    planner->job.is_plan = is_plan;
}

void planner_job_finish(struct planner *planner)
{
    if (planner->setbacks.owner == planner->job.owner) {
        planner->setbacks = (struct planner_setbacks){.owner = NULL};
    }
    planner_end_job(planner);
}

void planner_note_objects(struct planner *planner, const struct owner *owner)
{
    planner_forget_names(planner);
    planner->job.has_changed |= planner->job.owner == owner;
}

void planner_note_keys(struct planner *planner, const struct owner *owner)
{
    planner->job.is_touched |= planner->job.owner == owner;
}

bool planner_has_changed(const struct planner *planner, const struct owner *owner)
{
    return planner->job.owner == owner && planner->job.has_changed;
}

void planner_job_spend(size_t *budget, size_t work)
{
    *budget -= work < *budget ? work : *budget;
}

size_t planner_job_work(const struct planner *planner)
{
    size_t in = planner->job.listed, out = planner->desired.count;
    return in > out ? in : out;
}

bool planner_job_go_on_naming(struct planner *planner, size_t *budget)
{
    struct planner_job *job = &planner->job;
    size_t unlimited = SIZE_MAX;
    return !job->naming ||
           naming_go_on(job->naming,
                        planner_job_has_setbacks(planner, job->owner) ? &unlimited : budget);
}

/* ---- Claims ---- */

static void set_too_large(struct planner *planner, struct owner *owner, bool is_too_large)
{
    planner->too_large += is_too_large;
    planner->too_large -= owner->is_too_large;
    owner->is_too_large = is_too_large;
}

static void on_winner_changed(void *data, const struct ip *ip)
{
    struct planner *planner = data;
    ip_list_add(&planner->touched, ip);
}

/* Adds planner->touched to the owner's, and keeps only the addresses that it does not win. */
static void planner_note_touched(struct planner *planner, struct owner *owner)
{
    struct ip_list *touched = &planner->touched;
    size_t kept = 0;
    for (size_t i = 0; owner->touched && i < owner->touched->count; i++) {
        ip_list_add(touched, &owner->touched->ips[i]);
    }
    for (size_t i = 0; i < touched->count; i++) {
        if (!planner_reverse_wins(planner, owner, &touched->ips[i])) {
            touched->ips[kept++] = touched->ips[i];
        }
    }
    touched->count = kept;
    ip_list_seal(touched);
    owners_free_touched(owner);
    if (kept) {
        owner->touched = xmalloc(sizeof(*owner->touched));
        *owner->touched = *touched;
        *touched = (struct ip_list){.ips = NULL};
    }
}

/* Returns whether the owner has room for these records beside those that it was last planned for.
 * If not, it is named as a whole. */
static bool has_room_for(struct planner *planner, const struct owner *owner,
                         const struct desired *come)
{
    const struct naming_config *naming = &planner->naming;
    owners_base(planner->config.owners, owner, &planner->base);
    return owner->desired_count + come->count <= naming_records_max(naming) &&
           key_room_text_bytes(owner, buf_slice(&planner->base)) + come->bytes.len <=
               naming_bytes_max(naming);
}

bool planner_note_change(struct planner *planner, struct owner *owner,
                         const struct slice_change *change)
{
    struct slice_difference *difference = slice_difference_new(&planner->naming, change);
    if (difference && !has_room_for(planner, owner, &difference->come)) {
        slice_difference_free(difference);
        difference = NULL;
    }
    owners_free_difference(owner);
    owner->difference = difference;
    planner_tell_changed(planner, owner);
    return difference != NULL;
}

static size_t claim_difference(struct planner *planner, struct owner *owner)
{
    const struct slice_difference *difference = owner->difference;
    if (planner->config.has_reverse) {
        ip_list_clear(&planner->touched);
        reverse_change(planner->reverse, owner->id, &difference->claims_gone,
                       &difference->claims_come, on_winner_changed, planner);
        planner_note_touched(planner, owner);
    }
    return 1 + difference->come.count + difference->gone.count;
}

/* Claims the external names that the Service asks for; owners whose names change are planned again.
 */
static void claim_aliases(struct planner *planner, const struct owner *owner)
{
    const struct kube_object *service = planner->objects.service;
    bool is_known = service || !planner->objects.is_in_doubt;
    if (!planner->config.aliases || !is_known ||
        !slice_has_prefix(owner->id, slice_str(SERVICE_PREFIX))) {
        return;
    }
    const struct alias_owner_object owner_object = {
        .id = owner->id,
        .ns = owner_namespace(owner),
        .target = slice_skip(owner->id, OWNER_PREFIX_LEN),
        .created_s = service ? service->service.created_s : 0,
        .rank = ALIAS_OF_SERVICE,
    };
    external_aliases_set_text(planner->config.aliases, &owner_object,
                              slice_str(service ? service->service.aliases : ""));
    external_aliases_tell(planner->config.aliases, owner_object.target); /* inventory_selects */
}

static void end_claim(struct planner *planner, struct owner *owner)
{
    static struct log_limit limit = {.burst = 10};
    struct err err = {.code = 0};
    int r = planner_job_end_names(planner, owner, &err);
    owner->is_in_doubt = r < 0 || planner->objects.is_in_doubt;
    set_too_large(planner, owner, r < 0);
    owner->is_too_long = planner->desired.is_beyond;
    if (r < 0) {
        claims_clear(&planner->claims);
        planner_note_flaw(planner, xstrndup(owner->id.ptr, owner->id.len), xstrdup(err.msg));
        if (log_limit_pass(&limit)) {
            log_error("too many records for one owner, its keys are unchanged",
                      LOG_SLICE("owner", owner->id), LOG_STR("error", err.msg));
        }
    }
    if (planner->config.has_reverse) {
        ip_list_clear(&planner->touched);
        reverse_set(planner->reverse, owner->id, &planner->claims, on_winner_changed, planner);
        planner_reverse_decide_pod(planner, owner);
        planner_note_touched(planner, owner);
    }
    planner_tell_claimed(planner, owner, r < 0 ? err.msg : NULL);
}

bool planner_claim(struct planner *planner, struct owner *owner, size_t *budget, size_t *ret_work)
{
    if (owner->difference) {
        planner_give_up(planner);
        *ret_work = claim_difference(planner, owner);
        planner_job_spend(budget, *ret_work);
        return true;
    }
    if (planner_claiming(planner) != owner) {
        planner_job_open(planner, owner, false);
        planner_job_begin_names(planner, &planner->naming, owner);
        claim_aliases(planner, owner);
        planner_tell_objects(planner, owner);
    }
    if (!planner_job_go_on_naming(planner, budget)) {
        return false;
    }
    end_claim(planner, owner);
    *ret_work = 1 + planner_job_work(planner);
    planner_job_spend(budget, 1 + planner->job.listed);
    planner_job_finish(planner);
    return true;
}

int planner_look(struct planner *planner, const struct owner *owner,
                 void (*dropped)(void *data, const struct naming_drop *drop), void *data,
                 struct err *err)
{
    struct naming_config naming = planner->naming;
    naming.dropped = dropped;
    naming.data = data;
    size_t unlimited = SIZE_MAX;
    planner_give_up(planner);
    planner_job_begin_names(planner, &naming, owner);
    if (planner->job.naming) {
        (void)naming_go_on(planner->job.naming, &unlimited);
    }
    return planner_job_end_names(planner, owner, err);
}
