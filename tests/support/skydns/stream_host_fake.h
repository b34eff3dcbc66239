/* A connection for tests of stream protocols (stream_protocol.h): keeps what the protocol has not
 * taken, collects what it puts, and answers queries as the test wants. It defines the stream_host
 * functions, so a program includes it once and links no tcp_server. Failures end the program. */
#ifndef TESTS_SUPPORT_SKYDNS_STREAM_HOST_FAKE_H
#define TESTS_SUPPORT_SKYDNS_STREAM_HOST_FAKE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/streams/stream_protocol.h"
#include "skydns/wire/response.h"

enum { FAKE_LATE_MAX = 600 };

enum fake_answers {
    FAKE_ECHO, /* at once, the query with QR set */
    FAKE_LATE, /* not before fake_host_reply */
    FAKE_NONE, /* at once: there is none */
};

struct stream_host {
    const struct stream_protocol *protocol;
    void *stream;
    struct buf in, out;
    enum stream_take verdict; /* the last */
    size_t room;
    bool is_full; /* may not go on */
    enum fake_answers answers;
    const uint8_t *reply; /* instead of an echo, at once or late */
    size_t reply_len;
    size_t queries, late;
    uint64_t tags[FAKE_LATE_MAX]; /* of those late, in their order */
    struct buf query;             /* the last */
    bool has_more;                /* flush said so */
};

static void fake_host_open(struct stream_host *host, const struct stream_protocol *protocol)
{
    *host = (struct stream_host){.protocol = protocol, .room = SIZE_MAX};
    buf_init(&host->in, SIZE_MAX);
    buf_init(&host->out, SIZE_MAX);
    buf_init(&host->query, SIZE_MAX);
    host->stream = protocol->open(host);
    assert(host->stream);
}

static void fake_host_close(struct stream_host *host)
{
    host->protocol->close(host->stream);
    buf_fini(&host->in);
    buf_fini(&host->out);
    buf_fini(&host->query);
}

static void fake_host_flush(struct stream_host *host)
{
    host->has_more = host->protocol->flush && host->protocol->flush(host->stream);
    assert(!host->has_more || host->room < 128 * 1024); /* something holds it up */
}

/* Has the protocol take what it has not taken yet. */
static inline void fake_host_go_on(struct stream_host *host)
{
    size_t taken = 0;
    if (host->verdict == STREAM_ENDS || host->verdict == STREAM_BROKEN) {
        return;
    }
    /* A block of exactly the size, so that a sanitizer catches reads past the end. */
    uint8_t *bytes = malloc(host->in.len + 1);
    assert(bytes);
    memcpy(bytes + 1, host->in.len ? host->in.data : (const uint8_t *)"", host->in.len);
    host->verdict = host->protocol->take(host->stream, bytes + 1, host->in.len, &taken);
    free(bytes);
    assert(taken <= host->in.len);
    buf_consume(&host->in, taken);
    assert(host->verdict != STREAM_PAUSED || host->is_full);
    assert(host->verdict != STREAM_WAITS || host->in.len <= STREAM_UNTAKEN_MAX);
    fake_host_flush(host);
}

static inline void fake_host_arrive(struct stream_host *host, const void *bytes, size_t len)
{
    buf_append(&host->in, bytes, len);
    fake_host_go_on(host);
}

/* These bytes as the answer, which are only read: those of a query or response, or any others. */
static void fake_host_pass(struct stream_host *host, uint64_t tag, const void *reply, size_t len)
{
    struct response response = {.len = len};
    struct reader r = reader_of(reply, len);
    struct dname name;
    memcpy(&response.bytes, &reply, sizeof(reply));
    reader_seek(&r, DNS_HEADER_SIZE);
    if (!r.failed && response.bytes[5] == 1 && dname_read(&r, &name)) {
        response.name_len = name.len;
    }
    host->protocol->reply(host->stream, tag, &response);
}

/* The late answer to the query with this number, from 0; `len` 0: none. */
static inline void fake_host_reply(struct stream_host *host, size_t number, const void *reply,
                                   size_t len)
{
    assert(number < host->late);
    fake_host_pass(host, host->tags[number], reply, len);
    fake_host_flush(host);
}

void stream_host_query(struct stream_host *host, uint64_t tag, const uint8_t *wire, size_t len)
{
    assert(len > 0 && len <= 65535);
    host->queries++;
    buf_clear(&host->query);
    buf_append(&host->query, wire, len);
    if (host->answers == FAKE_LATE) {
        assert(host->late < FAKE_LATE_MAX);
        host->tags[host->late++] = tag;
    } else if (host->answers == FAKE_NONE) {
        fake_host_pass(host, tag, NULL, 0);
    } else if (host->reply) {
        fake_host_pass(host, tag, host->reply, host->reply_len);
    } else {
        uint8_t *echo = malloc(len);
        assert(echo && len > 2);
        memcpy(echo, wire, len);
        echo[2] |= 0x80;
        fake_host_pass(host, tag, echo, len);
        free(echo);
    }
}

bool stream_host_may_go_on(const struct stream_host *host)
{
    return !host->is_full;
}

void stream_host_put(struct stream_host *host, const void *bytes, size_t len)
{
    assert(len <= host->room);
    host->room -= len;
    buf_append(&host->out, bytes, len);
}

size_t stream_host_room(const struct stream_host *host)
{
    return host->room;
}

#endif
