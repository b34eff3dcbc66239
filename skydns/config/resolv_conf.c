#include "skydns/config/resolv_conf_internal.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"

/* The interface of fe80::1%eth0, by name or number; 0: no such interface. */
static uint32_t find_zone(struct slice zone)
{
    char name[IF_NAMESIZE];
    if (zone.len == 0 || zone.len >= sizeof(name)) {
        return 0;
    }
    memcpy(name, zone.ptr, zone.len);
    name[zone.len] = '\0';
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    return *end == '\0' && number <= UINT32_MAX ? (uint32_t)number : if_nametoindex(name);
}

/* An address; IPv6 may have a zone. */
static bool parse_server(struct slice text, struct ip *ret_ip, uint32_t *ret_zone)
{
    const char *percent = memchr(text.ptr, '%', text.len);
    *ret_zone = 0;
    if (percent) {
        size_t len = (size_t)(percent - text.ptr);
        *ret_zone = find_zone(slice_of(percent + 1, text.len - len - 1));
        return *ret_zone != 0 && ip_parse(slice_of(text.ptr, len), ret_ip) &&
               ret_ip->family_bytes == 16;
    }
    return ip_parse(text, ret_ip);
}

/* Adds the server of a line `nameserver ADDRESS`; ignores other lines and unusable addresses, as
 * the C library's resolver does. */
static void take_resolv_line(struct options *o, const char *line)
{
    static const char blanks[] = " \t\r\n";
    static const char keyword[] = "nameserver";
    struct ip ip;
    uint32_t zone;
    line += strspn(line, blanks);
    if (strncmp(line, keyword, sizeof(keyword) - 1) != 0) {
        return;
    }
    line += sizeof(keyword) - 1;
    size_t gap = strspn(line, blanks);
    struct slice text = slice_of(line + gap, strcspn(line + gap, blanks));
    if (gap == 0 || o->nameserver_count == OPTIONS_NAMESERVERS_MAX ||
        !parse_server(text, &ip, &zone)) {
        return;
    }
    struct nameserver *added = &o->nameservers[o->nameserver_count++];
    struct addr *server = &added->address;
    *added = (struct nameserver){0};
    if (ip.family_bytes == 4) {
        server->v4.sin_family = AF_INET;
        server->v4.sin_port = htons(53);
        memcpy(&server->v4.sin_addr, ip.bytes, 4);
        server->len = sizeof(server->v4);
    } else {
        server->v6.sin6_family = AF_INET6;
        server->v6.sin6_port = htons(53);
        server->v6.sin6_scope_id = zone;
        memcpy(&server->v6.sin6_addr, ip.bytes, 16);
        server->len = sizeof(server->v6);
    }
}

int resolv_conf_read(struct options *options, const char *path, struct err *err)
{
    char line[512]; /* pieces of longer lines (search lists) match nothing */
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file) {
        if (errno == ENOENT) {
            return 0;
        }
        int code = -errno;
        return err_set(err, code, "read `%s`: %s; make it readable or set -nameservers", path,
                       err_code_text(code));
    }
    while (fgets(line, sizeof(line), file)) {
        take_resolv_line(options, line);
    }
    if (ferror(file)) {
        return err_set(err, -EIO, "read `%s` failed; set -nameservers", path);
    }
    return 0;
}
