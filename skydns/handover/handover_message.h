/* Makes and parses the messages of a handover (handover.h): each is one
 * datagram of a SOCK_SEQPACKET socket. Pure.
 *
 *     new skydns                          running skydns
 *     HELLO secret               ->
 *                                <-       SOCKETS, their codes, the descriptors beside them
 *                                <-       or REFUSED, why
 *     SERVING                    ->       answers no more, ends
 *                                <-       or REFUSED, at any time before
 *
 * Every message begins with "skydns" and the version of the protocol. One of another version is
 * refused: two versions that cannot talk leave the running one alone. */
#ifndef SKYDNS_HANDOVER_HANDOVER_MESSAGE_H
#define SKYDNS_HANDOVER_HANDOVER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/listen/passed_sockets.h"

enum {
    HANDOVER_SECRET_SIZE = 32,
    HANDOVER_MESSAGE_MAX = 8 + 1 + PASSED_SOCKETS_MAX,
};

/* Values that go over the socket: never change one. */
enum handover_type {
    HANDOVER_HELLO = 'H',
    HANDOVER_SOCKETS = 'S',
    HANDOVER_REFUSED = 'R',
    HANDOVER_SERVING = 'A',
};

enum handover_refusal {
    HANDOVER_REFUSED_USER = 1,
    HANDOVER_REFUSED_SECRET,
    HANDOVER_REFUSED_REPLACED, /* a later one joined */
    HANDOVER_REFUSED_LEAVING,  /* it has handed over already */
};

struct handover_message {
    enum handover_type type;
    union {
        uint8_t secret[HANDOVER_SECRET_SIZE]; /* HELLO */
        struct {
            size_t count;
            char codes[PASSED_SOCKETS_MAX];
        } sockets;                     /* SOCKETS */
        enum handover_refusal refusal; /* REFUSED */
    };
};

/* Writes the message; returns its length. */
size_t handover_message_write(const struct handover_message *message,
                              uint8_t out[HANDOVER_MESSAGE_MAX]);

/* Reads a message. Returns 0, or ERR_SYNTAX. */
int handover_message_read(struct slice bytes, struct handover_message *ret_message) MUST_CHECK;

/* Says in words why a start was refused. */
const char *handover_refusal_text(enum handover_refusal refusal);

#endif
