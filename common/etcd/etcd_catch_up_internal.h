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

/* Does a watch say nothing because nothing in its range changed, or because it is dead? Between
 * etcd and us may be a proxy: it holds our connection and answers its pings whatever has become of
 * its own watch of etcd, which we share. etcd's grpc-proxy loses such watches without a word (etcd
 * issues 10650, 18231, 19296).
 *
 * The mirror reads the store's revision now and then (etcd_mirror_check.c). If it is ahead of what
 * the watch has delivered, and the watch does not catch up within the patience, the watch is
 * suspect: it is restarted behind the last change delivered, and whatever it missed comes then.
 * Changes of other keys raise the revision, too, so each suspicion doubles the patience; one that
 * was right resets it. The longest patience is longer than the 10 minutes after which etcd reports
 * its revision to an idle watch by itself, so that in the end a living watch is left alone.
 *
 * Plain data, no I/O. */

/* etcd and a proxy deliver within milliseconds. */
enum { ETCD_SILENCE_FIRST_MS = 1000, ETCD_SILENCE_MAX_MS = 15 * 60 * 1000 };

struct etcd_silence {
    int64_t timeout_ms;
    int64_t unheard;   /* the store had reached this revision, undelivered; 0 = none */
    int64_t since_ms;  /* when `unheard` was seen */
    int64_t doubted;   /* `unheard` of the last suspicion, until it is judged; 0 = none */
    unsigned in_a_row; /* suspicions since something came */
};

void etcd_silence_init(struct etcd_silence *silence);

/* Another watch begins. */
void etcd_silence_begin(struct etcd_silence *silence);

/* The store had reached `store` when the watch had delivered everything up to `heard`. True: the
 * watch is suspect and must be restarted. */
bool etcd_silence_is_suspect(struct etcd_silence *silence, int64_t store, int64_t heard,
                             int64_t now_ms);

/* The watch delivered a change of this revision for the first time. */
void etcd_silence_delivered(struct etcd_silence *silence, int64_t revision);

/* It delivered a known change again: it lives, whatever the last one did. */
void etcd_silence_repeated(struct etcd_silence *silence);

/* The watch is suspect as the one before it was, and nothing has come since: no watch helps. */
bool etcd_silence_is_hopeless(const struct etcd_silence *silence);

#endif
