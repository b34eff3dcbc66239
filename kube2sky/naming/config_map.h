/* Converts kube-dns's ConfigMap to keys and nameservers. PURE; single-threaded. With D for the
 * domain:
 *
 *   stubDomains          {"acme.local": ["10.0.0.1", "10.0.0.2:5353", "ns.example.com"]}
 *                        the key of <hash>.acme.local.stub.dns.D. for each server: its address and
 *                        port, or its name with a trailing dot
 *   upstreamNameservers  ["8.8.8.8", "[fd00::1]:5353"]
 *                        nameservers of the document (config_keys_internal.h), at most three
 *   records              {"db.D": {"host": "10.1.2.3"}, "www.D": [{...}, {...}]}
 *                        SkyDNS's values. The key of the name itself; of a list, <hash>.<name> for
 *                        each. The value is written as it is, without blanks.
 *
 * <hash> is the hash of the value, as of addresses (record_label). The rules are kube-dns's. A zone
 * and a host name are lower case and have no trailing dot; a port follows an address only; null
 * means an absent setting. Names of records are in the domain, in any case. They are neither D
 * itself nor in svc.D, pod.D, node.D or stub.dns.D, whose keys have other sources. Their labels
 * have letters, digits, - and _.
 *
 * A map with any error is refused as a whole: half a configuration is not applied. */
#ifndef KUBE2SKY_NAMING_CONFIG_MAP_H
#define KUBE2SKY_NAMING_CONFIG_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/desired.h"

struct override_zones;

/* kube-dns has this limit, whose resolver tried no more. */
enum { CONFIG_NAMESERVERS_MAX = 3 };

/* A ConfigMap has at most 1 MiB. */
enum { CONFIG_VALUE_MAX = 1024 * 1024 };

/* The document lists the keys, old and new ones while they change, and etcd accepts requests of 1.5
 * MiB: 10,000 keys of 64 bytes. */
enum { CONFIG_KEYS_MAX = 10000, CONFIG_KEYS_BYTES_MAX = 640 * 1024 };

/* Holds the keys and nameservers that a ConfigMap wants. */
struct config_map {
    struct desired keys;    /* sealed */
    struct desired names;   /* sealed; the external names, in lower case, without values */
    struct buf nameservers; /* a JSON list, ["8.8.8.8:53"]; empty: none */
};

void config_map_init(struct config_map *map);
void config_map_fini(struct config_map *map);

/* Empties it: a ConfigMap without data, or none, wants nothing. */
void config_map_clear(struct config_map *map);

bool config_map_equal(const struct config_map *a, const struct config_map *b);

struct config_map_rules {
    const char *domain;                 /* "cluster.local.", lower case, with the dot */
    uint32_t ttl_s;                     /* of the keys of stub zones */
    const struct override_zones *zones; /* NULL: no external names */
};

/* Replaces *map by the content of the settings. On failure the error names the setting, the value
 * and what was expected; *map is then invalid. */
int config_map_read(const struct config_map_rules *rules, const struct kube_config_map *settings,
                    struct config_map *map, struct err *err) MUST_CHECK;

enum config_map_setting {
    CONFIG_MAP_KNOWN,
    CONFIG_MAP_FEDERATIONS, /* a setting of kube-dns that has no effect here */
    CONFIG_MAP_UNKNOWN,     /* unknown to kube-dns, without effect */
};
enum config_map_setting config_map_setting_of(const char *key);

#endif
