#include "skydns/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/version.h"
#include "common/health/healthcheck.h"
#include "common/live/live_view.h"
#include "skydns/config/dnssec_files.h"
#include "skydns/config/live_config.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_client.h"
#include "skydns/pages/top_view.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/watch/wait_pages.h"

int commands_fail(const struct err *err)
{
    log_plain("skydns", err->msg);
    return err->code == ERR_USAGE ? 2 : 1;
}

/* Prints the DS records of the flag's keys, or of those in -config's file. */
static int commands_print_ds(const struct options *flags, struct err *err)
{
    struct options options;
    int r = live_config_offline(flags, &options, err);
    if (r == 0) {
        r = dnssec_files_print_ds(&options, err);
        stub_zones_unref(options.stubs);
    }
    stub_zones_unref(flags->stubs);
    return r;
}

/* Becomes corefile-to-skydns, which lies beside this program. Returns only if it cannot. */
static int commands_translate_corefile(const char *file, struct err *err)
{
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("corefile-to-skydns"));
    if (n > 0) {
        path[n] = '\0';
        memcpy(strrchr(path, '/') + 1, "corefile-to-skydns", sizeof("corefile-to-skydns"));
        (void)execl(path, path, file, (char *)NULL); /* returns only if it failed */
    }
    return err_set(
        err, -errno,
        "flag -translate-corefile: cannot run corefile-to-skydns, expected beside skydns: %s",
        strerror(errno));
}

static int commands_explain(const struct options *flags, struct err *err)
{
    const struct explain_query query = {
        .name = flags->explain,
        .type = flags->explain_type,
        .client = flags->explain_client,
        .at = flags->explain_at,
    };
    return pages_explain_client(&flags->http_address, &query, err);
}

static int commands_show_top(const struct options *flags, struct err *err)
{
    const struct live_view view = {
        .flag = "-top", .server = flags->http_address, .screen = &top_view};
    return live_view_run(&view, err);
}

bool commands_run(const struct options *flags, int *ret_status)
{
    struct err err = {0};
    int r = 0;
    if (flags->version) {
        printf("skydns server version: %s\n", version_string);
    } else if (*flags->corefile) {
        r = commands_translate_corefile(flags->corefile, &err);
    } else if (*flags->healthcheck) {
        *ret_status = healthcheck_main("skydns", flags->healthcheck);
        return true;
    } else if (flags->print_ds) {
        r = commands_print_ds(flags, &err);
    } else if (flags->top) {
        r = commands_show_top(flags, &err);
    } else if (*flags->explain) {
        r = commands_explain(flags, &err);
    } else if (*flags->flush) {
        r = flush_page_client(&flags->http_address, flags->flush, &err);
    } else {
        return false;
    }
    *ret_status = r == 0 ? 0 : commands_fail(&err);
    return true;
}
