#include "skydns/start_log.h"

#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "skydns/answering.h"
#include "skydns/settings/option_text.h"

/* Names in one log line: at most 64, none longer than 16. */
enum { IGNORED_NAMES_MAX = 1024 };

void start_log_ignored(const struct flag_strings *ignored)
{
    struct buf names;
    buf_init(&names, IGNORED_NAMES_MAX);
    for (size_t i = 0; i < ignored->count; i++) {
        buf_printf(&names, "%s%s", i ? " " : "", ignored->items[i]);
    }
    if (ignored->count > 0) {
        log_warn("accepted and ignored", LOG_STR("settings", buf_cstr(&names)));
    }
    buf_fini(&names);
}

static void log_prometheus(const struct options *o)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "skydns: metrics enabled on :%u%s", o->prometheus_port,
                   o->prometheus_path); /* a truncated path is still recognisable */
    log_info(line);
}

void start_log_started(const struct options *options, const struct answering *answering)
{
    struct buf addresses, domains, nameservers;
    if (options->prometheus_port) {
        log_prometheus(options);
    }
    buf_init(&addresses, OPTION_TEXT_MAX);
    buf_init(&domains, OPTION_TEXT_MAX);
    buf_init(&nameservers, OPTION_TEXT_MAX);
    answering_addresses(answering, &addresses);
    option_text_domains(options, &domains);
    option_text_nameservers(options, &nameservers);
    log_info("skydns started", LOG_STR("version", version_string),
             LOG_INT("workers", options->workers), LOG_STR("machines", options->machines),
             LOG_STR("addresses", buf_cstr(&addresses)), LOG_STR("domains", buf_cstr(&domains)),
             LOG_SLICE("schema", flags_choice(ENGINE_SCHEMA_CHOICES, (int)options->engine.schema)),
             LOG_STR("nameservers", buf_cstr(&nameservers)));
    buf_fini(&addresses);
    buf_fini(&domains);
    buf_fini(&nameservers);
}
