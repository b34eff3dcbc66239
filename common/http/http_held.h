/* Holds responses that come later, or in parts as things happen: /wait, /watch, and /live.
 *
 * A handler holds its response with http_holder_reply. The socket then leaves its server's table of
 * connections, so that no response held takes the place of a probe's connection, or counts against
 * its client's there. Each holder has limits of its own. The connection ends with the response.
 *
 * Whatever the socket does not accept waits here, within the holder's bytes, an eighth of them for
 * one client (client_net.h). Bytes that a client sends are discarded; after 64 KiB it is gone. A
 * response that has ended and is not read is dropped after 10 s.
 *
 * Loop's thread only, as the servers that give it sockets; it outlives them. */
#ifndef COMMON_HTTP_HTTP_HELD_H
#define COMMON_HTTP_HTTP_HELD_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/slice.h"

struct http_held;
struct http_holder;
struct http_reply;
struct http_request;

struct http_holder_config {
    struct ev_loop *loop;
    size_t max;        /* responses held at once */
    size_t client_max; /* of one client */
    size_t unsent_max; /* bytes that wait to be sent, of all */
    int socket_bytes;  /* for SO_SNDBUF; 0: the kernel's default */
    const char *full;  /* the line of the 503 when `max` are held; constant, as the next one */
    const char *client_full; /* likewise, when the client has its share */
    /* Reports that the client has gone: the response is freed when this returns. Not called after
     * http_held_end. */
    void (*gone)(void *item);
    /* Reports that everything is sent, after something had to wait. May be NULL. */
    void (*drained)(void *item);
};

/* Copies config. */
struct http_holder *http_holder_new(const struct http_holder_config *config);

/* Drops all responses, and calls `gone` for those that have not ended; free the servers first. NULL
 * is fine. */
void http_holder_free(struct http_holder *holder);

size_t http_holder_count(const struct http_holder *holder);      /* returns the responses held */
uint64_t http_holder_refusals(const struct http_holder *holder); /* and those without room */

/* Holds the response of a handler, which returns right after it and leaves the reply as it is. The
 * item is passed to the callbacks. NULL: there is no room, and the reply is a 503 with
 * Retry-After. */
struct http_held *http_holder_reply(struct http_holder *holder, const struct http_request *request,
                                    struct http_reply *reply, void *item) MUST_CHECK;

/* Returns one of the responses held; the last one moves to the place of one that is freed. */
struct http_held *http_holder_at(const struct http_holder *holder, size_t i);

/* Returns whether a response is of this client. */
bool http_held_is_of(const struct http_held *held, const struct ip *client);

/* Returns how many responses its client holds. */
size_t http_held_client_count(const struct http_held *held);

/* Begins the response with its head. Its body lasts until http_held_end. Type and fields as in
 * struct http_reply. */
void http_held_begin(struct http_held *held, const char *content_type, const char *fields);

/* Sends more of the body. False: there is no room for what would wait; nothing is sent. */
bool http_held_write(struct http_held *held, struct slice bytes) MUST_CHECK;

/* Returns how long a part has waited to be sent; -1: all is sent. */
int64_t http_held_waits_ms(const struct http_held *held);

/* Drops the response, and calls `gone`. */
void http_held_drop(struct http_held *held);

/* Ends the response with this last part, whatever waits; at most HTTP_HELD_LAST_MAX bytes. The item
 * is not used any more, nor is `held`. */
enum { HTTP_HELD_LAST_MAX = 4096 };
void http_held_end(struct http_held *held, struct slice last);

/* Sends a whole response, and ends it; without the body for HEAD. At most `unsent_max` bytes, or
 * HTTP_HELD_LAST_MAX with 1 KiB of head if that is more. */
void http_held_answer(struct http_held *held, int status, const char *content_type,
                      const char *fields, struct slice body);

#endif
