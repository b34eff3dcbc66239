/* The configuration in force: the flags, over them the document in etcd, over both what this host's
 * resolv.conf says when neither names a nameserver. Reads the document before anything is opened,
 * takes every later one from the mirror, watches resolv.conf, and publishes what the answering
 * threads need of it. What cannot change while the process runs is said in the log, once. Main
 * thread.
 *
 *     live_config_new, _read, _begin      etcd answers within a second, or the flags alone count
 *     live_config_take                    the document changed, or went
 *     live_config_reload                  SIGHUP */
#ifndef SKYDNS_LIVE_CONFIG_H
#define SKYDNS_LIVE_CONFIG_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/options.h"

struct etcd;
struct live_config;
struct snapshot;

struct live_config_config {
    struct ev_loop *loop;
    const struct options *flags; /* borrowed */
    struct snapshot *snapshot;   /* borrowed */
    const char *resolv_conf;     /* path; borrowed */

    /* The configuration changed while the process runs; `now` and `before` are borrowed. */
    void (*changed)(void *data, const struct options *before, const struct options *now);
    void *data;
};

struct live_config *live_config_new(const struct live_config_config *config);
void live_config_free(struct live_config *live); /* NULL is fine */

/* Runs the loop until etcd has said what the document is, a second has passed, or something else
 * ends the loop (a signal). Before _begin. */
void live_config_read(struct live_config *live, struct etcd *etcd);

/* Publishes the configuration for the first time: before the threads. Fails when resolv.conf is
 * needed and cannot be read. */
int live_config_begin(struct live_config *live, struct err *err) MUST_CHECK;

/* Everything is open: logs why the document was not read, if so. */
void live_config_opened(const struct live_config *live);

/* What is in force; borrowed until the loop turns. After _begin. */
const struct options *live_config_options(const struct live_config *live);

/* The document as etcd has it now; `value.ptr` NULL: there is none. One that cannot be used is
 * logged and changes nothing. */
void live_config_take(struct live_config *live, struct slice value);

/* resolv.conf may have changed, and somebody wants to know what waits for a restart. */
void live_config_reload(struct live_config *live);

#endif
