/* A nameserver's reply from text, in the language of dns_text.h:
 *
 *     NXDOMAIN qr rd ra ad
 *     ? www.test. IN A
 *     = www.test. 300 CNAME web.test.
 *     ! test. 60 SOA ns.test. admin.test. 1 2 3 4 300
 *     + ns.test. 60 A 10.0.0.1
 *
 * RRSIG is `COVERED LABELS SIGNER`, NSEC the next name, NSEC3 and TXT a word without spaces. `tc`,
 * `aa` and so on as there; `class=N` before a record's type gives it another class. Names are
 * compressed as far as earlier ones allow, in the data of every type, too: as a careless nameserver
 * does. Aborts on text that it does not understand. */
#ifndef TESTS_SUPPORT_SKYDNS_FOREIGN_REPLY_H
#define TESTS_SUPPORT_SKYDNS_FOREIGN_REPLY_H

#include <stdint.h>

#include "common/base/addr.h"
#include "skydns/external/cache.h"

struct external_reply {
    size_t len;
    uint8_t wire[65535];
};

void external_reply_make(struct external_reply *reply, const char *text);

/* Class IN, zone serial 1: "www.test. A", perhaps followed by ` do` and ` cd`. */
struct cache_key others_key(const char *text);

/* 192.0.2.53:53 */
struct addr external_nameserver(void);

/* Returns, as dns_text, what a client that queries with this key's name gets. `records` are those
 * of a hit. It is out. */
const char *external_text(const struct cache_key *key, const struct cache_hit *hit,
                          const uint8_t *records, char *out, size_t size);

#endif
