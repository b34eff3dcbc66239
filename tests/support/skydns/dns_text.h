/* A DNS message as text that a test can compare. Shares no code with what writes the messages, and
 * is strict: a name that points forward, a section that ends early, a byte too many are errors.
 *
 *     NOERROR qr aa rd ra
 *     ? web.default.svc.cluster.local. IN A
 *     = web.default.svc.cluster.local. 30 A 10.0.0.1
 *     ! cluster.local. 60 SOA ns.dns.cluster.local. ...      authority
 *     + web.default.svc.cluster.local. 30 A 10.0.0.1         additional
 *     edns 1232 do
 *
 * Records of a class other than IN have it in front of the type. */
#ifndef TESTS_SUPPORT_SKYDNS_DNS_TEXT_H
#define TESTS_SUPPORT_SKYDNS_DNS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Up to 4,096 records of a message, each a line. */
enum { DNS_TEXT_MAX = 1 << 20 };

/* `out` gets the text, or one line `malformed: ...`. Returns out. */
const char *dns_text(const uint8_t *wire, size_t len, char *out, size_t size);

/* The wire form of a type's name ("A", "TYPE65"); aborts on one it does not know. */
uint16_t dns_text_type(const char *name);

#endif
