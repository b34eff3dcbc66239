#include "skydns/streams/transfer_inbox_internal.h"

#include <stdlib.h>

static uint64_t number_of(struct tcp_ref ref)
{
    return (uint64_t)ref.generation << 32 | ref.slot;
}

static struct tcp_ref ref_of(uint64_t number)
{
    return (struct tcp_ref){.slot = (uint32_t)number, .generation = (uint32_t)(number >> 32)};
}

static void send_part(const struct transfer_inbox *inbox, const struct transfer_part *part)
{
    bool is_there =
        tcp_server_reply_part(inbox->tcp, ref_of(part->origin.connection), part->transfer,
                              part->is_last, part->len ? part->bytes : NULL, part->len);
    if (!is_there && !part->is_last) {
        transfers_left(inbox->transfers, part->transfer, true);
    }
}

static void on_filled(struct ev_loop *loop, ev_async *filled, int revents)
{
    struct transfer_inbox *inbox = filled->data;
    struct transfer_parts parts = TAILQ_HEAD_INITIALIZER(parts);
    struct transfer_part *part;
    (void)loop;
    (void)revents;
    (void)pthread_mutex_lock(&inbox->lock); /* cannot fail: a plain mutex, not held */
    TAILQ_CONCAT(&parts, &inbox->parts, entry);
    (void)pthread_mutex_unlock(&inbox->lock); /* the same */
    while ((part = TAILQ_FIRST(&parts))) {
        TAILQ_REMOVE(&parts, part, entry);
        send_part(inbox, part);
        free(part);
    }
}

void transfer_inbox_init(struct transfer_inbox *inbox, struct ev_loop *loop, struct tcp_server *tcp,
                         struct transfers *transfers)
{
    *inbox = (struct transfer_inbox){.loop = loop, .tcp = tcp, .transfers = transfers};
    TAILQ_INIT(&inbox->parts);
    (void)pthread_mutex_init(&inbox->lock, NULL); /* cannot fail without attributes */
    ev_async_init(&inbox->filled, on_filled);
    inbox->filled.data = inbox;
    ev_async_start(loop, &inbox->filled);
}

void transfer_inbox_fini(struct transfer_inbox *inbox)
{
    struct transfer_part *part;
    while ((part = TAILQ_FIRST(&inbox->parts))) {
        TAILQ_REMOVE(&inbox->parts, part, entry);
        free(part);
    }
    (void)pthread_mutex_destroy(&inbox->lock); /* nobody holds it */
}

void transfer_inbox_put(struct transfer_inbox *inbox, struct transfer_part *part)
{
    (void)pthread_mutex_lock(&inbox->lock); /* as above */
    TAILQ_INSERT_TAIL(&inbox->parts, part, entry);
    (void)pthread_mutex_unlock(&inbox->lock);
    ev_async_send(inbox->loop, &inbox->filled);
}

bool transfer_inbox_ask(const struct transfer_inbox *inbox, const struct tcp_query *tcp,
                        const struct engine_query *query, struct tsig_keys *keys)
{
    const struct transfer_origin origin = {.transport = tcp->transport,
                                           .connection = number_of(tcp->connection)};
    return inbox->transfers && transfers_ask(inbox->transfers, &origin, query, keys);
}
