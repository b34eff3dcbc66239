/* The flags that main() hands to every probe as they are, to those of commands and of DNS. */
#ifndef EXECHEALTHZ_PROBE_SETTINGS_H
#define EXECHEALTHZ_PROBE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct probe_settings {
    int64_t period_ms;
    int64_t latency_ms;    /* an older result is none, but for dns_probe_healthcheck */
    int64_t timeout_ms;    /* never 0; a longer run is killed, or has failed without a reply */
    bool want_output;      /* a healthy reply is the command's output, not `ok`; not of DNS */
    bool is_quiet;         /* log changes of health only, not every run */
    bool starts_unhealthy; /* until the first result */
};

#endif
