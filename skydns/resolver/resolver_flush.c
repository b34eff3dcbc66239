/* Drops entries of the response cache on the thread that fills it (resolver.h). */
#include "common/base/attributes.h"
#include "skydns/external/cache.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver_internal.h"

uint64_t resolver_flush(struct resolver *resolver, const struct cache_flush *flush)
{
    struct resolver_flush *f = &resolver->flush;
    uint64_t number = 0;
    (void)pthread_mutex_lock(&f->lock); /* cannot fail: a plain mutex, not held by this thread */
    if (f->begun == f->ended) {
        f->what = *flush;
        f->dropped = 0;
        number = ++f->begun;
    }
    (void)pthread_mutex_unlock(&f->lock); /* the same */
    if (number > 0) {
        ev_async_send(resolver->loop, &f->step);
    }
    return number;
}

bool resolver_flush_is_over(struct resolver *resolver, uint64_t number, uint64_t *ret_dropped)
{
    struct resolver_flush *f = &resolver->flush;
    (void)pthread_mutex_lock(&f->lock); /* as above */
    const bool is_over = f->ended >= number;
    *ret_dropped = f->begun == number ? f->dropped : 0;
    (void)pthread_mutex_unlock(&f->lock);
    return is_over;
}

/* Takes the next portion. A cache that takes the place of another is empty. `what` stays as it is
 * until the flush has ended. */
static void on_flush_step(struct ev_loop *loop, ev_async *step, int revents UNUSED)
{
    struct resolver *r = step->data;
    struct resolver_flush *f = &r->flush;
    struct cache *cache = publisher_config(r->config.reader)->cache;
    uint64_t dropped = 0;
    (void)pthread_mutex_lock(&f->lock); /* as above */
    const bool is_due = f->begun != f->ended;
    (void)pthread_mutex_unlock(&f->lock);
    if (!is_due) {
        return;
    }
    const bool is_over = !cache || cache_flush(cache, &f->what, &f->at, &dropped);
    (void)pthread_mutex_lock(&f->lock); /* as above */
    f->dropped += dropped;
    if (is_over) {
        f->at = 0;
        f->ended = f->begun;
    }
    (void)pthread_mutex_unlock(&f->lock);
    if (!is_over) {
        ev_async_send(loop, step);
    }
}

void resolver_flush_init(struct resolver *r)
{
    (void)pthread_mutex_init(&r->flush.lock, NULL); /* cannot fail without attributes */
    ev_async_init(&r->flush.step, on_flush_step);
    r->flush.step.data = r;
    ev_async_start(r->loop, &r->flush.step);
}

void resolver_flush_fini(struct resolver *r)
{
    (void)pthread_mutex_destroy(&r->flush.lock); /* no thread holds it */
}
