/* Decides what waits, and what is still believed, while the API server refuses kinds. */
#include "kube2sky/kube_source_internal.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/route_table.h"

/* Time between two checks of refused kinds. They are requested again at once when another refused
 * one is permitted, or the credentials have changed. That is at most once in this time, in which
 * the credentials' files are checked, too. */
enum { REFUSED_LOOK_MS = 1000 };

/* Returns whether the kind has been listed and believed in a namespace other than the
 * follower's. */
static bool is_listed_beside(const struct kube_source *kube_source, enum kube_kind kind,
                             const struct follower *follower)
{
    bool is_listed = false;
    for (size_t i = 0; i < kube_source->follower_counts[kind] && !is_listed; i++) {
        const struct follower *other = &kube_source->followers[kind][i];
        is_listed =
            other != follower && other->is_listed && !inventory_doubts(other->inventory, kind);
    }
    return is_listed;
}

/* Notes a kind that cannot be listed, so that nothing waits for it. A role that permits Services
 * and pods may not permit Nodes or Namespaces, or all of them in every namespace, and that can
 * last. A server that has just started may refuse everything for a moment: so a refusal counts only
 * after the server has listed the Services, or the kind in another namespace. In a dry run it does
 * not count, since not everything would be known. */
static void kube_source_note_missing(struct follower *follower, const struct err *err)
{
    const struct kube_source *kube_source = follower->kube_source;
    bool is_refused = err->code == ERR_REFUSED;
    bool is_import = is_of_imports(follower->kind);
    enum kube_kind witness =
        kube_kind_is_namespaced(follower->kind) && follower->kind != KUBE_CONFIG_MAP && !is_import
            ? follower->kind
            : KUBE_SERVICE;
    if (route_table_has_kind(follower->kind) || !is_listed_beside(kube_source, witness, follower)) {
        return;
    }
    if (follower->kind == KUBE_CONFIG_MAP) {
        kube_source->config.config_map_lacks(kube_source->config.data);
    } else if (is_refused && (is_import || !kube_source->config.is_dry_run)) {
        inventory_lack(follower->inventory, kube_kind_localized(follower->kind));
        if (kube_source->config.client_keys) {
            client_keys_lack(kube_source->config.client_keys, follower->kind, follower->ns);
        }
    }
}

/* Discards the last state of a refused kind. A namespace's visibility may have been revoked since,
 * and a pod's address may belong to another one. Like kube_source_note_missing, it waits until the
 * server has listed the Services. */
static void on_distrust(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct trust *trust = timer->data;
    const struct kube_source_config *config = &trust->kube_source->config;
    if (is_listed_beside(trust->kube_source, KUBE_SERVICE, NULL)) {
        ev_timer_stop(loop, timer);
        trust->is_lost = true;
        client_keys_lose(config->client_keys, trust->kind, true);
        log_warn(trust->lost_line, LOG_INT("after_ms", config->timeout_ms));
    }
}

static bool is_any_away(const struct kube_source *kube_source, enum kube_kind kind)
{
    bool is_away = false;
    for (size_t i = 0; i < kube_source->follower_counts[kind] && !is_away; i++) {
        is_away = kube_source->followers[kind][i].followed.is_away;
    }
    return is_away;
}

/* Starts or stops the distrust of a kind. err NULL: it can be read, in every namespace if no other
 * one is away. */
static void judge_trust(struct trust *trust, const struct err *err)
{
    const struct kube_source_config *config = &trust->kube_source->config;
    if (!err && !is_any_away(trust->kube_source, trust->kind)) {
        ev_timer_stop(config->loop, &trust->timer);
        trust->is_lost = false;
        client_keys_lose(config->client_keys, trust->kind, false);
    } else if (err && err->code == ERR_REFUSED && !config->is_dry_run && !trust->is_lost &&
               !ev_is_active(&trust->timer)) {
        ev_timer_again(config->loop, &trust->timer);
    }
}

static void init_trust(struct kube_source *kube_source, struct trust *trust, enum kube_kind kind,
                       const char *lost_line)
{
    *trust = (struct trust){.kube_source = kube_source, .kind = kind, .lost_line = lost_line};
    ev_timer_init(&trust->timer, on_distrust, 0.0, (double)kube_source->config.timeout_ms / 1000);
    trust->timer.data = trust;
}

/* Returns the end of "GET <URL>: 403" in "GET <URL>: 403 Forbidden: cannot list ...". */
static size_t status_end(const char *reason)
{
    enum { STATUS_LEN = 3 };
    const char *colon = strstr(reason, ": ");
    size_t at = colon ? (size_t)(colon - reason) + strlen(": ") : 0;
    return at && strspn(reason + at, "0123456789") == STATUS_LEN ? at + STATUS_LEN : strlen(reason);
}

/* Returns the refusal to log. An account that may not watch may not list, either, or the list will
 * show it: so a refusal is logged once, whatever the server's words for each. */
static const struct err *told_refusal(struct follower *follower, const struct err *err)
{
    struct err *told = &follower->refusal;
    if (err->code != ERR_REFUSED) {
        return err;
    }
    if (told->code != ERR_REFUSED || strncmp(told->msg, err->msg, status_end(err->msg)) != 0) {
        *told = *err;
    }
    return told;
}

static bool kube_source_is_refused(const struct follower *follower)
{
    return follower->followed.is_away && follower->followed.err.code == ERR_REFUSED;
}

static bool has_refused(const struct kube_source *kube_source)
{
    bool has_any = false;
    for (size_t kind = 0; kind < KUBE_KIND_COUNT && !has_any; kind++) {
        for (size_t i = 0; i < kube_source->follower_counts[kind] && !has_any; i++) {
            has_any = kube_source_is_refused(&kube_source->followers[kind][i]);
        }
    }
    return has_any;
}

static void on_refused(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct kube_source *kube_source = timer->data;
    uint64_t credentials_id = kube_client_credentials_id(kube_source->config.client);
    if (!has_refused(kube_source)) {
        ev_timer_stop(loop, timer);
    } else if (kube_source->is_permitted || credentials_id != kube_source->credentials_id) {
        kube_source_ask_refused(kube_source);
    }
    kube_source->credentials_id = credentials_id;
}

/* Starts to check for an end of refusals; permits: a refused kind has been permitted. */
static void kube_source_note_refusal(struct kube_source *kube_source, bool permits)
{
    bool is_soon = clock_monotonic_ms() - kube_source->asked_again_ms < REFUSED_LOOK_MS;
    kube_source->is_permitted |= permits;
    if (!permits && !ev_is_active(&kube_source->refused)) {
        kube_source->credentials_id = kube_client_credentials_id(kube_source->config.client);
        ev_timer_start(kube_source->config.loop, &kube_source->refused);
    } else if (permits && ev_is_active(&kube_source->refused) && !is_soon) {
        ev_feed_event(kube_source->config.loop, &kube_source->refused,
                      EV_TIMER); /* is not inside a reflector's callback */
    }
}

void kube_source_on_state(void *data, enum kube_kind kind, const char *resource,
                          const struct err *err)
{
    struct follower *follower = data;
    bool was_refused = kube_source_is_refused(follower);
    /* For its log line */
    follower->followed.kind = is_of_imports(kind) ? kube_kind_name(kind) : resource;
    if (err) {
        outage_away(&follower->followed, told_refusal(follower, err));
        kube_source_note_missing(follower, err);
    } else {
        follower->refusal = (struct err){0};
        outage_back(&follower->followed);
    }
    for (size_t i = 0; i < TRUSTED_KINDS && follower->kube_source->config.client_keys; i++) {
        if (follower->kube_source->trusts[i].kind == kind) {
            judge_trust(&follower->kube_source->trusts[i], err);
        }
    }
    if (was_refused != kube_source_is_refused(follower)) {
        kube_source_note_refusal(follower->kube_source, !err);
    }
}

void kube_source_ask_refused(struct kube_source *kube_source)
{
    kube_source->is_permitted = false;
    kube_source->asked_again_ms = clock_monotonic_ms();
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < kube_source->follower_counts[kind]; i++) {
            const struct follower *follower = &kube_source->followers[kind][i];
            if (kube_source_is_refused(follower) && follower->reflector) {
                reflector_retry(follower->reflector);
            }
        }
    }
}

/* ---- Lifetime ---- */

void kube_source_refusals_init(struct kube_source *kube_source)
{
    ev_timer_init(&kube_source->refused, on_refused, REFUSED_LOOK_MS / 1000.0,
                  REFUSED_LOOK_MS / 1000.0);
    kube_source->refused.data = kube_source;
    init_trust(kube_source, &kube_source->trusts[0], KUBE_NAMESPACE,
               "namespaces are refused, so none is shown to others any more");
    init_trust(kube_source, &kube_source->trusts[1], KUBE_POD,
               "pods are refused, so no client is identified any more");
}

void kube_source_refusals_stop(struct kube_source *kube_source)
{
    ev_timer_stop(kube_source->config.loop, &kube_source->refused);
    for (size_t i = 0; i < TRUSTED_KINDS; i++) {
        ev_timer_stop(kube_source->config.loop, &kube_source->trusts[i].timer);
    }
}
