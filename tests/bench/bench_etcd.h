/* An etcd client for a benchmark's program: the one at the URL, or the program fails. */
#ifndef TESTS_BENCH_BENCH_ETCD_H
#define TESTS_BENCH_BENCH_ETCD_H

#include "common/etcd/etcd.h"
#include "tests/bench/bench.h"

static inline struct etcd *bench_etcd_new(const struct etcd_config *config)
{
    struct etcd *etcd = NULL;
    struct err err;
    if (etcd_new(config, &etcd, &err) < 0) {
        bench_fail(config->endpoints, err.msg);
    }
    return etcd;
}

static inline struct etcd *bench_etcd_at(struct ev_loop *loop, const char *url, uint32_t timeout_ms)
{
    return bench_etcd_new(
        &(struct etcd_config){.loop = loop, .endpoints = url, .call_timeout_ms = timeout_ms});
}

#endif
