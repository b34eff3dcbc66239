/* Counts the records at and below a node that each type of question needs. Each branch of a node's
 * children has its counts (label_map_internal.h). So a name without data costs its depth and not
 * its records, and some of many addresses are found without visiting the others (store_pick.h).
 * Hidden children do not count (store.h). Any thread with the version. */
#ifndef SKYDNS_RECORDS_STORE_TALLY_H
#define SKYDNS_RECORDS_STORE_TALLY_H

#include <stdint.h>

struct store_node;
struct store_record;

struct store_tally {
    uint32_t v4, v6; /* the host is an address */
    uint32_t names;  /* the host is a name */
    uint32_t texts;
    uint32_t mails; /* and have a host */
    uint32_t groups;
    uint32_t rrs; /* with records of any type */
};

/* Returns the counts of one record. */
struct store_tally store_record_tally(const struct store_record *record);

/* Returns the node's counts. Costs no more than the depth of the nodes below, however many records
 * there are. */
struct store_tally store_node_tally(const struct store_node *node);

static inline void store_tally_add(struct store_tally *tally, const struct store_tally *more)
{
    tally->v4 += more->v4;
    tally->v6 += more->v6;
    tally->names += more->names;
    tally->texts += more->texts;
    tally->mails += more->mails;
    tally->groups += more->groups;
    tally->rrs += more->rrs;
}

/* Subtracts counts. A change may be negative: it wraps around, and so does adding it. */
static inline void store_tally_subtract(struct store_tally *tally, const struct store_tally *less)
{
    tally->v4 -= less->v4;
    tally->v6 -= less->v6;
    tally->names -= less->names;
    tally->texts -= less->texts;
    tally->mails -= less->mails;
    tally->groups -= less->groups;
    tally->rrs -= less->rrs;
}

static inline uint32_t store_tally_of_family(const struct store_tally *tally, unsigned family_bytes)
{
    return family_bytes == 4 ? tally->v4 : tally->v6;
}

#endif
