/* Threads whose work may wait for that of others, who answer. */
#ifndef COMMON_BASE_LOW_PRIORITY_H
#define COMMON_BASE_LOW_PRIORITY_H

/* The calling thread never preempts others when it wakes up, and has the share of a busy processor
 * that `nice` gives: a quarter for 5, a tenth for 10. If the kernel refuses, it is as any other. */
void low_priority_thread(int nice);

#endif
