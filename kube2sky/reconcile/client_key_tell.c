#include "kube2sky/reconcile/client_key_parts_internal.h"

#include "common/base/clock.h"
#include "kube2sky/reconcile/preview.h"

bool client_key_writer_lacks(struct client_key_writer *w, struct slice name)
{
    struct slice text = client_key_named(w, name);
    const struct client_key_there *key = client_key_find(&w->set, text);
    bool is_leaving = key && key->state == CLIENT_KEY_SENT && key->is_deleting;
    bool is_there = w->is_mirrored && w->is_following && !w->is_mid_read && key && key->revision;
    return client_keys_value(w->config.keys, text).ptr && (!is_there || is_leaving);
}

static bool is_resting(const struct client_key_writer *w)
{
    return clock_monotonic_ms() < w->restore_at_ms;
}

bool client_key_writer_is_pending(const struct client_key_writer *w)
{
    bool is_refused = client_key_is_trouble(&w->failure) || client_key_is_trouble(&w->read_failure);
    bool is_onlooker = !client_key_may_write(w) && !w->config.planned;
    if (is_refused || is_onlooker) {
        return false;
    }
    return !w->is_mirrored || !w->is_following || w->call || w->is_landing ||
           client_key_count(&w->set, CLIENT_KEY_CHANGED) ||
           (client_key_count(&w->set, CLIENT_KEY_DISTURBED) && !is_resting(w));
}

bool client_key_writer_is_busy(const struct client_key_writer *w)
{
    bool can_send = w->is_following && client_key_may_write(w) && client_key_can_plan(w) &&
                    clock_monotonic_ms() >= w->send_at_ms &&
                    client_key_count(&w->set, CLIENT_KEY_CHANGED);
    return w->call || (w->is_landing && w->is_following) || can_send;
}

bool client_key_writer_explain(const struct client_key_writer *w, struct buf *out)
{
    if (client_key_is_trouble(&w->failure)) {
        buf_append_str(out, "keys about clients cannot be written below ");
        buf_append_slice(out, w->tree);
        buf_printf(out, ": %s", w->failure.msg);
    } else if (client_key_is_trouble(&w->read_failure)) {
        buf_append_str(out, "keys about clients cannot be read below ");
        buf_append_slice(out, w->tree);
        buf_printf(out, ": %s", w->read_failure.msg);
    } else if (config_rest_is_contested(&w->rest, clock_monotonic_ms())) {
        buf_append_str(out, "another writer keeps changing keys about clients below ");
        buf_append_slice(out, w->tree);
    } else {
        return false;
    }
    return true;
}

bool client_key_writer_is_unsettled(const struct client_key_writer *w)
{
    size_t count = 0;
    for (int list = CLIENT_KEY_CHANGED; list < CLIENT_KEY_STATES; list++) {
        count += client_key_count(&w->set, (enum client_key_state)list);
    }
    return count > 0;
}

static void show(const struct client_key_writer *w, enum client_key_state list,
                 enum client_key_look look, struct plan *plan)
{
    for (const struct client_key_there *key = w->set.lists[list].first; key; key = key->next) {
        struct etcd_op op;
        if (client_key_look_at(w, key, &op) == look) {
            plan_add(plan, &op, key->revision);
        }
    }
}

static void show_all(struct client_key_writer *w, enum client_key_look look)
{
    plan_build_nothing(&w->shown);
    for (int list = CLIENT_KEY_CHANGED; list < CLIENT_KEY_STATES; list++) {
        show(w, (enum client_key_state)list, look, &w->shown);
    }
}

void client_key_writer_preview(struct client_key_writer *w, struct buf *out)
{
    if (w->is_mirrored && !w->is_mid_publication) {
        show_all(w, LOOK_OP);
        preview_append(&w->shown, out);
        show_all(w, LOOK_KEPT);
        preview_append_withheld(&w->shown, out);
    }
}

size_t client_key_writer_count(const struct client_key_writer *w)
{
    return w->set.there;
}
