#include "skydns/handover/handover_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/sockets.h"

/* Makes the folder, or checks that nobody else can have put anything there. */
static int make_folder(const char *folder, uid_t user, struct err *err)
{
    struct stat st;
    if (mkdir(folder, 0700) == 0 && user != geteuid() && chown(folder, user, (gid_t)-1) < 0) {
        return err_set(err, -errno, "flag -reuse-port: %s: %s", folder, err_code_text(-errno));
    }
    if (lstat(folder, &st) < 0) {
        return err_set(err, -errno, "flag -reuse-port: %s: %s; expected -snapshot, to meet beside",
                       folder, err_code_text(-errno));
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != user || (st.st_mode & 077) != 0) {
        return err_set(err, ERR_USAGE,
                       "flag -reuse-port: %s: expected a folder of user %u alone, mode 0700",
                       folder, (unsigned)user);
    }
    return 0;
}

int handover_place_find(const char *snapshot, const struct addr *address, uid_t user,
                        struct handover_place *ret_place, struct err *err)
{
    char folder[sizeof("/tmp/skydns-4294967295")], text[ADDR_TEXT_MAX], base[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "/tmp/skydns-%u", (unsigned)user); /* always fits */
    int len = *snapshot ? snprintf(base, sizeof(base), "%s", snapshot)
                        : snprintf(base, sizeof(base), "%s/%s", folder, addr_format(address, text));
    if (len < (int)sizeof(base)) {
        len = snprintf(ret_place->socket, sizeof(ret_place->socket), "%s.handover", base);
    }
    if (len >= (int)sizeof(base) || !unix_socket_path_fits(ret_place->socket) ||
        snprintf(ret_place->key, sizeof(ret_place->key), "%s.handover-key", base) < 0) {
        return err_set(err, ERR_USAGE,
                       "flag -reuse-port: the path of -snapshot, `%s`, is too long for a Unix "
                       "socket beside it; expected at most 98 bytes",
                       snapshot);
    }
    return *snapshot ? 0 : make_folder(folder, user, err);
}

/* ---- The secret ---- */

static int key_failed(const struct handover_place *place, int code, struct err *err)
{
    return err_set(err, code, "flag -reuse-port: %s: %s", place->key, err_code_text(code));
}

int handover_place_read_key(const struct handover_place *place,
                            uint8_t ret_secret[HANDOVER_SECRET_SIZE], struct err *err)
{
    struct stat st;
    CLEANUP_CLOSE int fd = open(place->key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        return key_failed(place, -errno, err);
    }
    if (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0 ||
        read(fd, ret_secret, HANDOVER_SECRET_SIZE) != HANDOVER_SECRET_SIZE) {
        return err_set(err, ERR_SYNTAX,
                       "flag -reuse-port: %s: expected a file of %d bytes, mode 0600", place->key,
                       HANDOVER_SECRET_SIZE);
    }
    return 0;
}

int handover_place_make_key(const struct handover_place *place,
                            uint8_t ret_secret[HANDOVER_SECRET_SIZE], struct err *err)
{
    struct err unusable;
    if (handover_place_read_key(place, ret_secret, &unusable) == 0) {
        return 0;
    }
    if (unlink(place->key) < 0 && errno != ENOENT) {
        return key_failed(place, -errno, err);
    }
    CLEANUP_CLOSE int fd = open(place->key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || getrandom(ret_secret, HANDOVER_SECRET_SIZE, 0) != HANDOVER_SECRET_SIZE ||
        write(fd, ret_secret, HANDOVER_SECRET_SIZE) != HANDOVER_SECRET_SIZE) {
        return key_failed(place, -errno, err);
    }
    return 0;
}
