#include "common/base/service_manager.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

/* Fits twice the longest text of any caller. */
enum { MESSAGE_MAX = 256 };

/* Bounds a send: if systemd's queue stays full for longer, our state does not matter. */
static const struct timeval send_timeout = {.tv_sec = 1};

/* Removes the variable from the environment. Returns its text, owned by the caller; NULL if unset
 * or empty. */
static char *take_variable(const char *name)
{
    const char *text = getenv(name);
    char *taken = text && *text ? xstrdup(text) : NULL;
    (void)unsetenv(name); /* the name is valid: it cannot fail */
    return taken;
}

/* Returns a whole number; 0: unset or invalid. */
static int64_t service_manager_take_number(const char *name)
{
    char *text = take_variable(name), *end = NULL;
    long long number = text ? strtoll(text, &end, 10) : 0;
    bool is_number = text && *end == '\0' && number > 0;
    free(text);
    return is_number ? number : 0;
}

/* Parses "/run/systemd/notify", or "@name" in the abstract namespace. */
static bool service_manager_parse_address(const char *text, struct service_manager *manager)
{
    size_t len = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof(manager->address.sun_path)) {
        return false;
    }
    manager->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(manager->address.sun_path, text, len);
    manager->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (text[0] == '@') {
        manager->address.sun_path[0] = '\0';
    }
    return true;
}

static void service_manager_open_socket(struct service_manager *manager)
{
    char *where = take_variable("NOTIFY_SOCKET");
    if (where && service_manager_parse_address(where, manager)) {
        manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    }
    if (manager->fd >= 0) {
        (void)setsockopt(manager->fd, SOL_SOCKET, SO_SNDTIMEO, &send_timeout,
                         sizeof(send_timeout)); /* without it, only a longer wait */
    }
    free(where);
}

static void service_manager_send(const struct service_manager *manager, const char *message,
                                 int flags)
{
    if (manager->fd >= 0) {
        (void)sendto(manager->fd, message, strlen(message), flags | MSG_NOSIGNAL,
                     (const struct sockaddr *)&manager->address, manager->address_len);
    }
}

/* Never blocks: the next one comes in time. */
static void on_watchdog(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    service_manager_send(timer->data, "WATCHDOG=1", MSG_DONTWAIT);
}

/* Starts the timer at half of what the unit allows, as sd_watchdog_enabled(3) asks for. */
static void start_watchdog(struct service_manager *manager, int64_t limit_us)
{
    double period_s = (double)limit_us / 2e6;
    timer_init_every(&manager->watchdog, on_watchdog, manager, period_s);
    ev_timer_start(manager->loop, &manager->watchdog);
}

void service_manager_init(struct service_manager *manager, struct ev_loop *loop)
{
    *manager = (struct service_manager){.fd = -1, .loop = loop};
    int64_t limit_us = service_manager_take_number("WATCHDOG_USEC"),
            pid = service_manager_take_number("WATCHDOG_PID");
    service_manager_open_socket(manager);
    if (manager->fd >= 0 && limit_us > 0 && (pid == 0 || pid == (int64_t)getpid())) {
        start_watchdog(manager, limit_us);
    }
}

void service_manager_fini(struct service_manager *manager)
{
    ev_timer_stop(manager->loop, &manager->watchdog);
    if (manager->fd >= 0) {
        (void)close(manager->fd); /* nothing was buffered */
        manager->fd = -1;
    }
}

void service_manager_ready(const struct service_manager *manager, const char *text)
{
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof(message), "READY=1\nSTATUS=%s",
                   text); /* truncated text is fine */
    service_manager_send(manager, message, 0);
}

void service_manager_status(const struct service_manager *manager, const char *text)
{
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof(message), "STATUS=%s", text); /* the same */
    service_manager_send(manager, message, 0);
}

void service_manager_stopping(const struct service_manager *manager)
{
    service_manager_send(manager, "STOPPING=1", 0);
}
