/* A stream protocol's connection whose client speaks HTTP/2 (stream_host_fake.h, h2_bytes.h): sends
 * requests and keeps the replies, for tests of DNS over HTTP/2 and gRPC. */
#ifndef TESTS_SUPPORT_SKYDNS_H2_HOST_H
#define TESTS_SUPPORT_SKYDNS_H2_HOST_H

#include "common/base/xalloc.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/h2_replies.h"
#include "tests/support/skydns/stream_host_fake.h"

struct bed {
    struct stream_host host;
    struct buf bytes; /* to arrive */
    struct h2_replies got;
    uint32_t last_stream;
};

/* For UNIT_TEST_IN's set-up, with the protocol; the preface is to arrive with the first request. */
static int h2_host_open(void **state, const struct stream_protocol *protocol)
{
    struct bed *bed = xcalloc(1, sizeof(*bed));
    fake_host_open(&bed->host, protocol);
    buf_init(&bed->bytes, SIZE_MAX);
    h2_replies_init(&bed->got);
    buf_append_str(&bed->bytes, H2_PREFACE);
    h2_frame(&bed->bytes, H2_SETTINGS, 0, 0, slice_of(NULL, 0));
    *state = bed;
    return 0;
}

static int h2_host_close(void **state)
{
    struct bed *bed = *state;
    fake_host_close(&bed->host);
    buf_fini(&bed->bytes);
    h2_replies_fini(&bed->got);
    free(bed);
    return 0;
}

static void h2_host_arrive(struct bed *bed)
{
    fake_host_arrive(&bed->host, bed->bytes.data, bed->bytes.len);
    buf_clear(&bed->bytes);
    h2_replies_take(&bed->got, &bed->host.out);
}

/* Adds a request without a body, or with one, to what is to arrive. Returns its stream. */
static uint32_t h2_host_add(struct bed *bed, const char *lines, struct slice body)
{
    uint32_t stream = bed->last_stream += bed->last_stream ? 2 : 1;
    h2_headers(&bed->bytes, body.ptr ? 0 : H2_END_STREAM, stream, lines);
    if (body.ptr) {
        h2_frame(&bed->bytes, H2_DATA, H2_END_STREAM, stream, body);
    }
    return stream;
}

static const struct h2_reply *h2_host_ask(struct bed *bed, const char *lines, struct slice body)
{
    uint32_t stream = h2_host_add(bed, lines, body);
    h2_host_arrive(bed);
    return h2_replies_find(&bed->got, stream);
}

#endif
