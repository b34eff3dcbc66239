/* The HTTP/1.1 of a DNS query over HTTPS (RFC 8484): writes the POST, and reads the reply as its
 * bytes come. For tls_query.c. Pure; the reply's bytes are untrusted. */
#ifndef EXECHEALTHZ_DOH_MESSAGE_H
#define EXECHEALTHZ_DOH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "exechealthz/dns_target.h"

enum {
    /* As most servers allow for a request's head; also for the sizes and trailers of chunks. */
    DOH_HEAD_MAX = 8192,
    DOH_BODY_MAX = 65535, /* a DNS message */
};

/* Asks for the connection's end behind the reply. */
void doh_request_write(const struct dns_target *target, struct slice query, struct buf *out);

/* ---- The reply ---- */

enum doh_part {
    DOH_STATUS,
    DOH_HEADERS,
    DOH_BODY,           /* of known length */
    DOH_BODY_UNTIL_END, /* of the connection */
    DOH_CHUNK_SIZE,
    DOH_CHUNK,
    DOH_CHUNK_END,
    DOH_TRAILERS,
    DOH_DONE,
};

struct doh_reply {
    enum doh_part part; /* being read */
    struct buf line;    /* the unfinished one */
    size_t head_len;    /* bytes of lines so far */
    unsigned status;
    bool is_dns; /* the content type */
    bool is_chunked;
    bool has_length;
    size_t left; /* of the body or chunk */
    struct buf body;
};

void doh_reply_init(struct doh_reply *reply);
void doh_reply_fini(struct doh_reply *reply);

/* Adds bytes. With DOH_DONE body is complete, and what follows is ignored. ERR_REFUSED for another
 * status or content type than those of an answer, ERR_PROTOCOL for what is no HTTP, ERR_TOO_LARGE;
 * after an error, only fini. */
int doh_reply_add(struct doh_reply *reply, struct slice bytes, struct err *err) MUST_CHECK;

/* The peer has closed its side. ERR_PROTOCOL unless the reply is complete. */
int doh_reply_end(struct doh_reply *reply, struct err *err) MUST_CHECK;

#endif
