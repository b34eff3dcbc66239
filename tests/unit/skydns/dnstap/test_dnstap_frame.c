/* dnstap's messages, as protobuf-c reads them: field by field, and the bounds of their size. */
#include "common/base/err.h"
#include "dnstap.pb-c.h"
#include "skydns/dnstap/dnstap_frame_internal.h"
#include "tests/support/unit_test.h"

static struct addr dnstap_frame_address(const char *text)
{
    struct addr addr;
    struct err err;
    assert_int_equal(addr_parse(text, &addr, &err), 0);
    return addr;
}

static void assert_bytes(const ProtobufCBinaryData *data, const void *expected, size_t len)
{
    assert_int_equal(data->len, len);
    assert_memory_equal(data->data, expected, len);
}

static Dnstap__Dnstap *dnstap_frame_written(const struct dnstap_head *head,
                                            const struct dnstap_event *event)
{
    size_t max = dnstap_frame_max(head, event);
    uint8_t *bytes = malloc(max); /* of exactly that size, for the sanitizer */
    assert_non_null(bytes);
    size_t len = dnstap_frame_write(head, event, bytes);
    assert_true(len <= max);
    Dnstap__Dnstap *message = dnstap__dnstap__unpack(NULL, len, bytes);
    free(bytes);
    assert_non_null(message);
    assert_int_equal(message->type, DNSTAP__DNSTAP__TYPE__MESSAGE);
    assert_non_null(message->message);
    return message;
}

UNIT_TEST(writes_a_query)
{
    const struct addr querier = dnstap_frame_address("10.1.2.3:40000"),
                      answerer = dnstap_frame_address("10.0.0.10:53");
    struct dnstap_head head;
    dnstap_head_init(&head, slice_str("node-1"), slice_str("0.1"));
    Dnstap__Dnstap *d =
        dnstap_frame_written(&head, &(struct dnstap_event){.type = DNSTAP_CLIENT_QUERY,
                                                           .protocol = DNSTAP_UDP,
                                                           .querier = &querier,
                                                           .answerer = &answerer,
                                                           .query_ns = 1700000000123456789,
                                                           .message = slice_str("query")});
    const Dnstap__Message *m = d->message;
    assert_bytes(&d->identity, "node-1", 6);
    assert_bytes(&d->version, "0.1", 3);
    assert_int_equal(m->type, DNSTAP__MESSAGE__TYPE__CLIENT_QUERY);
    assert_int_equal(m->socket_family, DNSTAP__SOCKET_FAMILY__INET);
    assert_int_equal(m->socket_protocol, DNSTAP__SOCKET_PROTOCOL__UDP);
    assert_bytes(&m->query_address, "\x0a\x01\x02\x03", 4);
    assert_bytes(&m->response_address, "\x0a\x00\x00\x0a", 4);
    assert_int_equal(m->query_port, 40000);
    assert_int_equal(m->response_port, 53);
    assert_int_equal(m->query_time_sec, 1700000000);
    assert_int_equal(m->query_time_nsec, 123456789);
    assert_bytes(&m->query_message, "query", 5);
    assert_false(d->has_extra || m->has_query_zone || m->has_response_time_sec ||
                 m->has_response_time_nsec || m->has_response_message);
    dnstap__dnstap__free_unpacked(d, NULL);
}

UNIT_TEST(writes_a_response)
{
    const struct addr querier = dnstap_frame_address("[fd00::7]:5300"),
                      answerer = dnstap_frame_address("[fd00::1]:853");
    struct dnstap_head head;
    dnstap_head_init(&head, slice_str(""), slice_str(""));
    Dnstap__Dnstap *d =
        dnstap_frame_written(&head, &(struct dnstap_event){.type = DNSTAP_FORWARDER_RESPONSE,
                                                           .protocol = DNSTAP_DOT,
                                                           .querier = &querier,
                                                           .answerer = &answerer,
                                                           .query_ns = 1,
                                                           .response_ns = 2000000003,
                                                           .message = slice_of("r", 1),
                                                           .zone = slice_of("\4acme", 6)});
    const Dnstap__Message *m = d->message;
    assert_false(d->has_identity || d->has_version);
    assert_int_equal(m->type, DNSTAP__MESSAGE__TYPE__FORWARDER_RESPONSE);
    assert_int_equal(m->socket_family, DNSTAP__SOCKET_FAMILY__INET6);
    assert_int_equal(m->socket_protocol, DNSTAP__SOCKET_PROTOCOL__DOT);
    assert_int_equal(m->query_address.len, 16);
    assert_int_equal(m->query_address.data[15], 7);
    assert_int_equal(m->response_address.len, 16);
    assert_int_equal(m->response_port, 853);
    assert_int_equal(m->query_time_sec, 0);
    assert_int_equal(m->query_time_nsec, 1);
    assert_int_equal(m->response_time_sec, 2);
    assert_int_equal(m->response_time_nsec, 3);
    assert_bytes(&m->query_zone, "\4acme", 6);
    assert_bytes(&m->response_message, "r", 1);
    assert_false(m->has_query_message);
    dnstap__dnstap__free_unpacked(d, NULL);
}

/* A socket for both families has these; dnstap's family follows the address. */
UNIT_TEST(mapped_addresses_are_ipv4)
{
    const struct addr querier = dnstap_frame_address("[::ffff:10.1.2.3]:40000"), none = {.len = 0};
    struct dnstap_head head;
    dnstap_head_init(&head, slice_str("h"), slice_str("v"));
    Dnstap__Dnstap *d =
        dnstap_frame_written(&head, &(struct dnstap_event){.type = DNSTAP_CLIENT_QUERY,
                                                           .protocol = DNSTAP_TCP,
                                                           .querier = &querier,
                                                           .answerer = &none});
    assert_int_equal(d->message->socket_family, DNSTAP__SOCKET_FAMILY__INET);
    assert_int_equal(d->message->query_address.len, 4);
    assert_false(d->message->has_response_address || d->message->has_response_port ||
                 d->message->has_query_time_sec);
    dnstap__dnstap__free_unpacked(d, NULL);
}

/* Lengths around those where their own encoding grows, and the largest of everything. */
UNIT_TEST(has_room_for_the_longest)
{
    static const size_t lengths[] = {0, 1, 127, 128, 16000, 16383, 16384, 65535};
    static uint8_t bytes[65535];
    const struct addr querier = dnstap_frame_address("[fd00::7]:65535"),
                      answerer = dnstap_frame_address("[fd00::1]:65535");
    char text[DNSTAP_EXTRA_MAX];
    struct dnstap_head head;
    memset(text, 'x', sizeof(text));
    dnstap_head_init(&head, slice_of(text, sizeof(text)), slice_of(text, sizeof(text)));
    assert_int_equal(head.len, DNSTAP_HEAD_MAX);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        bytes[lengths[i] / 2] = (uint8_t)i;
        Dnstap__Dnstap *d = dnstap_frame_written(
            &head, &(struct dnstap_event){.type = DNSTAP_CLIENT_RESPONSE,
                                          .protocol = DNSTAP_DOH,
                                          .querier = &querier,
                                          .answerer = &answerer,
                                          .query_ns = INT64_MAX,
                                          .response_ns = INT64_MAX,
                                          .message = slice_of(bytes, lengths[i]),
                                          .zone = slice_of(bytes, 255),
                                          .extra = slice_of(text, sizeof(text))});
        assert_bytes(&d->extra, text, sizeof(text));
        assert_int_equal(d->identity.len, DNSTAP_HEAD_TEXT_MAX);
        assert_bytes(&d->message->response_message, bytes, lengths[i]);
        dnstap__dnstap__free_unpacked(d, NULL);
    }
}
