/* Writes and reads the document /kube2sky/<domain>/config: what the ConfigMap says beside records,
 * for skydns, and the keys that kube2sky wrote because of the map, for itself:
 *
 *     {"nameservers":["8.8.8.8:53"],"keys":["/skydns/local/cluster/db"]}
 *
 * Without nameservers the field is absent. Only listed keys are ever changed or deleted. Pure;
 * single-threaded. */
#ifndef KUBE2SKY_NAMING_CONFIG_DOCUMENT_H
#define KUBE2SKY_NAMING_CONFIG_DOCUMENT_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* A request to etcd has at most 1.5 MiB. */
enum { CONFIG_DOCUMENT_MAX = 1536 * 1024 };

/* The document's key is etcd_writer_key(domain, CONFIG_DOCUMENT_NAME). */
#define CONFIG_DOCUMENT_NAME "config"

/* Write the document: begin, with the map's nameservers, a JSON list or empty; each key, in byte
 * order; end. */
void config_document_begin(struct slice nameservers, struct buf *out);
void config_document_add(struct slice key, struct buf *out);
void config_document_end(struct buf *out);

/* Calls fn for each listed key. Fails on a malformed document, without calling fn; the error says
 * what was expected. */
int config_document_read(struct slice text, void (*fn)(void *data, struct slice key), void *data,
                         struct err *err) MUST_CHECK;

#endif
