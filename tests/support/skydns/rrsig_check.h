/* Judges RRSIGs as a validator does, with libcrypto, by the text of RFC 4034 3 and 6, RFC 4035 5.3,
 * RFC 3110, RFC 6605 and RFC 8080; nothing of it comes from the code that signs. For tests and fuzz
 * targets; any thread. */
#ifndef TESTS_SUPPORT_SKYDNS_RRSIG_CHECK_H
#define TESTS_SUPPORT_SKYDNS_RRSIG_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* An RRset as a message has it, class IN; names whole, those in data in lower case. */
struct rrsig_records {
    struct slice owner; /* wire form, any case */
    uint16_t type;
    uint32_t ttl_s;
    size_t count;
    const struct slice *rdata; /* in any order, even repeated */
};

/* Returns what is wrong with the RRSIG's data, with the data of a DNSKEY of `zone` (wire form): a
 * constant. NULL: it proves the records at now_s. A wildcard's expansion counts as wrong: skydns
 * has none. */
const char *rrsig_fault(struct slice rrsig, struct slice dnskey, struct slice zone,
                        const struct rrsig_records *records, int64_t now_s);

/* RFC 4034 appendix B. */
uint16_t rrsig_key_tag(struct slice dnskey);

/* Whether the data, signed with the key of this DNSKEY, has this signature, as an RRSIG has it. */
bool rrsig_key_verifies(struct slice dnskey, struct slice data, struct slice signature);

#endif
