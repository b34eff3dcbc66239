/* Tells in the log when the wall clock jumps: signatures are made, and kept, by it. Looks once a
 * second how far it went beside the monotonic clock; after a suspended machine wakes up, that is a
 * jump, too. What is signed after a jump needs nothing of this: a kept signature that is not valid
 * at the time of an answer is not used (dnssec.h). Main thread. */
#ifndef SKYDNS_CONFIG_CLOCK_WATCH_INTERNAL_H
#define SKYDNS_CONFIG_CLOCK_WATCH_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

struct clock_watch;

enum { CLOCK_WATCH_JUMP_S = 60 }; /* more than time synchronization corrects step by step */

struct clock_watch *clock_watch_new(struct ev_loop *loop); /* is off */
void clock_watch_free(struct clock_watch *watch);          /* NULL is fine */

void clock_watch_turn(struct clock_watch *watch, bool is_on);

#endif
