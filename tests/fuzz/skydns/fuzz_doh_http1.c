/* Any bytes on a DNS-over-HTTP/1.1 connection: the replies are the same however the bytes are
 * split, with answers at once and with late ones in the wrong order; what is not yet taken and what
 * is kept stay within their limits. The first bytes of the input say where to split. Only 100
 * Continue depends on that, and is not compared: it is for a client that sent no body yet. */
#include "skydns/doh/doh.h"
#include "skydns/doh/doh_http1_internal.h"
#include "skydns/doh/doh_reply_internal.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/stream_host_fake.h"

enum { CUTS = 4, INPUT_MAX = 8192 };

static bool is_date(const uint8_t *at, size_t left)
{
    return left >= DOH_DATE_MAX - 1 && at[3] == ',' && memcmp(at + 26, "GMT", 3) == 0;
}

/* The second may change meanwhile. An echo may have such bytes, too, the same in every run; but not
 * a mere beginning, or it would hide that of the next reply. */
static void blank_dates(struct buf *out)
{
    static const char name[] = "\r\nDate: ";
    uint8_t *at = out->data;
    while (at && (at = memmem(at, out->len - (size_t)(at - out->data), name, sizeof(name) - 1))) {
        at += sizeof(name) - 1;
        size_t left = out->len - (size_t)(at - out->data);
        if (is_date(at, left)) {
            memset(at, ' ', DOH_DATE_MAX - 1);
        }
    }
}

static void cut_continues(struct buf *out)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const size_t len = sizeof(text) - 1;
    uint8_t *at = out->data;
    while (at && (at = memmem(at, out->len - (size_t)(at - out->data), text, len))) {
        memmove(at, at + len, out->len - len - (size_t)(at - out->data));
        out->len -= len;
    }
}

/* The longest query's reply is echoed: each request may have caused one. */
static void doh_http1_check_limits(const struct stream_host *host)
{
    size_t memory = host->protocol->memory(host->stream);
    assert(memory <= DOH_HELD_BYTES_MAX + 2 * 65536 + DOH_HELD_MAX * 128);
    assert(host->verdict == STREAM_ENDS || host->in.len <= STREAM_UNTAKEN_MAX);
}

static enum stream_take doh_http1_run(const uint8_t *bytes, size_t len, const uint8_t *cuts,
                                      enum fake_answers answers, struct buf *ret_out)
{
    struct stream_host host;
    fake_host_open(&host, &doh_protocol);
    host.answers = answers;
    for (int i = 0; cuts && i < CUTS && len > 0; i++) {
        size_t part = cuts[i] < len ? cuts[i] : len;
        fake_host_arrive(&host, bytes, part);
        doh_http1_check_limits(&host);
        bytes += part;
        len -= part;
    }
    fake_host_arrive(&host, bytes, len);
    doh_http1_check_limits(&host);
    for (size_t i = host.late; i-- > 0;) { /* the last first */
        fake_host_reply(&host, i, "late", 4);
    }
    assert(!host.has_more);
    enum stream_take verdict = host.verdict;
    *ret_out = host.out;
    host.out = (struct buf){0};
    fake_host_close(&host);
    blank_dates(ret_out);
    cut_continues(ret_out);
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CUTS || size > INPUT_MAX) {
        return 0;
    }
    const uint8_t *bytes = data + CUTS;
    size_t len = size - CUTS;
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    if (len >= sizeof(preface) - 1 && memcmp(bytes, preface, sizeof(preface) - 1) == 0) {
        return 0;
    }
    struct buf whole, split, late, late_split;
    enum stream_take verdict = doh_http1_run(bytes, len, NULL, FAKE_ECHO, &whole);
    assert(doh_http1_run(bytes, len, data, FAKE_ECHO, &split) == verdict);
    assert(doh_http1_run(bytes, len, NULL, FAKE_LATE, &late) == verdict);
    assert(doh_http1_run(bytes, len, data, FAKE_LATE, &late_split) == verdict);
    assert(slice_equal(buf_slice(&whole), buf_slice(&split)));
    assert(slice_equal(buf_slice(&late), buf_slice(&late_split)));
    buf_fini(&whole);
    buf_fini(&split);
    buf_fini(&late);
    buf_fini(&late_split);
    return 0;
}
