/* Prints a DNS message as text that a test can compare. Shares no code with the encoder, and is
 * strict: a name that points forward, a section that ends early and trailing bytes are errors.
 *
 *     NOERROR qr aa rd ra
 *     ? web.default.svc.cluster.local. IN A
 *     = web.default.svc.cluster.local. 30 A 10.0.0.1
 *     ! cluster.local. 60 SOA ns.dns.cluster.local. ...      authority
 *     + web.default.svc.cluster.local. 30 A 10.0.0.1         additional
 *     edns 1232 do
 *
 * A class other than IN is printed before the type. */
#ifndef TESTS_SUPPORT_SKYDNS_DNS_TEXT_H
#define TESTS_SUPPORT_SKYDNS_DNS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Up to 4,096 records, a line each. */
enum { DNS_TEXT_MAX = 1 << 20 };

/* Writes the text, or one line `malformed: ...`, to out. Returns out. */
const char *dns_text(const uint8_t *wire, size_t len, char *out, size_t size);

/* The number of a type's name ("A", "TYPE65"); aborts if unknown. */
uint16_t dns_text_type(const char *name);

#endif
