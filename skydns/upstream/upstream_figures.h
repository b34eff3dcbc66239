/* Counts what each nameserver of each zone was asked, how often in vain, and how long its replies
 * took. Written by the resolver's thread, read by any (relaxed counters, common/base/metrics.h):
 * places are taken once and never given back, so that totals only grow; a nameserver that went
 * keeps its place until the program ends. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_FIGURES_H
#define SKYDNS_UPSTREAM_UPSTREAM_FIGURES_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/metrics.h"
#include "common/dns/dname.h"
#include "skydns/external/nameserver.h"

/* Each is 30 lines of the metrics' page, so that 64 are 200 KB; a cluster has a handful. */
enum { UPSTREAM_FIGURES_MAX = 64 };

struct upstream_figure {
    struct dname zone; /* the root: the general nameservers */
    struct nameserver server;
    struct counter queries;  /* tries: one question may be several, of several nameservers */
    struct counter failures; /* of them: no reply in time, unreachable, SERVFAIL or REFUSED */
    struct histogram took;   /* us, of histogram_durations: until the reply, whatever it says */
};

struct upstream_figures {
    _Atomic size_t count;
    struct upstream_figure items[UPSTREAM_FIGURES_MAX];
    struct upstream_figure others; /* of those that found no place; without zone and server */
};

/* The resolver's thread: the nameserver's place; `others` if all are taken. */
struct upstream_figure *upstream_figures_of(struct upstream_figures *figures,
                                            const struct dname *zone,
                                            const struct nameserver *server);

/* Any thread: how many items there are. */
size_t upstream_figures_count(const struct upstream_figures *figures);

#endif
