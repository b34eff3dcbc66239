/* The one table of record types: name, data, text form, and the part of the answer code for each.
 *
 * That part gives a name's records of the type. A new type is a row here, and one more function
 * there if its records come from what no other type has. */
#ifndef COMMON_DNS_RR_TYPES_H
#define COMMON_DNS_RR_TYPES_H

/* Describes a type's data, in struct rr (skydns/records/rr.h) and on the wire. */
enum rr_shape {
    RR_SHAPE_BYTES, /* as on the wire: without names */
    RR_SHAPE_TEXT,  /* strings, in struct rr one text that is not split (RFC 1035 3.3.14) */
    RR_SHAPE_NAMED, /* a name */
    RR_SHAPE_PREFERENCE_NAMED, /* a number before it (RFC 1035 3.3.9) */
    RR_SHAPE_SERVICE_NAMED,    /* three, and the name is never compressed (RFC 2782) */
    RR_SHAPE_ZONE,             /* two names and five numbers: the answer's own, it has one SOA */
};

/* Name, number, shape, the function of skydns/answer/answer_types.c behind `answer_`, and the
 * presentation form, which skydns/wire/rr_text.c reads: a letter for each field,
 *
 *     4 6    an address        b h w  a number of 8, 16 or 32 bits     n  a name
 *     s      a string, quoted  S      one or more of them              x  all the rest, in hex
 *     t      a word of letters and digits behind its length            q  all the rest, quoted
 *
 * or "" for that of RFC 3597. */

/* Types that our names have. */
#define RR_TYPES(X)                                                  \
    X(A, 1, BYTES, address, "4")                                     \
    X(NS, 2, NAMED, ns, "n")                                         \
    X(CNAME, 5, NAMED, cname, "n")                                   \
    X(SOA, 6, ZONE, soa, "nnwwwww")                                  \
    X(PTR, 12, NAMED, other, "n") /* answer_reverse.c comes first */ \
    X(MX, 15, PREFERENCE_NAMED, mx, "hn")                            \
    X(TXT, 16, TEXT, txt, "S")                                       \
    X(AAAA, 28, BYTES, address, "6")       /* RFC 3596 */            \
    X(SRV, 33, SERVICE_NAMED, srv, "hhhn") /* RFC 2782 */

/* Those that upstreams have, that come from keys or from a record's `rr`, or that are questions.
 * The name in NSEC and in RRSIG is no name to compress or to lower (RFC 4034 3.1.7, 4.1.1). */
#define RR_OTHER_TYPES(X)                                                                     \
    X(HINFO, 13, BYTES, nothing, "ss")     /* our answer to ANY */                            \
    X(NAPTR, 35, BYTES, nothing, "hhsssn") /* RFC 3403 */                                     \
    X(DNAME, 39, BYTES, nothing, "n")      /* RFC 6672 */                                     \
    X(DS, 43, BYTES, nothing, "hbbx")      /* RFC 4034 */                                     \
    X(RRSIG, 46, BYTES, nothing, "")       /* RFC 4034 */                                     \
    X(NSEC, 47, BYTES, nothing, "")        /* RFC 4034 */                                     \
    X(DNSKEY, 48, BYTES, nothing, "")      /* RFC 4034 */                                     \
    X(CDS, 59, BYTES, nothing, "hbbx")     /* RFC 7344 */                                     \
    X(CDNSKEY, 60, BYTES, nothing, "")     /* RFC 7344 */                                     \
    X(SVCB, 64, BYTES, nothing, "") /* RFC 9460; browsers ask for these two, few have them */ \
    X(HTTPS, 65, BYTES, nothing, "")                                                          \
    X(AXFR, 252, BYTES, nothing, "")                                                          \
    X(ANY, 255, BYTES, nothing, "")                                                           \
    X(CAA, 257, BYTES, nothing, "btq") /* RFC 8659 */

#endif
