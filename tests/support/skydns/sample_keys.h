/* Pairs of key files as dnssec-keygen (BIND 9.18) and ldns-keygen (1.8) wrote them, and their DS
 * records as dnssec-dsfromkey -2 did. For tests; nothing is signed with them elsewhere. */
#ifndef TESTS_SUPPORT_SKYDNS_SAMPLE_KEYS_H
#define TESTS_SUPPORT_SKYDNS_SAMPLE_KEYS_H

#include "skydns/dnssec/signing_key.h"

enum sample_key_name {
    SAMPLE_ECDSAP256_KSK,     /* 13, cluster.local, SEP */
    SAMPLE_ECDSAP256_ZSK,     /* 13, cluster.local, TTL 300 */
    SAMPLE_ECDSAP384,         /* 14, Cluster.Local, SEP */
    SAMPLE_ED25519,           /* 15, cluster.local, TTL 3600 */
    SAMPLE_RSASHA256,         /* 8, 2048 bits, skydns.local, SEP, TTL 60 */
    SAMPLE_RSASHA256_4096,    /* 8, 4096 bits, skydns.local */
    SAMPLE_RSASHA512,         /* 10, 1024 bits, skydns.local */
    SAMPLE_RSASHA1,           /* 5, 1024 bits, skydns.local */
    SAMPLE_NSEC3RSASHA1,      /* 7, 1024 bits, skydns.local, SEP */
    SAMPLE_LDNS_ECDSAP256,    /* 13, cluster.local */
    SAMPLE_LDNS_ECDSAP384,    /* 14, cluster.local, SEP */
    SAMPLE_LDNS_ED25519,      /* 15, cluster.local, SEP */
    SAMPLE_LDNS_RSASHA256,    /* 8, 1024 bits, cluster.local */
    SAMPLE_LDNS_RSASHA512,    /* 10, 1024 bits, 10.in-addr.arpa */
    SAMPLE_LDNS_RSASHA1,      /* 5, 1024 bits, cluster.local */
    SAMPLE_LDNS_NSEC3RSASHA1, /* 7, 1024 bits, cluster.local */
    SAMPLE_KEYS,
};

struct sample_key {
    const char *base; /* of both files' names */
    const char *public_text, *private_text;
    const char *ds;
};

extern const struct sample_key sample_keys[SAMPLE_KEYS];

/* For signing_key_free; aborts on errors. */
struct signing_key *sample_key_new(enum sample_key_name name);

#endif
