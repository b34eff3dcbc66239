/* Who may transfer our zones: -transfer-to, or the document's transfer_to. Part of the
 * configuration (engine_config.h); pure; any thread. */
#ifndef SKYDNS_PUBLISH_TRANSFER_ACCESS_H
#define SKYDNS_PUBLISH_TRANSFER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

enum { TRANSFER_ACCESS_MAX = 64 }; /* a zone has a dozen secondaries; each is asked about in turn */

/* Both must be right, if it has both. */
struct transfer_who {
    bool has_network, has_key;
    struct network network;
    struct dname key;   /* TSIG; lower case */
    struct addr notify; /* gets NOTIFY: a single address, with its port; AF_UNSPEC: none. The client
                         * has its scope, too, if it has one */
};

/* One of them is right. `key`: whose signature the query has, in lower case; NULL: no good one. */
bool transfer_access_allows(const struct transfer_who *who, size_t count, const struct addr *client,
                            const struct dname *key);

#endif
