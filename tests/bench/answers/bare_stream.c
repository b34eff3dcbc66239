#include "tests/bench/answers/bare_stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/base/addr.h"

enum { BACKLOG = 1024 };

int bare_listen(const char *address, struct err *err)
{
    const int on = 1;
    struct addr addr;
    int r = addr_parse(address, &addr, err);
    if (r < 0) {
        return r;
    }
    int fd = socket(addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, &addr.sa, addr.len) < 0 || listen(fd, BACKLOG) < 0) {
        return err_set(err, -errno, "listen: %s", err_code_text(-errno));
    }
    return fd;
}

int bare_accept(int listener)
{
    const int on = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
    }
    return fd;
}

size_t bare_answer_all(const uint8_t *in, size_t len, uint8_t *out)
{
    size_t taken = 0, made = 0;
    while (len - taken >= BARE_LENGTH) {
        size_t size = (size_t)in[taken] << 8 | in[taken + 1];
        if (size < BARE_QUERY_LEAST - BARE_LENGTH || len - taken - BARE_LENGTH < size) {
            break;
        }
        uint8_t *message = out + made + BARE_LENGTH;
        memcpy(message, in + taken + BARE_LENGTH, size);
        size_t answered = bare_answer(message, size);
        out[made] = (uint8_t)(answered >> 8);
        out[made + 1] = (uint8_t)answered;
        taken += BARE_LENGTH + size;
        made += BARE_LENGTH + answered;
    }
    return made;
}
