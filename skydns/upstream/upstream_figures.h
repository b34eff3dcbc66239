/* Counts each zone's tries, failures and response times by upstream. The resolver's thread writes,
 * any thread reads (relaxed counters, common/base/metrics.h). A slot is taken once and never given
 * back, so that totals only grow: a removed upstream has its slot until the program ends. */
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
    struct dname zone; /* the root: the general upstreams */
    struct nameserver server;
    struct counter queries;  /* tries: one question may be several, at several upstreams */
    struct counter failures; /* of them: no response in time, unreachable, SERVFAIL or REFUSED */
    struct counter timeouts; /* of these: no response in time */
    struct histogram took;   /* us, of histogram_durations: until the response, whatever it says */
};

struct upstream_figures {
    _Atomic size_t count;
    struct upstream_figure items[UPSTREAM_FIGURES_MAX];
    struct upstream_figure others; /* all that found no slot; without zone and server */
};

/* Returns the upstream's slot, or `others` if all are taken. The resolver's thread. */
struct upstream_figure *upstream_figures_of(struct upstream_figures *figures,
                                            const struct dname *zone,
                                            const struct nameserver *server);

/* Returns how many items there are. Any thread. */
size_t upstream_figures_count(const struct upstream_figures *figures);

#endif
