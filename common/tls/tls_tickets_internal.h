/* The keys of session tickets: AES-256-CBC and HMAC-SHA256 (RFC 5077 4). One set serves all
 * contexts of a server, old ones, too. Keys are wiped when they are replaced, and at the end. */
#ifndef COMMON_TLS_TLS_TICKETS_INTERNAL_H
#define COMMON_TLS_TLS_TICKETS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/tls/tls_server.h"

struct ssl_ctx_st;
struct tls_tickets;

struct tls_ticket_key {
    uint8_t name[16]; /* in the clear in each ticket */
    uint8_t hmac[32];
    uint8_t aes[32];
};
_Static_assert(sizeof(struct tls_ticket_key) == TLS_TICKET_KEY_BYTES, "no padding");

struct tls_ticket_keys {
    struct tls_ticket_key items[TLS_TICKET_KEYS_MAX]; /* the first makes tickets */
    size_t count;
};

/* Reads a key a line, 160 hex digits; empty lines and those that begin with # do not count. Errors
 * name file and line, never the content. Fills in nothing on failure. */
int tls_ticket_keys_read(const char *path, struct tls_ticket_keys *ret_keys,
                         struct err *err) MUST_CHECK;
void tls_ticket_keys_wipe(struct tls_ticket_keys *keys);

/* Creates a set with one random key. */
struct tls_tickets *tls_tickets_new(void);
void tls_tickets_free(struct tls_tickets *tickets); /* counts references; NULL is fine */

/* Replaces the keys, and wipes the old ones. */
void tls_tickets_set(struct tls_tickets *tickets, const struct tls_ticket_keys *keys);

/* Makes a new random key for tickets; only the previous one is accepted besides. */
void tls_tickets_renew(struct tls_tickets *tickets);

/* Makes the context issue and accept tickets with these keys from now on; it holds a reference. */
void tls_tickets_serve(struct tls_tickets *tickets, struct ssl_ctx_st *context);

#endif
