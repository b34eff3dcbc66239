/* Decides when a mirror's session has caught up with etcd, and when a silent watch is suspect.
 *
 * A session has caught up once it has delivered all that etcd held when the session began. Events
 * show it: each response says how far it reaches (etcd_watch_reached). Yet etcd sends nothing to a
 * watch that missed nothing, although other keys have raised the revision. Then a quiet time after
 * the watch's confirmation must do. etcd brings old watches up to date every 100 ms, 512 watches at
 * a time, so a second is ten rounds. If etcd is too busy to come round for a second, it counts as
 * having nothing to send; what it sends then is followed as any other change. (A requested progress
 * response would tell in etcd 3.4.25 and 3.5.8, and lies in older ones: etcd issue 15220.)
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
    void (*done)(void *data); /* called once a session; may end the session */
    void *data;
    int64_t target;
    int64_t reached;
    bool is_confirmed;
    bool is_done;
};

void etcd_catch_up_init(struct etcd_catch_up *catch_up, struct ev_loop *loop,
                        void (*done)(void *data), void *data);

/* Begins with a watch: everything up to `reached` has been delivered, and is to be up to
 * `target`. */
void etcd_catch_up_begin(struct etcd_catch_up *catch_up, int64_t reached, int64_t target);

/* Notes that the watch is confirmed. */
void etcd_catch_up_confirmed(struct etcd_catch_up *catch_up);

/* Notes that events came, and that everything up to `reached` has been delivered. */
void etcd_catch_up_reached(struct etcd_catch_up *catch_up, int64_t reached);

/* Stops at the session's end. Fine without a session. */
void etcd_catch_up_end(struct etcd_catch_up *catch_up);

/* Decides whether a watch is silent because nothing in its range changed, or because it is dead. A
 * proxy may lie between etcd and us. It holds our connection and answers its pings even if its own
 * watch of etcd, which we share, is lost. etcd's grpc-proxy loses such watches without a word (etcd
 * issues 10650, 18231, 19296).
 *
 * The mirror reads etcd's revision now and then (etcd_mirror_check.c). A watch is suspect if that
 * revision is ahead of what it has delivered, and it does not catch up within the timeout. The
 * mirror then restarts it behind the last change delivered, and whatever it missed comes then.
 * Changes of other keys raise the revision, too, so each suspicion doubles the timeout; one that
 * was right resets it. After 10 minutes etcd reports its revision to an idle watch by itself. The
 * longest timeout exceeds that, so that in the end a living watch is left alone.
 *
 * Plain data, no I/O. */

/* A second is ample: etcd and a proxy deliver within milliseconds. */
enum { ETCD_SILENCE_FIRST_MS = 1000, ETCD_SILENCE_MAX_MS = 15 * 60 * 1000 };

struct etcd_silence {
    int64_t timeout_ms;
    int64_t unheard;   /* etcd had reached this revision, undelivered; 0 = none */
    int64_t since_ms;  /* when `unheard` was seen */
    int64_t doubted;   /* `unheard` of the last suspicion, until it is judged; 0 = none */
    unsigned in_a_row; /* suspicions since something came */
};

void etcd_silence_init(struct etcd_silence *silence);

/* Resets what belongs to the previous watch, as another one begins. */
void etcd_silence_begin(struct etcd_silence *silence);

/* Returns true if the watch is suspect and must be restarted. etcd had reached `store` when the
 * watch had delivered everything up to `heard`. */
bool etcd_silence_is_suspect(struct etcd_silence *silence, int64_t store, int64_t heard,
                             int64_t now_ms);

/* Notes that the watch delivered a change of this revision for the first time. */
void etcd_silence_delivered(struct etcd_silence *silence, int64_t revision);

/* Notes that the watch delivered a known change again: it lives, whatever the last one did. */
void etcd_silence_repeated(struct etcd_silence *silence);

/* Returns whether this watch is suspect like the one before it, with nothing delivered since: then
 * no watch helps. */
bool etcd_silence_is_hopeless(const struct etcd_silence *silence);

#endif
