/* The upstream of a recording: a response to any query, as the plan's script says. Pure; knows DNS,
 * and nothing of the program. */
#ifndef TESTS_RECORDED_SCRIPT_H
#define TESTS_RECORDED_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers stand in plans (plan.py). */
enum script {
    SCRIPT_GOOD,      /* some records of the type, for 300 s; AD where DO was set */
    SCRIPT_SHORT,     /* one for a second: stale soon */
    SCRIPT_TRUNCATED, /* TC over UDP, then good over TCP */
    SCRIPT_CUT,       /* TC over TCP, too */
    SCRIPT_NXDOMAIN,  /* with a SOA */
    SCRIPT_NODATA,    /* the same */
    SCRIPT_SERVFAIL,
    SCRIPT_SILENT,
    SCRIPT_LONG,      /* 4,000 addresses, over TCP */
    SCRIPT_INTO_OURS, /* a CNAME to web.default.svc.cluster.local */
    SCRIPT_CHAIN,     /* three CNAMEs, then an address */
    SCRIPT_STRANGE,   /* the records of another name, too, and capitals changed */
    SCRIPT_BROKEN,    /* ends within a record */
    SCRIPT_SIGNED,    /* an address made from a signed wildcard, and that nothing else is there */
    SCRIPT_DNAME,     /* a DNAME of the name above, and the CNAME made from it */
    SCRIPT_REFERRAL,  /* to another upstream */
    SCRIPT_COUNT
};

/* Writes the response, at most 65,535 bytes, with the query's own OPT record; returns its length,
 * 0: none. */
size_t script_respond(enum script script, const uint8_t *query, size_t len, bool is_tcp,
                      uint8_t *response);

#endif
