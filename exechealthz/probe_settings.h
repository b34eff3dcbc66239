/* The flags that main() passes unchanged to every probe, command or DNS. */
#ifndef EXECHEALTHZ_PROBE_SETTINGS_H
#define EXECHEALTHZ_PROBE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct health_actions;

struct probe_settings {
    int64_t period_ms;
    int64_t latency_ms;    /* an older result does not count, except in dns_probe_healthcheck */
    int64_t timeout_ms;    /* never 0; kills a command, fails a DNS probe without a response */
    bool want_output;      /* a healthy response is the command's output, not `ok`; not for DNS */
    bool is_quiet;         /* log changes of health only, not every run */
    bool starts_unhealthy; /* until the first result */
    struct health_actions *actions; /* told each result; NULL: none */
};

#endif
