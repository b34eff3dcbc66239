/* Parses the values of flags, environment variables and the document in etcd. Messages quote the
 * value and say what was expected; the caller adds the name. Pure. */
#ifndef SKYDNS_SETTINGS_OPTION_VALUES_H
#define SKYDNS_SETTINGS_OPTION_VALUES_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/external/zone_table.h"
#include "skydns/settings/options.h"
#include "skydns/tsig/tsig_keys.h"

/* Longer than any valid list item; a longer one is truncated and rejected by its beginning. */
enum { OPTION_ITEM_MAX = DNAME_TEXT_MAX };

/* Copies the next non-empty item of a comma-separated list; `*list` moves past it. */
bool option_next_item(const char **list, char item[OPTION_ITEM_MAX]);

/* A domain name in lower case, of letters, digits and -_./ ; false: it is none. */
bool option_lower_name(const char *text, struct dname *ret_name) MUST_CHECK;

/* Each replaces the option's value, or fails with ERR_USAGE. Lists are comma-separated; empty items
 * (a trailing comma) are ignored. */
int option_domains(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_hostmaster(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_local(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_address(struct addr *ret, const char *text, struct err *err) MUST_CHECK;
int option_nameservers(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_add_nameserver(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_stub(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_alias(struct options *o, const char *text, struct err *err) MUST_CHECK; /* adds it */
int option_reverse_zones(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_search(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* "all": every zone; "": none. */
int option_no_aaaa(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* "well-known" is 64:ff9b::/96; "" is none. */
int option_dns64(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_dns64_exclude(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_nsid(struct options *o, const char *text, struct err *err) MUST_CHECK; /* "": none */
int option_public_namespaces(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* "" and "all": every client; "none": no client, unless networks are beside it. */
int option_allow(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_allow_recursion(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* "N/BURST" or "N"; "", "0" and "off": no limit. */
int option_rate(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_path_prefix(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_snapshot(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_user(struct options *o, const char *text, struct err *err) MUST_CHECK; /* "": none */
int option_dnstap(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_http_hosts(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_http_address(struct options *o, const char *text, struct err *err) MUST_CHECK;

/* The names of key files without .key and .private; whether keys of this owner can sign anything:
 * a domain, or a reverse zone on an octet or nibble boundary. */
int option_dnssec(struct options *o, const char *list, struct err *err) MUST_CHECK;
bool option_dnssec_is_zone(const struct options *o, const struct dname *owner);

/* Parses who may transfer zones (engine_config.h), and checks that it goes with -schema and
 * -pods. */
int option_transfer_to(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_check_transfers(const struct options *o, struct err *err) MUST_CHECK;

/* The first whose key these lack; NULL: none does. */
const struct transfer_who *option_transfer_lacks_key(const struct options *o,
                                                     const struct tsig_keys *keys);

/* IP:port for UDP and TCP, and URLs of streams; those that need -cert are refused without. */
int option_addresses(struct options *o, const char *list, struct err *err) MUST_CHECK;

/* Whether those of -cert, -key, -client-ca and -tls-ticket-keys are there that need each other. The
 * error names the flag. */
int option_check_certificate(const struct options *o, struct err *err) MUST_CHECK;

/* The text of a stream's address, "tls://10.0.0.10:853"; returns out. */
enum { OPTION_LISTENER_MAX = ADDR_TEXT_MAX + sizeof("https://") };
const char *option_stream_text(const struct stream_address *stream, char out[OPTION_LISTENER_MAX]);

/* The name of a stub zone, and a server more of a zone; "none" is no server. */
int option_zone(struct dname *ret, const char *text, struct err *err) MUST_CHECK;
int option_add_server(struct forward_zone *zone, const char *text, struct err *err) MUST_CHECK;

/* "off", "all", "errors", "denials" or "1/N"; "" is off. And the word of a mode but the last. */
int option_query_log(struct options *o, const char *text, struct err *err) MUST_CHECK;
const char *option_query_log_mode(enum query_log_mode mode);

/* Reads the settings that only the environment has; what cannot be used is added to `ignored`. */
void option_variables(struct options *o);

/* Whether no stub zone is one of the domains. */
int option_check_stubs(const struct options *o, struct err *err) MUST_CHECK;

/* Whether no alias is of a name in the domains: ERR_USAGE otherwise. */
int option_check_aliases(const struct options *o, struct err *err) MUST_CHECK;

#endif
