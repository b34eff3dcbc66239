#include "exechealthz/options.h"

#include "common/flags.h"

/* The longest period, latency or timeout: a day. Whoever gives more means something else. */
enum { DURATION_MAX_MS = 24 * 60 * 60 * 1000 };

static int parse_flags(int argc, char *const *argv, struct options *o, struct err *err)
{
    const struct flag table[] = {
        {"cmd", FLAG_STRING, &o->command, .help = "shell command whose status tells the health"},
        {"port", FLAG_INT, &o->port, .min = 1, .max = 65535, .help = "TCP port of /healthz"},
        {"period", FLAG_DURATION_MS, &o->period_ms, .min = 1, .max = DURATION_MAX_MS,
         .help = "time from one start of the command to the next"},
        {"latency", FLAG_DURATION_MS, &o->latency_ms, .min = 1, .max = DURATION_MAX_MS,
         .help = "an older result counts no more"},
        {"timeout", FLAG_DURATION_MS, &o->timeout_ms, .min = 0, .max = DURATION_MAX_MS,
         .help = "the command is killed with all its processes after this time; 0: the latency"},
        {"output", FLAG_BOOL, &o->want_output,
         .help = "reply with the command's output instead of `ok`"},
        {"quiet", FLAG_BOOL, &o->is_quiet, .help = "log changes of health only"},
        {"version", FLAG_BOOL, &o->want_version, .help = "print the version and exit"},
    };
    const struct flags flags = {
        .program = "exechealthz",
        .summary = "runs a command periodically and serves its last result at /healthz",
        .table = table,
        .count = ARRAY_LEN(table),
    };
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

int options_parse(int argc, char *const *argv, struct options *ret_options, struct err *err)
{
    struct options o = {
        .command = "echo healthz",
        .port = 8080,
        .period_ms = 2000,
        .latency_ms = 30000,
    };
    int r = parse_flags(argc, argv, &o, err);
    if (r != 0) {
        return r;
    }
    if (o.timeout_ms == 0) {
        o.timeout_ms = o.latency_ms;
    }
    *ret_options = o;
    return 0;
}
