#include "common/etcd/name_lookup.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"
#include "common/base/xalloc.h"

struct name_lookup {
    struct name_lookup_config config;
    char *host;
    ev_async done;

    pthread_mutex_t mutex; /* guards the two below; the thread holds it to wake the loop */
    bool is_canceled;
    bool is_finished;

    /* Belong to the thread until is_finished, then to the loop. */
    struct name_addresses addresses;
    struct err err; /* code 0 = found */
};

/* Asks the C library: /etc/hosts, resolv.conf and what nsswitch.conf adds, reread by glibc when
 * they change. */
static int name_lookup_libc(const char *host, uint16_t port, struct name_addresses *ret,
                            struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[sizeof("65535")];
    (void)snprintf(service, sizeof(service), "%u", port); /* fits */

    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc != 0) {
        return err_set(err, ERR_UNAVAILABLE, "look up `%s`: %s", host, gai_strerror(rc));
    }
    memset(ret, 0, sizeof(*ret));
    for (const struct addrinfo *i = found; i && ret->count < NAME_ADDRESSES_MAX; i = i->ai_next) {
        if (i->ai_family == AF_INET || i->ai_family == AF_INET6) {
            struct addr *address = &ret->items[ret->count++];
            memcpy(address, i->ai_addr, i->ai_addrlen);
            address->len = i->ai_addrlen;
        }
    }
    freeaddrinfo(found);
    return ret->count ? 0 : err_set(err, ERR_UNAVAILABLE, "look up `%s`: no IP address", host);
}

static void name_lookup_free(struct name_lookup *lookup)
{
    (void)pthread_mutex_destroy(&lookup->mutex); /* nothing holds it now */
    free(lookup->host);
    free(lookup);
}

static void *name_lookup_run(void *data)
{
    struct name_lookup *lookup = data;
    privileges_drop_thread();
    lookup->err.code = 0;
    int rc =
        lookup->config.look_up(lookup->host, lookup->config.port, &lookup->addresses, &lookup->err);
    lookup->err.code = rc; /* success leaves it untouched */

    (void)pthread_mutex_lock(&lookup->mutex);
    bool is_canceled = lookup->is_canceled;
    lookup->is_finished = true;
    if (!is_canceled) {
        ev_async_send(lookup->config.loop, &lookup->done);
    }
    (void)pthread_mutex_unlock(&lookup->mutex);
    if (is_canceled) {
        name_lookup_free(lookup);
    }
    return NULL;
}

static void on_done(struct ev_loop *loop, ev_async *w, int events UNUSED)
{
    struct name_lookup *lookup = w->data;
    /* The thread may be about to unlock. */
    (void)pthread_mutex_lock(&lookup->mutex);
    (void)pthread_mutex_unlock(&lookup->mutex);
    ev_async_stop(loop, w);
    bool is_found = lookup->err.code == 0;
    lookup->config.on_done(lookup->config.data, is_found ? &lookup->addresses : NULL,
                           is_found ? NULL : &lookup->err);
    name_lookup_free(lookup);
}

struct name_lookup *name_lookup_start(const struct name_lookup_config *config)
{
    struct name_lookup *lookup = xcalloc(1, sizeof(*lookup));
    lookup->config = *config;
    lookup->host = xstrdup(config->host);
    if (!lookup->config.look_up) {
        lookup->config.look_up = name_lookup_libc;
    }
    (void)pthread_mutex_init(&lookup->mutex, NULL); /* cannot fail without attributes */
    ev_async_init(&lookup->done, on_done);
    lookup->done.data = lookup;
    ev_async_start(config->loop, &lookup->done);
    pthread_t thread;
    int r = thread_start(&thread, NULL, name_lookup_run, lookup);
    if (r == 0) {
        (void)pthread_detach(thread); /* cannot fail: it is joinable */
    } else {
        err_set(&lookup->err, ERR_UNAVAILABLE, "look up `%s`: no thread: %s", lookup->host,
                err_code_text(r));
        lookup->is_finished = true;
        ev_async_send(config->loop, &lookup->done);
    }
    return lookup;
}

void name_lookup_cancel(struct name_lookup *lookup)
{
    if (!lookup) {
        return;
    }
    ev_async_stop(lookup->config.loop, &lookup->done);
    (void)pthread_mutex_lock(&lookup->mutex);
    bool is_finished = lookup->is_finished;
    lookup->is_canceled = true;
    (void)pthread_mutex_unlock(&lookup->mutex);
    if (is_finished) {
        name_lookup_free(lookup);
    }
}
