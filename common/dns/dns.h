/* The DNS protocol's numbers that this project uses. Sources: RFC 1035 (unless noted),
 * and IANA's "Domain Name System (DNS) Parameters". */
#ifndef COMMON_DNS_DNS_H
#define COMMON_DNS_DNS_H

#include <stdbool.h>

#include "common/dns/rr_types.h"

enum {
    DNS_HEADER_SIZE = 12,
    DNS_QUESTION_TAIL = 4,     /* type, class: behind a question's name, 4.1.2 */
    DNS_RR_HEAD = 10,          /* type, class, TTL, length: behind a record's owner, 4.1.3 */
    DNS_UDP_SIZE = 512,        /* a client's limit without EDNS, 4.2.1 */
    DNS_MESSAGE_MAX = 65535,   /* the length over TCP has 16 bits, 4.2.2 */
    DNS_POINTER_MAX = 0x3fff,  /* last offset a compression pointer can reach, 4.1.4 */
    DNS_CHARACTER_STRING = 255 /* the longest <character-string>, 3.3 */
};

/* Names the bits of the header's flags word, 4.1.1. */
enum dns_flag {
    DNS_FLAG_QR = 0x8000,
    DNS_FLAG_AA = 0x0400,
    DNS_FLAG_TC = 0x0200,
    DNS_FLAG_RD = 0x0100,
    DNS_FLAG_RA = 0x0080,
    DNS_FLAG_AD = 0x0020,     /* RFC 4035 3.2.3 */
    DNS_FLAG_CD = 0x0010,     /* RFC 4035 3.2.2 */
    DNS_MASK_OPCODE = 0x7800, /* shifted by 11 */
    DNS_MASK_RCODE = 0x000f,
};

enum dns_opcode { DNS_OPCODE_QUERY = 0 };

enum dns_rcode {
    DNS_RCODE_NOERROR = 0,
    DNS_RCODE_FORMERR = 1,
    DNS_RCODE_SERVFAIL = 2,
    DNS_RCODE_NXDOMAIN = 3,
    DNS_RCODE_NOTIMP = 4,
    DNS_RCODE_REFUSED = 5,
    DNS_RCODE_NOTAUTH = 9,    /* RFC 8945: for a signature (TSIG) */
    DNS_RCODE_BADVERS = 16,   /* RFC 6891; upper bits in the OPT record */
    DNS_RCODE_BADCOOKIE = 23, /* RFC 7873; likewise */
};

enum dns_type {
    DNS_TYPE_NSEC3 = 50, /* RFC 5155; in proofs, never ours */
    /* Belong to messages, or to questions that ask for more than records: RFC 6895 3.1. */
    DNS_TYPE_OPT = 41,         /* RFC 6891 */
    DNS_TYPE_META_FIRST = 128, /* to 255, ANY */
    DNS_TYPE_TKEY = 249,       /* RFC 2930 */
    DNS_TYPE_TSIG = 250,       /* RFC 8945 */
    DNS_TYPE_IXFR = 251,       /* RFC 1995 */
    DNS_TYPE_MAILB = 253,      /* RFC 1035; obsolete */
    DNS_TYPE_MAILA = 254,
#define DNS_TYPE_ENUMERATOR(name, number, shape, answer, text) DNS_TYPE_##name = (number),
    RR_TYPES(DNS_TYPE_ENUMERATOR) RR_OTHER_TYPES(DNS_TYPE_ENUMERATOR)
#undef DNS_TYPE_ENUMERATOR
};

/* Returns whether no record has this type, whatever its name; ANY apart, which is no type of its
 * own. */
static inline bool dns_type_is_meta(unsigned type)
{
    return type == DNS_TYPE_OPT || (type >= DNS_TYPE_META_FIRST && type < DNS_TYPE_ANY);
}

enum dns_class {
    DNS_CLASS_IN = 1,
    DNS_CLASS_CH = 3,
    DNS_CLASS_ANY = 255, /* in a question: RFC 1035 3.2.5 */
};

/* Asks for DNSSEC records: a bit in the flags half of an OPT record's TTL field, RFC 3225. */
enum { DNS_EDNS_DO = 0x8000 };

#endif
