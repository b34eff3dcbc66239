#include "skydns/listen/listen_error.h"

#include <errno.h>

static const char *advice(int code)
{
    switch (code) {
    case -EACCES:
        return "ports below 1024 need root, CAP_NET_BIND_SERVICE (of the file: not with "
               "no_new_privs), or the sysctl net.ipv4.ip_unprivileged_port_start=0; or choose "
               "another -addr";
    case -EADDRINUSE:
        return "stop the program that has the port, or choose another -addr";
    case -EADDRNOTAVAIL:
        return "no interface has this address; choose another -addr";
    default:
        return "choose another -addr";
    }
}

int listen_error(const char *transport, const struct addr *address, int code, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    return err_set(err, code, "listen on %s://%s: %s; %s", transport, addr_format(address, text),
                   err_code_text(code), advice(code));
}
