#include "skydns/answering_sockets.h"

#include <string.h>

#include "common/base/log.h"

/* Decides for all addresses together: TCP listens on the plain ones, too. */
static unsigned flags_to_listen(const struct options *o, const struct addr *address)
{
    struct addr all[LISTEN_SOCKETS_MAX];
    memcpy(all, o->addresses, o->address_count * sizeof(all[0]));
    for (size_t i = 0; i < o->stream_count; i++) {
        all[o->address_count + i] = o->streams[i].address;
    }
    return (listen_wants_v6_only(all, o->address_count + o->stream_count, address) ? LISTEN_V6_ONLY
                                                                                   : 0) |
           (o->freebind ? LISTEN_ABSENT : 0);
}

/* Shares a passed socket. Returns 1 if there is none. */
static int share_passed(const struct passed_sockets *passed, enum engine_transport transport,
                        const struct addr *address, struct listen_socket *ret_socket,
                        struct err *err)
{
    int fd = passed_sockets_find(passed, passed_code(transport), address, 0);
    if (fd < 0) {
        return 1;
    }
    fd = passed_sockets_share(fd, err);
    *ret_socket = (struct listen_socket){.fd = fd, .address = *address, .transport = transport};
    return fd < 0 ? fd : 0;
}

static int open_stream_socket(const struct options *o, const struct passed_sockets *passed,
                              const struct stream_address *stream, struct listen_socket *ret_socket,
                              struct err *err)
{
    int r = share_passed(passed, stream->transport, &stream->address, ret_socket, err);
    return r == 1 ? listen_stream(stream->transport, &stream->address,
                                  flags_to_listen(o, &stream->address), ret_socket, err)
                  : r;
}

/* With -reuse-port, sockets are shared from the start: with the one that will take them over. */
static int open_udp_socket(const struct options *o, const struct passed_sockets *passed,
                           const struct addr *address, struct listen_socket *ret_socket,
                           struct err *err)
{
    int r = share_passed(passed, ENGINE_UDP, address, ret_socket, err);
    if (r == 1) {
        r = listen_udp(address, flags_to_listen(o, address), ret_socket, err);
    }
    ret_socket->is_shared = o->reuse_port;
    return r;
}

/* Binds TCP first: TCP addresses are not shared, so a second skydns on one of them fails here. */
static int bind_addresses(const struct options *o, const struct passed_sockets *passed,
                          struct listen_sockets *sockets, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < o->address_count && r == 0; i++) {
        const struct stream_address tcp = {ENGINE_TCP, o->addresses[i]};
        r = open_stream_socket(o, passed, &tcp, &sockets->tcp[i], err);
        sockets->tcp_count += r == 0;
    }
    for (size_t i = 0; i < o->stream_count && r == 0; i++) {
        r = open_stream_socket(o, passed, &o->streams[i], &sockets->streams[i], err);
        sockets->stream_count += r == 0;
    }
    for (size_t i = 0; i < o->address_count && r == 0; i++) {
        r = open_udp_socket(o, passed, &o->addresses[i], &sockets->udp[i], err);
        sockets->udp_count += r == 0;
    }
    return r;
}

/* ---- Workers ---- */

/* Returns the most UDP sockets that one address was passed. */
static size_t most_passed(const struct passed_sockets *passed, const struct listen_sockets *sockets)
{
    size_t most = 0;
    for (size_t i = 0; i < sockets->udp_count; i++) {
        size_t count =
            passed_sockets_count(passed, passed_code(ENGINE_UDP), &sockets->udp[i].address);
        most = count > most ? count : most;
    }
    return most;
}

static int count_workers(const struct options *o, const struct passed_sockets *passed,
                         const struct listen_sockets *sockets, unsigned *ret_workers,
                         struct err *err)
{
    const size_t most = most_passed(passed, sockets);
    unsigned workers = o->workers;
    if (most > workers) {
        log_info("as many workers as the skydns before had, until a start without one",
                 LOG_INT("workers", (int64_t)most), LOG_INT("requested", workers));
        workers = (unsigned)most;
    }
    if (sockets->udp_count * workers > OPTIONS_WORKERS_MAX) {
        workers = OPTIONS_WORKERS_MAX / (unsigned)sockets->udp_count;
        log_warn("fewer workers per address than requested", LOG_INT("workers", workers),
                 LOG_INT("addresses", (int64_t)sockets->udp_count),
                 LOG_INT("altogether_at_most", OPTIONS_WORKERS_MAX));
    }
    *ret_workers = workers;
    return most <= workers ? 0
                           : err_set(err, ERR_REFUSED,
                                     "flag -reuse-port: the running skydns has %zu sockets at an "
                                     "address, expected at most %u with these -addr; stop it first",
                                     most, workers);
}

int answering_sockets_open(const struct options *options, const struct passed_sockets *passed,
                           struct listen_sockets *ret_sockets, unsigned *ret_workers,
                           struct err *err)
{
    int r = options->systemd ? listen_from_systemd(ret_sockets, err)
                             : bind_addresses(options, passed, ret_sockets, err);
    return r == 0 ? count_workers(options, passed, ret_sockets, ret_workers, err) : r;
}

/* The first worker gets the first socket, the nth the nth passed one, or the first again. */
int answering_sockets_of_worker(const struct options *options, const struct passed_sockets *passed,
                                struct listen_socket *first, unsigned worker,
                                struct listen_socket *ret_socket, bool *ret_is_own, struct err *err)
{
    const size_t count = passed_sockets_count(passed, passed_code(ENGINE_UDP), &first->address);
    const bool is_passed = options->systemd || count > 0;
    *ret_is_own = worker == 0 || !is_passed || worker < count;
    if (!is_passed && worker > 0) {
        int r =
            listen_udp(&first->address, flags_to_listen(options, &first->address), ret_socket, err);
        ret_socket->is_shared = first->is_shared;
        return r;
    }
    *ret_socket = *first;
    if (worker == 0) {
        first->fd = -1;
        return 0;
    }
    int fd = count > 0 ? passed_sockets_find(passed, passed_code(ENGINE_UDP), &first->address,
                                             worker % count)
                       : first->fd;
    ret_socket->fd = passed_sockets_share(fd, err);
    return ret_socket->fd < 0 ? ret_socket->fd : 0;
}
