/* Adds records to one naming in progress; shared by the files of naming. */
#ifndef KUBE2SKY_NAMING_NAMING_RECORDS_INTERNAL_H
#define KUBE2SKY_NAMING_NAMING_RECORDS_INTERNAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "kube2sky/naming/naming.h"

struct label {
    char text[DNAME_LABEL_MAX + 1];
};

/* Holds an address, parsed and in RFC 5952 form. */
struct address {
    struct ip ip;
    char text[INET6_ADDRSTRLEN];
};

/* Holds a named port with its protocol, folded to lower case. */
struct named_port {
    struct label name;
    struct label protocol;
    uint16_t number;
};

/* Describes a port at an endpoint or cluster IP: one SRV record. */
struct srv {
    const struct named_port *port;
    const struct label *label;
    const char *host; /* the target; NULL: as add_srvs says */
};

struct headless_run; /* in naming_headless.c */

struct build {
    const struct naming_config *config;
    struct naming_drop object; /* the fields that all its drops share */
    struct desired *desired;
    struct claims *claims;
    const char *domain;          /* in which the names are */
    const struct label *cluster; /* of an import's endpoints, in their names; else NULL */
    bool is_import;              /* its claims are those of one */
    char *name;                  /* "web.default.svc.cluster.local." */
    struct buf key;              /* "/skydns/local/cluster/svc/default/web", then additions */
    size_t key_base;             /* length of the key's fixed part */
    struct buf value;            /* the last value */
    struct buf host;             /* scratch buffer: a name below `name` */
    struct headless_run *first;  /* endpoints whose records are still to be added */
    struct headless_run *last;
};

/* Prepares a build. `object` is the owner of the records; its strings outlive the build. */
void build_init(struct build *b, const struct naming_config *config,
                const struct naming_drop *object, struct desired *desired, struct claims *claims);
/* Sets the DNS name above the keys: "<name>.<ns>.<kind>.<domain>". */
void build_set_name(struct build *b, const struct label *name, const struct label *ns,
                    const char *kind);
/* Sets it to "<name>.<ns>.<zone>". */
void build_set_external_name(struct build *b, const struct label *name, const struct label *ns);
/* Sets the DNS name of a Node: "<name>.node.<domain>". */
void build_set_node_name(struct build *b, struct slice name);
void build_fini(struct build *b);

void build_drop(const struct build *b, const char *what, const char *value);

/* ---- Parts of keys: false, and reported, if invalid ---- */

/* Takes a label of at most max bytes, folded to lower case. Returns false after reporting an
 * invalid one. */
bool naming_records_take_label(const struct build *b, const char *what, const char *text,
                               size_t max, struct label *ret_label);
bool naming_records_take_address(const struct build *b, const char *text,
                                 struct address *ret_address);

/* Takes the ports with a name, a protocol and a number; others have no SRV record. Returns their
 * number; ret_ports has room for count. */
size_t take_ports(const struct build *b, const struct kube_port *ports, size_t count,
                  struct named_port *ret_ports);

/* ---- Records ---- */

/* Sets the label of an address: the hash of its value. */
void address_label(struct build *b, const struct address *address, struct label *ret_label);

/* Adds an address at <name>/[<cluster>/]<label>, or below that at label_below. */
void naming_records_add_address(struct build *b, const char *label, const struct address *address,
                                const char *label_below);
/* Adds an address at <name>/<the address's label>. */
void add_hashed_address(struct build *b, const struct address *address, struct label *ret_label);
void naming_records_add_host(struct build *b, const char *host); /* adds the name itself */
/* Adds a host at <name>/<the hash of its value>. */
void naming_records_add_hashed_host(struct build *b, const char *host, struct label *ret_label);

/* Compares ports in the order in which add_srvs sorts those with one label. */
int compare_named_ports(const void *a, const void *b);

/* Sorts SRV records in the order in which they are added; sorted input costs least. */
void sort_srvs(struct srv *srvs, size_t count);

/* Adds one of the sorted SRV records. Of several with one key, the smallest number gets the plain
 * label. The target is the label below the name if is_headless, else the name. */
void add_sorted_srv(struct build *b, const struct srv *srvs, size_t count, size_t at,
                    bool is_headless);

/* Sorts and adds all, not headless ones. */
void add_srvs(struct build *b, struct srv *srvs, size_t count);

/* Adds a claim for the label's name; label NULL: for the name itself. rank: a Service's. */
void add_claim(struct build *b, const struct address *address, enum claim_rank rank,
               const char *label);

/* ---- naming_headless.c ---- */

/* Takes a headless Service's endpoints, or an import's, and adds their claims. */
int build_headless(struct build *b, const struct owner_objects *objects, struct err *err);

/* Adds records of the endpoints taken, as many as the budget allows. Returns whether that was
 * all. */
bool build_headless_go_on(struct build *b, size_t *budget);

/* Frees the endpoints that are left. */
void build_headless_free(struct build *b);

#endif
