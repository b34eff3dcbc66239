#include "skydns/dnstap/dnstap_frame_internal.h"

#include <string.h>

#include "common/base/attributes.h"

enum { NS_PER_S = 1000000000 };

/* Wire types of protobuf fields: with the field's number, they make its tag. */
enum wire { VARINT = 0, BYTES = 2, FIXED32 = 5 };
#define TAG(number, wire) (uint8_t)((number) << 3 | (wire))

/* Numbers of proto/dnstap.proto. */
enum {
    DNSTAP_IDENTITY = 1,
    DNSTAP_VERSION = 2,
    DNSTAP_EXTRA = 3,
    DNSTAP_MESSAGE = 14,
    DNSTAP_TYPE = 15,
};
enum { TYPE_MESSAGE = 1, FAMILY_INET = 1, FAMILY_INET6 = 2 };
enum {
    MESSAGE_TYPE = 1,
    SOCKET_FAMILY = 2,
    SOCKET_PROTOCOL = 3,
    QUERY_ADDRESS = 4,
    RESPONSE_ADDRESS = 5,
    QUERY_PORT = 6,
    RESPONSE_PORT = 7,
    QUERY_TIME_S = 8,
    QUERY_TIME_NS = 9,
    QUERY_MESSAGE = 10,
    QUERY_ZONE = 11,
    RESPONSE_TIME_S = 12,
    RESPONSE_TIME_NS = 13,
    RESPONSE_MESSAGE = 14,
};

/* Size of the message's length, known once the message is written: a varint of three bytes has room
 * for it, and may have leading zeros. */
enum { LENGTH_BYTES = 3 };

static uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *dnstap_frame_put_number(uint8_t *out, unsigned field, uint64_t value)
{
    *out++ = TAG(field, VARINT);
    return put_varint(out, value);
}

static uint8_t *put_bytes(uint8_t *out, unsigned field, const void *bytes, size_t len)
{
    *out++ = TAG(field, BYTES);
    out = put_varint(out, len);
    if (len > 0) {
        memcpy(out, bytes, len);
    }
    return out + len;
}

static uint8_t *put_address(uint8_t *out, unsigned address_field, unsigned port_field,
                            const struct addr *addr)
{
    const struct ip ip = addr_ip(addr);
    if (ip.family_bytes > 0) {
        out = put_bytes(out, address_field, ip.bytes, ip.family_bytes);
        out = dnstap_frame_put_number(out, port_field, addr_port(addr));
    }
    return out;
}

static uint8_t *dnstap_frame_put_time(uint8_t *out, unsigned s_field, unsigned ns_field, int64_t ns)
{
    if (ns > 0) {
        uint32_t rest = (uint32_t)(ns % NS_PER_S);
        out = dnstap_frame_put_number(out, s_field, (uint64_t)(ns / NS_PER_S));
        *out++ = TAG(ns_field, FIXED32);
        for (int i = 0; i < 4; i++) {
            *out++ = (uint8_t)(rest >> 8 * i);
        }
    }
    return out;
}

/* Writes the family that the addresses are written in: an IPv4-mapped one is IPv4. */
static uint8_t *put_family(uint8_t *out, const struct dnstap_event *event)
{
    const struct ip querier = addr_ip(event->querier), answerer = addr_ip(event->answerer);
    uint8_t bytes = querier.family_bytes > 0 ? querier.family_bytes : answerer.family_bytes;
    return bytes == 0 ? out
                      : dnstap_frame_put_number(out, SOCKET_FAMILY,
                                                bytes == 4 ? FAMILY_INET : FAMILY_INET6);
}

static bool is_response(const struct dnstap_event *event)
{
    return event->type == DNSTAP_CLIENT_RESPONSE || event->type == DNSTAP_FORWARDER_RESPONSE;
}

static uint8_t *put_message(uint8_t *out, const struct dnstap_event *event)
{
    out = dnstap_frame_put_number(out, MESSAGE_TYPE, event->type);
    out = put_family(out, event);
    out = dnstap_frame_put_number(out, SOCKET_PROTOCOL, event->protocol);
    out = put_address(out, QUERY_ADDRESS, QUERY_PORT, event->querier);
    out = put_address(out, RESPONSE_ADDRESS, RESPONSE_PORT, event->answerer);
    out = dnstap_frame_put_time(out, QUERY_TIME_S, QUERY_TIME_NS, event->query_ns);
    if (event->zone.len > 0) {
        out = put_bytes(out, QUERY_ZONE, event->zone.ptr, event->zone.len);
    }
    out = dnstap_frame_put_time(out, RESPONSE_TIME_S, RESPONSE_TIME_NS, event->response_ns);
    return put_bytes(out, is_response(event) ? RESPONSE_MESSAGE : QUERY_MESSAGE, event->message.ptr,
                     event->message.len);
}

static uint8_t *put_text(uint8_t *out, unsigned field, struct slice text)
{
    size_t len = text.len < DNSTAP_HEAD_TEXT_MAX ? text.len : DNSTAP_HEAD_TEXT_MAX;
    return len == 0 ? out : put_bytes(out, field, text.ptr, len);
}

void dnstap_head_init(struct dnstap_head *head, struct slice identity, struct slice version)
{
    uint8_t *end = put_text(head->bytes, DNSTAP_IDENTITY, identity);
    end = put_text(end, DNSTAP_VERSION, version);
    head->len = (size_t)(end - head->bytes);
}

size_t dnstap_frame_max(const struct dnstap_head *head, const struct dnstap_event *event)
{
    return head->len + DNSTAP_FRAME_FIELDS_MAX + event->message.len + event->zone.len +
           event->extra.len;
}

size_t dnstap_frame_write(const struct dnstap_head *head, const struct dnstap_event *event,
                          uint8_t *out)
{
    memcpy(out, head->bytes, head->len);
    uint8_t *end = out + head->len;
    if (event->extra.len > 0) {
        end = put_bytes(end, DNSTAP_EXTRA, event->extra.ptr, event->extra.len);
    }
    end = dnstap_frame_put_number(end, DNSTAP_TYPE, TYPE_MESSAGE);
    *end++ = TAG(DNSTAP_MESSAGE, BYTES);
    uint8_t *message = end + LENGTH_BYTES;
    uint8_t *message_end = put_message(message, event);
    size_t len = (size_t)(message_end - message);
    end[0] = (uint8_t)(len | 0x80);
    end[1] = (uint8_t)(len >> 7 | 0x80);
    end[2] = (uint8_t)(len >> 14);
    return (size_t)(message_end - out);
}
