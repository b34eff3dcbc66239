#include "skydns/handover/handover_message.h"

#include <string.h>

static const uint8_t head[] = {'s', 'k', 'y', 'd', 'n', 's', 0, 1};

size_t handover_message_write(const struct handover_message *message,
                              uint8_t out[HANDOVER_MESSAGE_MAX])
{
    size_t len = sizeof(head);
    memcpy(out, head, sizeof(head));
    out[len++] = (uint8_t)message->type;
    switch (message->type) {
    case HANDOVER_HELLO:
        memcpy(out + len, message->secret, sizeof(message->secret));
        len += sizeof(message->secret);
        break;
    case HANDOVER_SOCKETS:
        memcpy(out + len, message->sockets.codes, message->sockets.count);
        len += message->sockets.count;
        break;
    case HANDOVER_REFUSED:
        out[len++] = (uint8_t)message->refusal;
        break;
    case HANDOVER_SERVING:
        break;
    }
    return len;
}

int handover_message_read(struct slice bytes, struct handover_message *ret_message)
{
    struct handover_message message = {.type = HANDOVER_SERVING};
    if (bytes.len <= sizeof(head) || bytes.len > HANDOVER_MESSAGE_MAX ||
        memcmp(bytes.ptr, head, sizeof(head)) != 0) {
        return ERR_SYNTAX;
    }
    const char *body = bytes.ptr + sizeof(head) + 1;
    const size_t len = bytes.len - sizeof(head) - 1;
    bool is_sound = false;
    switch (bytes.ptr[sizeof(head)]) {
    case HANDOVER_HELLO:
        is_sound = len == sizeof(message.secret);
        message.type = HANDOVER_HELLO;
        memcpy(message.secret, body, is_sound ? len : 0);
        break;
    case HANDOVER_SOCKETS:
        is_sound = true;
        message.type = HANDOVER_SOCKETS;
        message.sockets.count = len;
        memcpy(message.sockets.codes, body, len);
        break;
    case HANDOVER_REFUSED:
        is_sound =
            len == 1 && body[0] >= HANDOVER_REFUSED_USER && body[0] <= HANDOVER_REFUSED_LEAVING;
        message.type = HANDOVER_REFUSED;
        message.refusal = is_sound ? (enum handover_refusal)body[0] : HANDOVER_REFUSED_USER;
        break;
    case HANDOVER_SERVING:
        is_sound = len == 0;
        break;
    }
    if (!is_sound) {
        return ERR_SYNTAX;
    }
    *ret_message = message;
    return 0;
}

const char *handover_refusal_text(enum handover_refusal refusal)
{
    switch (refusal) {
    case HANDOVER_REFUSED_USER:
        return "another user, expected the same";
    case HANDOVER_REFUSED_SECRET:
        return "wrong secret";
    case HANDOVER_REFUSED_REPLACED:
        return "a later skydns takes the addresses over";
    case HANDOVER_REFUSED_LEAVING:
        return "it has handed over to another skydns already";
    }
    return "no reason given";
}
