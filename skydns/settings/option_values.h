/* Parses the values of flags, environment variables and the document in etcd. Messages quote the
 * value and say what was expected; the caller adds the name. Pure. */
#ifndef SKYDNS_SETTINGS_OPTION_VALUES_H
#define SKYDNS_SETTINGS_OPTION_VALUES_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/external/zone_table.h"
#include "skydns/settings/options.h"
#include "skydns/tsig/tsig_keys.h"

/* Room for any valid list item; a longer one is truncated and rejected by its beginning. */
enum { OPTION_ITEM_MAX = DNAME_TEXT_MAX };

/* Copies the next non-empty item of a comma-separated list; `*list` moves past it. */
bool option_next_item(const char **list, char item[OPTION_ITEM_MAX]);

/* Parses a domain name into lower case, of letters, digits and -_./ ; false: it is none. */
bool option_lower_name(const char *text, struct dname *ret_name) MUST_CHECK;

/* Parses an IPv6 network. One of IPv4-mapped addresses is allowed here, which network_parse would
 * take for IPv4. Returns false if host bits are set, or the text is no network. */
bool option_ipv6_network(const char *text, struct network *ret) MUST_CHECK;

/* Replace the option's value, or fail with ERR_USAGE. Lists are comma-separated; empty items (a
 * trailing comma) are ignored. Plain lists are in option_lists.h. */
int option_hostmaster(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_local(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_address(struct addr *ret, const char *text, struct err *err) MUST_CHECK;
int option_stub(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_alias(struct options *o, const char *text, struct err *err) MUST_CHECK; /* adds it */
/* "all": every zone; "": none. */
int option_no_aaaa(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* "well-known" is 64:ff9b::/96; "" is none. */
int option_dns64(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_nsid(struct options *o, const char *text, struct err *err) MUST_CHECK; /* "": none */
/* Take "" and "all" as every client, and "none" as no client, unless networks are beside it. */
int option_allow(struct options *o, const char *list, struct err *err) MUST_CHECK;
int option_allow_recursion(struct options *o, const char *list, struct err *err) MUST_CHECK;
/* Take "N/BURST" or "N"; "", "0" and "off": no limit. */
int option_rate(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_rate_namespace(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_path_prefix(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_snapshot(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_user(struct options *o, const char *text, struct err *err) MUST_CHECK; /* "": none */
int option_dnstap(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_http_hosts(struct options *o, const char *text, struct err *err) MUST_CHECK;
int option_http_address(struct options *o, const char *text, struct err *err) MUST_CHECK;

/* Takes the names of key files without .key and .private. The second returns whether keys of this
 * owner can sign anything: a domain, or a reverse zone on an octet or nibble boundary. */
int option_dnssec(struct options *o, const char *list, struct err *err) MUST_CHECK;
bool option_dnssec_is_zone(const struct options *o, const struct dname *owner);

/* Parses a client that may transfer zones (engine_config.h). */
int option_transfer_who(const char *text, struct transfer_who *ret, struct err *err) MUST_CHECK;
/* Checks that transfers go with -schema and -pods. */
int option_check_transfers(const struct options *o, struct err *err) MUST_CHECK;

/* Returns the first whose key these lack; NULL: none does. */
const struct transfer_who *option_transfer_lacks_key(const struct options *o,
                                                     const struct tsig_keys *keys);

/* Takes IP:port for UDP and TCP, and URLs of streams; refuses those that need -cert without it. */
int option_addresses(struct options *o, const char *list, struct err *err) MUST_CHECK;

/* Flag that needs another one, or none of it. */
struct option_need {
    const char *flag;
    const char *value; /* to quote; NULL: none */
    bool is_given;
    bool has_it;
    const char *expected; /* "-key with it" */
};
/* Fails at the first that is given and has not what it needs; the error names the flag. */
int option_check_needs(const struct option_need *needs, size_t count, struct err *err) MUST_CHECK;

/* Checks that the flags among -cert, -key, -client-ca and -tls-ticket-keys that need each other are
 * set. The error names the flag. */
int option_check_certificate(const struct options *o, struct err *err) MUST_CHECK;

/* Writes the text of a stream's address, "tls://10.0.0.10:853"; returns out. */
enum { OPTION_LISTENER_MAX = ADDR_TEXT_MAX + sizeof("https://") };
const char *option_stream_text(const struct stream_address *stream, char out[OPTION_LISTENER_MAX]);

/* Parse the name of a stub zone, and one more upstream of a zone; "none" is no upstream. */
int option_zone(struct dname *ret, const char *text, struct err *err) MUST_CHECK;
int option_add_server(struct forward_zone *zone, const char *text, struct err *err) MUST_CHECK;

/* Takes "off", "all", "errors", "denials" or "1/N"; "" is off. The second returns the word of a
 * mode; the last has none. */
int option_query_log(struct options *o, const char *text, struct err *err) MUST_CHECK;
const char *option_query_log_mode(enum query_log_mode mode);

/* Reads the settings that only the environment has; adds those that cannot be used to `ignored`. */
void option_variables(struct options *o);

/* Return the zones that are answered here: the domains, then the external zones. */
size_t option_own_zone_count(const struct options *o);
const struct dname *option_own_zone(const struct options *o, size_t index);

/* Makes the checks below. The error names the field of the document, or else the flag. */
int option_check_agreement(const struct options *o, bool is_document, struct err *err) MUST_CHECK;

/* Checks that no external zone is in a domain, another one or arpa, or contains one. */
int option_check_external_zones(const struct options *o, struct err *err) MUST_CHECK;

/* Checks that no stub zone is one of the domains. */
int option_check_stubs(const struct options *o, struct err *err) MUST_CHECK;

/* Checks that no alias is for a name in the domains. */
int option_check_aliases(const struct options *o, struct err *err) MUST_CHECK;

/* Checks that no answer is signed whose addresses depend on the client's zone. */
int option_check_topology(const struct options *o, struct err *err) MUST_CHECK;

#endif
