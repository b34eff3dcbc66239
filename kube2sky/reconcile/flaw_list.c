#include "kube2sky/reconcile/flaw_list.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

void flaw_list_add(struct flaw_list *list, const char *what, const char *reason)
{
    struct flaw flaw = {.time_ms = clock_wall_ms()};
    size_t at = 0;
    (void)snprintf(flaw.what, sizeof(flaw.what), "%s", what); /* cut */
    (void)snprintf(flaw.reason, sizeof(flaw.reason), "%s", reason);
    while (at < list->count && (strcmp(list->items[at].what, flaw.what) != 0 ||
                                strcmp(list->items[at].reason, flaw.reason) != 0)) {
        at++;
    }
    if (at == list->count && list->count < FLAWS_KEPT) {
        list->count++;
    } else if (at == list->count) {
        at--;
    }
    memmove(&list->items[1], &list->items[0], at * sizeof(flaw));
    list->items[0] = flaw;
}
