#include "common/base/low_priority.h"

#include <sched.h>
#include <sys/resource.h>

void low_priority_thread(int nice)
{
    const struct sched_param batch = {.sched_priority = 0};
    (void)sched_setscheduler(0, SCHED_BATCH, &batch); /* of this thread, as the next one */
    (void)setpriority(PRIO_PROCESS, 0, nice);         /* Linux: not the process's */
}
