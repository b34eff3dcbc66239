/* exechealthz's HTTP pages: the health of each command and DNS probe, metrics, the old program's
 * pages.
 *
 * A command is at its path, a DNS probe at /healthcheck/<label>, metrics are at /metrics; the old
 * pages are optional. The handlers run nothing and never wait: they serve the last results. On the
 * loop's thread. */
#ifndef EXECHEALTHZ_PAGES_H
#define EXECHEALTHZ_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "common/http/http_server.h"
#include "exechealthz/dns_probe.h"
#include "exechealthz/dnsmasq_poll.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/probe.h"

/* Borrows everything until pages_free. */
struct pages_config {
    struct health_actions *actions; /* stopped by /quit */
    struct probe *const *probes;
    size_t probe_count;
    struct dns_probe *const *dns_probes;
    size_t dns_count;
    const struct dnsmasq_poll *dnsmasq; /* for the metrics; NULL: none */
    const char *dns_url;                /* path of all DNS probes together; NULL: none */
    bool has_legacy_pages;
    bool is_quiet; /* do not log requests */
};

struct pages;

struct pages *pages_new(const struct pages_config *config);
/* Free the server first. NULL is fine. */
void pages_free(struct pages *pages);

/* Returns the routes for http_server_new. Commands' paths come first, so that users' paths override
 * ours. */
const struct http_route *pages_routes(const struct pages *pages, size_t *ret_count);

#endif
