/* Makes of the reply about another name the reply to the client's question: the client's name is an
 * alias of that one.
 *
 *     ;; example.com. A                        ;; example.com.default.svc.cluster.local. A
 *     example.com. 60 A 192.0.2.1        -->   example.com.default.svc... 60 CNAME example.com.
 *                                              example.com. 60 A 192.0.2.1
 *
 * The message grows by RELOCATE_ROOM; its compression pointers move with what they point to, those
 * into the question go to the CNAME's data. Pure; any thread. Reads every byte at most once. */
#ifndef SKYDNS_ANSWER_RELOCATE_H
#define SKYDNS_ANSWER_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* Bytes that a reply grows by when a question's name of this length takes the place of its own,
 * however long that is: the names' difference, and a CNAME (a pointer, 10 bytes, its own name). */
#define RELOCATE_ROOM(name_len) ((size_t)(name_len) + 12)

/* In place: `reply` has one question, uncompressed, and `len` bytes in a buffer of `cap`; `name` is
 * the client's, in wire form. The CNAME's TTL is the smallest of the answers' and of the SOA's, the
 * latter as of a denial (RFC 2308 5); 0 without both. AD is cleared: nobody signed the CNAME. The
 * other flags stay. Returns the length; 0, and the reply is spoilt: it does not fit, a pointer
 * would lie beyond its 14 bits, or the message is not well-formed: a pointer that leads elsewhere
 * than to an earlier name, data of a type with names that has none, an extended rcode. */
size_t relocate(uint8_t *reply, size_t len, size_t cap, struct slice name);

#endif
