/* Writes a dnstap message, a protocol buffer (proto/dnstap.proto), into the queue that it is sent
 * from: no allocation, one pass. Pure. */
#ifndef SKYDNS_DNSTAP_DNSTAP_FRAME_INTERNAL_H
#define SKYDNS_DNSTAP_DNSTAP_FRAME_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/dnstap/dnstap_event.h"

enum {
    /* Room beside the message, the zone, `extra` and the head: fields of fixed or bounded sizes,
     * 110 bytes. */
    DNSTAP_FRAME_FIELDS_MAX = 128,
    DNSTAP_HEAD_TEXT_MAX = 255, /* as a host name has; of identity and version each */
    DNSTAP_HEAD_MAX = 2 * (DNSTAP_HEAD_TEXT_MAX + 3),
};

/* Bytes that begin every message: the identity and the version, cut after DNSTAP_HEAD_TEXT_MAX. */
struct dnstap_head {
    size_t len;
    uint8_t bytes[DNSTAP_HEAD_MAX];
};

void dnstap_head_init(struct dnstap_head *head, struct slice identity, struct slice version);

/* Returns an upper bound of what dnstap_frame_write writes. */
size_t dnstap_frame_max(const struct dnstap_head *head, const struct dnstap_event *event);

/* Returns how much it wrote; out has dnstap_frame_max bytes. A message has at most 64 KiB. */
size_t dnstap_frame_write(const struct dnstap_head *head, const struct dnstap_event *event,
                          uint8_t *out);

#endif
