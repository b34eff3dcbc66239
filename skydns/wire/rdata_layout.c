#include "skydns/wire/rdata_layout.h"

#include "common/dns/dns.h"

enum { SOA_REST = 20, SIGNATURE_HEAD = 18 };

const struct rdata_layout rdata_layouts[RDATA_LAYOUT_TYPES] = {
    [DNS_TYPE_NS] = {.names = 1, .is_compressible = true},
    [3 /* MD */] = {.names = 1, .is_compressible = true},
    [4 /* MF */] = {.names = 1, .is_compressible = true},
    [DNS_TYPE_CNAME] = {.names = 1, .is_compressible = true},
    [DNS_TYPE_SOA] = {.names = 2, .rest = SOA_REST, .is_compressible = true},
    [7 /* MB */] = {.names = 1, .is_compressible = true},
    [8 /* MG */] = {.names = 1, .is_compressible = true},
    [9 /* MR */] = {.names = 1, .is_compressible = true},
    [DNS_TYPE_PTR] = {.names = 1, .is_compressible = true},
    [14 /* MINFO */] = {.names = 2, .is_compressible = true},
    [DNS_TYPE_MX] = {.head = 2, .names = 1, .is_compressible = true},
    [17 /* RP */] = {.names = 2},
    [18 /* AFSDB */] = {.head = 2, .names = 1},
    [21 /* RT */] = {.head = 2, .names = 1},
    [24 /* SIG */] = {.head = SIGNATURE_HEAD, .names = 1, .rest = RDATA_REST_ANY},
    [26 /* PX */] = {.head = 2, .names = 2},
    [30 /* NXT */] = {.names = 1, .rest = RDATA_REST_ANY},
    [DNS_TYPE_SRV] = {.head = 6, .names = 1},
    [DNS_TYPE_NAPTR] = {.head = 4, .strings = 3, .names = 1},
    [36 /* KX */] = {.head = 2, .names = 1},
    [39 /* DNAME */] = {.names = 1},
    [DNS_TYPE_RRSIG] = {.head = SIGNATURE_HEAD, .names = 1, .rest = RDATA_REST_ANY},
    [DNS_TYPE_NSEC] = {.names = 1, .rest = RDATA_REST_ANY},
};
