#include "skydns/handover/handover.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/handover/handover_join_internal.h"

struct handover {
    struct ev_loop *loop;
    const struct handover_place *place;
    struct passed_sockets passed;
    struct handover_join *join; /* NULL: none runs */
    ev_io seen;                 /* wakes the loop */
    struct handover_offer *offer;
};

static void on_seen(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    (void)io; /* handover_look reads it */
}

static void leave_join(struct handover *h)
{
    if (h->join) {
        ev_io_stop(h->loop, &h->seen);
        handover_join_free(h->join);
        h->join = NULL;
    }
}

int handover_open(struct ev_loop *loop, const struct handover_place *place, uid_t user,
                  struct handover **ret_handover, struct err *err)
{
    struct handover *h = xcalloc(1, sizeof(*h));
    h->loop = loop;
    h->place = place;
    int r = handover_join_new(place, user, &h->passed, &h->join, err);
    if (r < 0) {
        free(h);
        return r;
    }
    if (h->join) {
        log_info("another skydns runs, taking its addresses over once there are answers",
                 LOG_INT("pid", handover_join_process(h->join)),
                 LOG_INT("sockets", (int64_t)h->passed.count));
        ev_io_init(&h->seen, on_seen, handover_join_fd(h->join), EV_READ);
        ev_io_start(loop, &h->seen);
    }
    *ret_handover = h;
    return 0;
}

void handover_free(struct handover *handover)
{
    if (handover) {
        handover_offer_free(handover->offer);
        leave_join(handover);
        passed_sockets_close(&handover->passed);
        free(handover);
    }
}

const struct passed_sockets *handover_passed(const struct handover *handover)
{
    return handover && handover->passed.count > 0 ? &handover->passed : NULL;
}

void handover_opened(struct handover *handover)
{
    if (handover) {
        passed_sockets_close(&handover->passed);
    }
}

bool handover_is_joined(const struct handover *handover)
{
    return handover && handover->join;
}

int handover_look(struct handover *handover, struct err *err)
{
    int r = handover_join_look(handover->join, err);
    if (r == 1) {
        log_warn("the other skydns has ended, taking its addresses over at once",
                 LOG_INT("pid", handover_join_process(handover->join)));
        leave_join(handover);
        return 0;
    }
    return r;
}

int handover_serve(struct handover *handover, const struct passed_sockets *sockets,
                   void (*taken)(void *data, pid_t process), void *data, struct err *err)
{
    struct handover *h = handover;
    const struct handover_offer_config config = {
        .loop = h->loop,
        .place = h->place,
        .sockets = sockets,
        .taken = taken,
        .data = data,
    };
    bool is_alone = true;
    if (h->join) {
        log_info("took the addresses over", LOG_INT("from", handover_join_process(h->join)));
        is_alone = !handover_join_serving(h->join); /* it has ended just now */
        leave_join(h);
    }
    int r = handover_offer_new(&config, &h->offer, err);
    if (r < 0 && !is_alone) {
        log_error("no other skydns can take the addresses over", LOG_STR("error", err->msg));
        r = 0;
    }
    return r;
}

const struct handover_offer *handover_its_offer(const struct handover *handover)
{
    return handover ? handover->offer : NULL;
}

bool handover_must_stay(void)
{
    return getppid() == 0 || getenv("KUBERNETES_SERVICE_HOST"); /* also below an init of its own */
}
