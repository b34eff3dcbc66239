/* Fake mirrors of etcd: etcd_mirror_start and _stop, for tests that play what the mirrors see.
 * All of them keep what they have while etcd is away. */
#ifndef TESTS_UNIT_SKYDNS_SYNC_FAKE_MIRRORS_H
#define TESTS_UNIT_SKYDNS_SYNC_FAKE_MIRRORS_H

#include <stdio.h>

#include "common/etcd/etcd_mirror.h"

enum { MIRRORS_MAX = 64 };

static struct etcd_mirror {
    struct etcd_mirror_config config;
    char prefix[64];
    char saved[16];
    bool is_running;
} mirrors[MIRRORS_MAX];
static unsigned started;

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    assert_null(etcd);
    assert_true(started < MIRRORS_MAX);
    struct etcd_mirror *mirror = &mirrors[started++];
    assert_true(config->keeps_old);
    assert_int_equal(config->stale_max_ms, 5000);
    mirror->config = *config;
    mirror->is_running = true;
    (void)snprintf(mirror->prefix, sizeof(mirror->prefix), "%.*s", (int)config->prefix.len,
                   config->prefix.ptr); /* fits */
    (void)snprintf(mirror->saved, sizeof(mirror->saved), "%.*s", (int)config->saved.len,
                   config->saved.len ? config->saved.ptr : ""); /* fits */
    return mirror;
}

void etcd_mirror_stop(struct etcd_mirror *mirror)
{
    if (mirror) {
        assert_true(mirror->is_running);
        mirror->is_running = false;
    }
}

#endif
