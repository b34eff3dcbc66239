/* Holds the configuration in force: flags, -config's file and the documents in etcd
 * (config_layers.h), plus this host's resolv.conf if none names an upstream; and the files of
 * -hosts. Reads all before anything is opened, takes later documents from the mirrors, watches the
 * files, and publishes what the answering threads need. Logs changes that need a restart once. Main
 * thread.
 *
 *     live_config_new, _open_files, _read, _begin    etcd answers within a second, or what is known
 *                                                    without it counts
 *     live_config_seed in place of _read             a snapshot has what etcd returned
 *     live_config_take, _take_writers                a document changed or is gone
 *     live_config_reload                  SIGHUP */
#ifndef SKYDNS_CONFIG_LIVE_CONFIG_H
#define SKYDNS_CONFIG_LIVE_CONFIG_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/clients/visibility.h"
#include "skydns/external/zone_table.h"
#include "skydns/settings/options.h"

struct cache_tally;
struct client_index;
struct etcd;
struct live_config;
struct publisher;
struct zone_serials;

struct live_config_config {
    struct ev_loop *loop;
    const struct options *flags;  /* borrowed */
    struct publisher *publisher;  /* borrowed */
    const char *resolv_conf;      /* path; borrowed */
    struct cache_tally *tally;    /* borrowed; NULL: not counted */
    struct zone_serials *serials; /* borrowed; NULL: no zone is transferred */

    /* Returns whether etcd is known to lack records of a domain: called at each publication. NULL:
     * none. */
    bool (*is_incomplete)(void *data, const struct dname *domain);

    /* Returns whether it is known which clients a domain's pods are: called likewise. NULL: it
     * is. */
    bool (*knows_clients)(void *data, const struct dname *domain);

    /* Called when the configuration changed at run time; `now` and `before` are borrowed. */
    void (*changed)(void *data, const struct options *before, const struct options *now);
    void *data;
};

/* Sources whose newest settings cannot be used, so that older ones stay in force. */
struct config_refusals {
    bool etcd;            /* /skydns/config */
    bool kube2sky;        /* a document that kube2sky writes to etcd */
    bool file;            /* -config */
    bool hosts;           /* a file of -hosts */
    bool cookies;         /* -cookie-secret */
    bool tsig;            /* -tsig-keys */
    bool dnssec;          /* -dnssec, or the document's */
    bool certificate;     /* -cert, -key, -client-ca or -tls-ticket-keys */
    size_t unusable_keys; /* of -dnssec, whose files cannot be used */
};

struct live_config *live_config_new(const struct live_config_config *config);
void live_config_free(struct live_config *live); /* NULL is fine */

/* Reads the files of -config, -dnssec, -hosts, -cookie-secret and -tsig-keys, which must be usable,
 * and follows them. Call it first. */
int live_config_open_files(struct live_config *live, struct err *err) MUST_CHECK;

/* Returns the settings of flags and -config's file alone, without etcd, watching nothing; with a
 * reference to their stub zones. */
int live_config_offline(const struct options *flags, struct options *ret_options,
                        struct err *err) MUST_CHECK;

/* Runs the loop until etcd has returned the documents, a second has passed, or something else (a
 * signal) ends the loop. Before _begin. */
void live_config_read(struct live_config *live, struct etcd *etcd);

/* Returns the settings as etcd's document would make them, for a look; logs nothing. After
 * _open_files. */
struct options live_config_preview(struct live_config *live, struct slice document);

/* Takes the document as if etcd had returned it, in place of _read; ptr NULL: none. After it,
 * live_config_options has the domains, and live_config_take_writers may follow. */
void live_config_seed(struct live_config *live, struct slice document);

/* Publishes for the first time, before threads start. Fails if resolv.conf is needed and cannot be
 * read. */
int live_config_begin(struct live_config *live, struct err *err) MUST_CHECK;

/* Logs why the document was not read, if so. Call when everything is open. */
void live_config_opened(const struct live_config *live);

/* Returns the settings in force; borrowed until the loop turns. After _begin, or _seed. */
const struct options *live_config_options(const struct live_config *live);

/* Returns the refused sources. After _begin. */
struct config_refusals live_config_refusals(const struct live_config *live);

/* Appends the names of the keys that sign a zone, with commas between; nothing if none does. After
 * _begin. */
void live_config_signing(const struct live_config *live, const struct dname *zone, struct buf *out);

/* Takes etcd's current document; `value.ptr` NULL: none. An unusable one is logged and changes
 * nothing. */
void live_config_take(struct live_config *live, struct slice value);

/* Takes kube2sky's document for a domain (writer_documents.h) in the same way; only its upstreams
 * count. */
void live_config_take_writers(struct live_config *live, const struct dname *domain,
                              struct slice value);

/* Takes the stub zones that etcd's keys name, and publishes them. */
void live_config_take_stubs(struct live_config *live, const struct forward_zone *zones,
                            size_t count);

/* Sets the index that tells whose client an address is; borrowed until live_config_free. Counts
 * from the next publication on: before it, no client is identified. */
void live_config_set_clients(struct live_config *live, const struct client_index *index);

/* Takes the namespaces that list who may see them, and publishes them if the settings in force use
 * them. Before _begin, it does. */
void live_config_take_visible(struct live_config *live, const struct visible_namespace *listed,
                              size_t count);

/* Publishes the settings in force again, when is_incomplete or knows_clients has changed. */
void live_config_republish(struct live_config *live);

/* Rereads the files, logs again which changes need a restart, and drops all entries of the response
 * cache. */
void live_config_reload(struct live_config *live);

#endif
