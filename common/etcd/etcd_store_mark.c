#include "common/etcd/etcd_store_mark_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_store_id.h"

struct etcd_store_mark {
    struct etcd *etcd;
    struct slice store_key;
    etcd_store_mark_cb cb;
    void *data;
    struct etcd_call *call;
    bool is_conditional; /* of `call` */
    ev_timer retry;      /* while active, no new attempt */
    struct backoff backoff;
};

static void etcd_store_mark_on_retry(struct ev_loop *loop UNUSED, ev_timer *w UNUSED, int events)
{
    (void)events; /* waking the loop is all it does */
}

struct etcd_store_mark *etcd_store_mark_new(struct etcd *etcd, struct slice store_key,
                                            etcd_store_mark_cb cb, void *data)
{
    struct etcd_store_mark *mark = xcalloc(1, sizeof(*mark));
    mark->etcd = etcd;
    mark->store_key = store_key;
    mark->cb = cb;
    mark->data = data;
    ev_timer_init(&mark->retry, etcd_store_mark_on_retry, 0.0, 0.0);
    backoff_init(&mark->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    return mark;
}

void etcd_store_mark_free(struct etcd_store_mark *mark)
{
    if (mark) {
        if (mark->call) {
            etcd_call_cancel(mark->call);
        }
        ev_timer_stop(etcd_loop(mark->etcd), &mark->retry);
        free(mark);
    }
}

static void etcd_store_mark_on_txn(void *data, const struct etcd_txn_reply *reply,
                                   const struct err *err)
{
    struct etcd_store_mark *mark = data;
    struct err unmet;
    mark->call = NULL;
    if (!err && !reply->succeeded && mark->is_conditional) {
        (void)err_set(&unmet, ERR_CANCELED,
                      "the data set has another store key, or the condition did not hold");
        err = &unmet; /* err is reported through cb, not returned */
    }
    if (err) {
        uint32_t delay_ms = backoff_next_ms(&mark->backoff, backoff_random());
        timer_arm_ms(etcd_loop(mark->etcd), &mark->retry, delay_ms);
    } else {
        backoff_reset(&mark->backoff);
    }
    mark->cb(mark->data, reply && reply->succeeded, err);
}

void etcd_store_mark_try(struct etcd_store_mark *mark, struct slice old,
                         const struct etcd_compare *condition)
{
    char id[ETCD_STORE_ID_SIZE];
    if (mark->call || ev_is_active(&mark->retry) || !etcd_store_id_random(id)) {
        return;
    }
    struct etcd_compare compares[2] = {{
        .target = old.len ? ETCD_COMPARE_VALUE : ETCD_COMPARE_CREATE_REVISION,
        .key = mark->store_key,
        .value = old, /* else revision 0: it does not exist */
    }};
    mark->is_conditional = condition != NULL;
    if (condition) {
        compares[1] = *condition;
    }
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT,
        .key = mark->store_key,
        .value = slice_str(id),
    };
    const struct etcd_txn txn = {
        .compares = compares, .compare_count = condition ? 2 : 1, .ops = &put, .op_count = 1};
    mark->call = etcd_watch_txn(mark->etcd, &txn, etcd_store_mark_on_txn, mark);
}

bool etcd_store_mark_is_under_way(const struct etcd_store_mark *mark)
{
    return mark->call != NULL;
}
