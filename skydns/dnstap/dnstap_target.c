#include "skydns/dnstap/dnstap_target.h"

#include <stdio.h>
#include <string.h>

static const char unix_prefix[] = "unix:", tcp_prefix[] = "tcp://";

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int parse_unix(const char *text, struct dnstap_target *target, struct err *err)
{
    const char *path = text + strlen(unix_prefix);
    size_t len = strlen(path);
    if (*path != '/' || path[len - 1] == '/') {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected the absolute path of a socket, like unix:/run/dnstap.sock",
                       text);
    }
    if (len >= sizeof(target->unix_path.sun_path)) {
        return err_set(err, ERR_USAGE, "`%s`: expected a path of at most %zu bytes", text,
                       sizeof(target->unix_path.sun_path) - 1);
    }
    target->is_unix = true;
    target->unix_path.sun_family = AF_UNIX;
    memcpy(target->unix_path.sun_path, path, len + 1);
    return 0;
}

static int parse_tcp(const char *text, struct dnstap_target *target, struct err *err)
{
    struct err reason;
    if (addr_parse(text + strlen(tcp_prefix), &target->address, &reason) < 0) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected tcp://IP:port, like tcp://127.0.0.1:6000, port 1-65535",
                       text);
    }
    return 0;
}

int dnstap_target_parse(const char *text, struct dnstap_target *ret_target, struct err *err)
{
    struct dnstap_target target = {.is_set = *text != '\0'};
    int r = 0;
    if (has_prefix(text, unix_prefix)) {
        r = parse_unix(text, &target, err);
    } else if (has_prefix(text, tcp_prefix)) {
        r = parse_tcp(text, &target, err);
    } else if (target.is_set) {
        r = err_set(err, ERR_USAGE, "`%s`: expected unix:PATH or tcp://IP:port", text);
    }
    if (r == 0) {
        *ret_target = target;
    }
    return r;
}

const char *dnstap_target_format(const struct dnstap_target *target,
                                 char out[DNSTAP_TARGET_TEXT_MAX])
{
    char address[ADDR_TEXT_MAX];
    *out = '\0';
    if (target->is_set) {
        (void)snprintf(out, DNSTAP_TARGET_TEXT_MAX, "%s%s",
                       target->is_unix ? unix_prefix : tcp_prefix,
                       target->is_unix ? target->unix_path.sun_path
                                       : addr_format(&target->address, address)); /* fits */
    }
    return out;
}
