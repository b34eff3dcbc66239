/* What plugins of CoreDNS mean here, one function for each that has counterparts; a table has the
 * others with the reason. Files: translate (blocks and the table), translate_zones (domains:
 * kubernetes, etcd), translate_foreign (other names: forward, cache, hosts), translate_clients
 * (acl, autopath, tsig), translate_server (addresses, HTTP, logs), translate_streams (TLS),
 * translate_dnssec. PURE. */
#ifndef SKYDNS_COREFILE_TRANSLATE_INTERNAL_H
#define SKYDNS_COREFILE_TRANSLATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/corefile/parser_internal.h"
#include "skydns/corefile/translation_internal.h"

/* Lines, with those of snippets: what is done with them grows with the square. */
enum { DIRECTIVES_MAX = 10000 };

/* ERR_TOO_LARGE: beyond these. */
int translate(const struct corefile *corefile, struct translation *t, struct err *err) MUST_CHECK;

/* A plugin in its block. */
struct plugin_use {
    struct translation *t;
    const struct strings *zones; /* of the block: "." or lower case, without the last dot */
    const struct corefile_directive *directive;
};

/* The words of the first line after the plugin's name. */
size_t use_argument_count(const struct plugin_use *use);
const char *use_argument(const struct plugin_use *use, size_t i);

/* An option in braces that has a counterpart; others are reported. */
struct plugin_option {
    const char *name;
    void (*take)(const struct plugin_use *use, const struct corefile_line *line);
    const char *missing;  /* or why there is none */
    const char *needless; /* or why none is needed */
};
void use_options(const struct plugin_use *use, const struct plugin_option *options, size_t count);

/* A zone of a Corefile in lower case without the last dot, "." for the root; a network as the
 * reverse name of its octets. False: no such name. */
bool zone_text(const char *zone, struct buf *out);
bool zone_is_reverse(const char *zone);
/* "10.in-addr.arpa" -> "10.0.0.0/8"; false if it is none of a network. */
bool zone_network(const char *zone, struct buf *out);

/* "8.8.8.8", "dns://8.8.8.8:53" -> "8.8.8.8:53". False: something else. */
bool server_text(const char *server, struct buf *out);

/* The line's second word as a duration that a flag takes, as it is; otherwise a note. */
void use_duration(const struct plugin_use *use, const struct corefile_line *line, const char *flag,
                  int64_t min_ms, int64_t max_ms);

void translate_kubernetes(const struct plugin_use *use);
void translate_tsig(const struct plugin_use *use);
void translate_etcd(const struct plugin_use *use);
void translate_forward(const struct plugin_use *use);
void translate_cache(const struct plugin_use *use);
void translate_hosts(const struct plugin_use *use);
void translate_acl(const struct plugin_use *use);
void translate_autopath(const struct plugin_use *use);
void translate_transfer(const struct plugin_use *use);
void translate_health(const struct plugin_use *use);
void translate_ready(const struct plugin_use *use);
void translate_prometheus(const struct plugin_use *use);
void translate_bufsize(const struct plugin_use *use);
void translate_loadbalance(const struct plugin_use *use);
void translate_multisocket(const struct plugin_use *use);
void translate_log(const struct plugin_use *use);
void translate_dnstap(const struct plugin_use *use);
void translate_debug(const struct plugin_use *use);
void translate_any(const struct plugin_use *use);
void translate_chaos(const struct plugin_use *use);
void translate_tls(const struct plugin_use *use);
void translate_dnssec(const struct plugin_use *use);

/* translate_server.c: the addresses that a block is answered on. `bind` may be NULL. */
void translate_listen(struct translation *t, const struct corefile_block *block,
                      const struct corefile_directive *bind, struct strings *ret_zones);

/* translate_dnssec.c: at the end, which keys are of names that are answered here. */
void translate_settle_keys(struct translation *t);

/* translate_streams.c: at the end, which of them can be, and the files of TLS. */
void translate_settle_listeners(struct translation *t);

#endif
