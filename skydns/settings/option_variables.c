/* Settings that only the environment has. */
#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_values.h"

static const char *variable_or(const char *name, const char *if_unset)
{
    const char *value = getenv(name);
    return value && *value ? value : if_unset;
}

/* For a Service named prometheus, Kubernetes sets PROMETHEUS_PORT=tcp://..., not a port. */
static void read_prometheus(struct options *o)
{
    const char *port = variable_or("PROMETHEUS_PORT", "");
    unsigned number = 0;
    size_t digits = strspn(port, "0123456789");
    for (size_t i = 0; i < digits && number <= UINT16_MAX; i++) {
        number = number * 10 + (unsigned)(port[i] - '0');
    }
    bool is_port = port[digits] == '\0' && number <= UINT16_MAX;
    o->prometheus_port = is_port ? (uint16_t)number : 0;
    if (!is_port && o->ignored.count < FLAG_STRINGS_MAX) {
        o->ignored.items[o->ignored.count++] = "PROMETHEUS_PORT";
    }
    o->prometheus_path = variable_or("PROMETHEUS_PATH", "/metrics");
    o->prometheus_namespace = variable_or("PROMETHEUS_NAMESPACE", "skydns");
    o->prometheus_subsystem = variable_or("PROMETHEUS_SUBSYSTEM", "skydns");
}

/* Where SkyDNS pushed its counts; here /metrics is scraped instead. */
static void note_variables(struct options *o)
{
    static const char *const names[] = {"GRAPHITE_SERVER", "GRAPHITE_PREFIX", "STATHAT_USER"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value && o->ignored.count < FLAG_STRINGS_MAX) {
            o->ignored.items[o->ignored.count++] = names[i];
        }
    }
}

void option_variables(struct options *o)
{
    note_variables(o);
    read_prometheus(o);
}
