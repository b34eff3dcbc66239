/* Names the documents in etcd that settings come from, for those who read etcd and those who apply
 * them: `/<prefix>/config`, SkyDNS's own, and `/kube2sky/<domain>/config`. Pure. */
#ifndef SKYDNS_SETTINGS_CONFIG_DOCUMENTS_H
#define SKYDNS_SETTINGS_CONFIG_DOCUMENTS_H

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_store_id.h"

/* Limits in bytes; readers of etcd pass a longer document on truncated to one byte more, so that it
 * shows. */
enum {
    /* Limits SkyDNS's document: a page in practice; all stub zones (zone_table.h) with all their
     * upstreams fit. It is the limit of a ConfigMap. */
    CONFIG_DOCUMENT_MAX = 1024 * 1024,
    /* Limits kube2sky's document: it also lists the keys that kube2sky wrote, and a request to etcd
     * has at most 1.5 MiB. */
    WRITER_DOCUMENT_MAX = 1536 * 1024,
};

/* Returns the key, "/kube2sky/cluster.local/config", which the caller frees; `name` is the
 * document's. */
static inline char *writer_document_key(const struct dname *domain, const char *name)
{
    char text[DNAME_TEXT_MAX];
    return etcd_writer_key(slice_str(dname_to_text(domain, text)), name);
}

#endif
