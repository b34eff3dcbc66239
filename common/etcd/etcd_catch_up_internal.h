/* When has a session of the mirror caught up with its store: delivered all that was in it when the
 * session began? Events tell: each response says how far it reaches (etcd_watch_reached). But etcd
 * sends nothing to a watch that missed nothing, although other keys have raised the store's
 * revision. Then a quiet time after the watch's confirmation must do: etcd brings old watches up to
 * date every 100 ms, 512 watches at a time, so a second is ten rounds. What remains: an etcd too
 * busy to come round for a second is believed to have nothing to send, and what it sends then is
 * followed as any other change. (A requested progress response would tell in etcd 3.4.25 and 3.5.8,
 * and lies in older ones: etcd issue 15220.)
 *
 * Same loop and thread as the mirror. */
#ifndef COMMON_ETCD_ETCD_CATCH_UP_INTERNAL_H
#define COMMON_ETCD_ETCD_CATCH_UP_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

enum { ETCD_CATCH_UP_QUIET_MS = 1000 };

struct etcd_catch_up {
    struct ev_loop *loop;
    ev_timer timer;
    void (*done)(void *data); /* once a session; the session may be ended inside */
    void *data;
    int64_t target;
    int64_t reached;
    bool is_confirmed;
    bool is_done;
};

void etcd_catch_up_init(struct etcd_catch_up *catch_up, struct ev_loop *loop,
                        void (*done)(void *data), void *data);

/* A watch begins: everything up to `reached` has been delivered, and is to be up to `target`. */
void etcd_catch_up_begin(struct etcd_catch_up *catch_up, int64_t reached, int64_t target);

/* The watch is confirmed. */
void etcd_catch_up_confirmed(struct etcd_catch_up *catch_up);

/* Events came, and everything up to `reached` has been delivered. */
void etcd_catch_up_reached(struct etcd_catch_up *catch_up, int64_t reached);

/* The session has ended. Fine without one. */
void etcd_catch_up_end(struct etcd_catch_up *catch_up);

#endif
