/* Tells which faults an owner has, for events (event_queue.h): those of a Service when it claims
 * and is planned, those of claims on external names when the Service that they lead to is planned.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/event_queue.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/planner_internal.h"

/* Tells a fault of the object that the id names; frees the note. NULL: it has none. */
static void tell_fault(const struct planner *planner, struct slice id, enum event_reason reason,
                       unsigned place, char *note)
{
    struct event_object object;
    if (event_object_of(id, &object)) {
        event_queue_note(planner->config.events, &object, reason, place, note,
                         clock_monotonic_ms());
    }
    free(note);
}

/* ---- When it claims ---- */

void planner_note_drop(struct planner *planner, const struct naming_drop *drop)
{
    bool is_port = strcmp(drop->what, "port name") == 0 || strcmp(drop->what, "protocol") == 0;
    if (planner->config.events && is_port && !planner->port_fault) {
        planner->port_fault =
            xasprintf("%s `%s`: cannot be part of a key", drop->what, drop->value);
    }
}

/* Returns the faults of the first of the owner's objects that has such a fault; NULL: none has. */
static char *decoding_faults(const struct owner_objects *objects, bool wants_ports)
{
    for (size_t i = 0; i <= objects->part_count; i++) {
        const struct kube_object *object = i ? objects->parts[i - 1] : objects->service;
        if (object && (wants_ports ? object->has_port_fault : object->has_annotation_fault)) {
            return i ? xasprintf("endpoints %s: %s", object->name, object->faults)
                     : xstrdup(object->faults);
        }
    }
    return NULL;
}

void planner_tell_changed(struct planner *planner, const struct owner *owner)
{
    if (planner->port_fault) {
        tell_fault(planner, owner->id, EVENT_INVALID_PORT, EVENT_FROM_OBJECT,
                   STEAL(planner->port_fault));
    }
}

static bool has_events(const struct planner *planner, const struct owner *owner)
{
    return planner->config.events && slice_has_prefix(owner->id, slice_str(SERVICE_PREFIX));
}

void planner_tell_objects(struct planner *planner, const struct owner *owner)
{
    char *port_fault = STEAL(planner->port_fault);
    if (!has_events(planner, owner)) {
        free(port_fault);
        return;
    }
    tell_fault(planner, owner->id, EVENT_INVALID_PORT, EVENT_FROM_OBJECT,
               port_fault ? port_fault : decoding_faults(&planner->objects, true));
    tell_fault(planner, owner->id, EVENT_INVALID_ANNOTATION, EVENT_FROM_OBJECT,
               decoding_faults(&planner->objects, false));
}

void planner_tell_claimed(struct planner *planner, const struct owner *owner, const char *too_large)
{
    if (has_events(planner, owner)) {
        tell_fault(planner, owner->id, EVENT_TOO_MANY_RECORDS, EVENT_FROM_OBJECT,
                   too_large ? xstrdup(too_large) : NULL);
    }
}

/* ---- When it is planned: reverse names ---- */

/* Returns the first address whose name another namespace has, or another writer; NULL: none. It
 * does not say which namespace: who reads the event may not see that one. */
static char *taken_reverse_name(const struct planner *planner, const struct owner *owner)
{
    char text[INET6_ADDRSTRLEN];
    if (planner->left.op_count) {
        struct slice key = plan_get(&planner->left, 0).key;
        return xasprintf("another writer owns a reverse key, left alone: %.*s", (int)key.len,
                         key.ptr);
    }
    for (size_t i = 0; i < planner->claims.count; i++) {
        struct claim claim = claims_get(&planner->claims, i);
        struct reverse_winner winner;
        bool has_winner = reverse_winner(planner->reverse, &claim.ip, &winner);
        if (!has_winner || !reverse_is_same_namespace(winner.owner, owner->id)) {
            ip_format(&claim.ip, text);
            return xasprintf("the reverse name of %s belongs to another namespace", text);
        }
    }
    return NULL;
}

static void tell_reverse(const struct planner *planner, const struct owner *owner)
{
    /* A plan of one slice's change does not see the other addresses. */
    bool is_whole = !owner->difference && slice_equal(buf_slice(&planner->named), owner->id);
    if (planner->config.has_reverse && is_whole && !owner->is_in_doubt) {
        tell_fault(planner, owner->id, EVENT_REVERSE_NAME_TAKEN, EVENT_FROM_PLAN,
                   taken_reverse_name(planner, owner));
    }
}

/* ---- External names ---- */

/* Holds the first faults of one object's claims, which come one after another. */
struct alias_faults {
    const struct planner *planner;
    struct slice owner_object; /* empty at first; borrowed */
    char *invalid;
    char *refused;
    char *taken;
};

/* Returns the place of an object's claims. A route's have one for each Gateway. */
static unsigned place_of_claims(struct slice owner_object)
{
    enum { GATEWAY_PLACES = EVENT_PLACES_MAX - EVENT_FROM_GATEWAYS };
    unsigned sum = 0;
    for (size_t i = 0; i < owner_object.len; i++) {
        sum = 31 * sum + (uint8_t)owner_object.ptr[i];
    }
    return slice_has_prefix(owner_object, slice_str("httproute/"))
               ? EVENT_FROM_GATEWAYS + sum % GATEWAY_PLACES
               : EVENT_FROM_ALIASES;
}

static void end_alias_faults(struct alias_faults *faults)
{
    if (faults->owner_object.len) {
        unsigned place = place_of_claims(faults->owner_object);
        tell_fault(faults->planner, faults->owner_object, EVENT_INVALID_ANNOTATION, place,
                   STEAL(faults->invalid));
        tell_fault(faults->planner, faults->owner_object, EVENT_ALIAS_NOT_ALLOWED, place,
                   STEAL(faults->refused));
        tell_fault(faults->planner, faults->owner_object, EVENT_ALIAS_TAKEN, place,
                   STEAL(faults->taken));
    }
}

static bool is_left_to_others(const struct planner *planner, const struct alias_view *view)
{
    char *text = xasprintf("%.*s/%s", (int)view->key.len, view->key.ptr, view->label);
    bool is = !view->is_won ||
              planner_is_name_taken(planner->config.external_keys, view->key, slice_str(text));
    free(text);
    return is;
}

static void note_alias_fault(void *data, const struct alias_view *view)
{
    struct alias_faults *faults = data;
    bool is_service = slice_has_prefix(view->owner_object, slice_str(SERVICE_PREFIX));
    char **fault = view->verdict == OVERRIDE_NO_NAME && is_service ? &faults->invalid
                   : view->verdict != OVERRIDE_ALLOWED             ? &faults->refused
                                                                   : &faults->taken;
    if (!slice_equal(faults->owner_object, view->owner_object)) {
        end_alias_faults(faults);
        faults->owner_object = view->owner_object;
    }
    if (*fault) {
        return;
    }
    if (view->verdict != OVERRIDE_ALLOWED) {
        *fault = xasprintf("external name `%.*s` %s", (int)view->name.len, view->name.ptr,
                           override_verdict_text(view->verdict));
    } else if (is_left_to_others(faults->planner, view)) {
        *fault = xasprintf("external name is another object's or writer's, left alone: %.*s",
                           (int)view->name.len, view->name.ptr);
    }
}

void planner_tell_unclaimed(struct planner *planner, struct slice owner_object)
{
    struct alias_faults none = {.planner = planner, .owner_object = owner_object};
    if (planner->config.events) {
        end_alias_faults(&none);
    }
}

/* ---- When it is planned ---- */

void planner_tell_planned(struct planner *planner, const struct owner *owner,
                          const struct planned *planned)
{
    bool is_alias = owner_is_alias(owner);
    if (!planner->config.events ||
        (!is_alias && !slice_has_prefix(owner->id, slice_str(SERVICE_PREFIX)))) {
        return;
    }
    tell_fault(planner, owner->id, EVENT_TOO_MANY_RECORDS,
               is_alias ? EVENT_FROM_ALIASES_PLAN : EVENT_FROM_PLAN,
               planned->lacks_room
                   ? xstrdup("namespace has as many keys as it may, its new ones wait")
                   : NULL);
    if (is_alias) {
        struct alias_faults faults = {.planner = planner};
        external_aliases_each(planner->config.aliases, owner->id, note_alias_fault, &faults);
        end_alias_faults(&faults);
    } else {
        tell_reverse(planner, owner);
    }
}
