/* All that answers: the sockets, the workers that answer UDP, and the resolver that answers TCP and
 * waits for nameservers. Opened, started, stopped and freed on the main thread.
 *
 * Each address has as many UDP sockets and threads as there are workers; a socket from systemd is
 * one, which all its workers receive from. */
#ifndef SKYDNS_ANSWERING_H
#define SKYDNS_ANSWERING_H

#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/options.h"

struct answering;
struct resolver;
struct snapshot;
struct worker;

/* Opens everything; an error names the address and what to do. The options are copied; the snapshot
 * has its first configuration, and outlives it. */
int answering_open(const struct options *options, struct snapshot *snapshot,
                   struct answering **ret_answering, struct err *err) MUST_CHECK;

/* Threads started before a failure run until the stop. */
int answering_start(struct answering *answering, struct err *err) MUST_CHECK;

/* What has arrived is answered; then the threads end. Logs what they did. */
void answering_stop(struct answering *answering);

void answering_free(struct answering *answering); /* stopped; NULL is fine */

/* The nameservers of these options from now on. */
void answering_set_nameservers(struct answering *answering, const struct options *now);

/* A line for each address and transport that queries for this domain are answered on: people and
 * scripts wait for them. */
void answering_log_ready(const struct answering *answering, const struct dname *domain);

/* For metrics; borrowed. */
const struct resolver *answering_resolver(const struct answering *answering);
struct worker *const *answering_workers(const struct answering *answering, unsigned *ret_count);

#endif
