/* Tells systemd how the program is, when a unit of Type=notify started it (sd_notify(3)): that it
 * is ready, that it is stopping, and, where the unit has WatchdogSec=, that its loop still turns,
 * so that a program that hangs is started again. Without systemd every call does nothing, and a
 * message that systemd does not take is its own loss: the unit's time-outs decide then.
 *
 * Called by each main(), on the main loop. */
#ifndef COMMON_BASE_SERVICE_MANAGER_H
#define COMMON_BASE_SERVICE_MANAGER_H

#include <ev.h>
#include <sys/socket.h>
#include <sys/un.h>

/* In its owner's hands, initialised by service_manager_init alone. */
struct service_manager {
    int fd; /* -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t address_len;
    struct ev_loop *loop;
    ev_timer watchdog; /* active while the unit has WatchdogSec= */
};

/* Takes systemd's variables out of the environment, so that no child believes it is meant; starts
 * the watchdog's timer. Before any thread. A variable that makes no sense counts as not set. */
void service_manager_init(struct service_manager *manager, struct ev_loop *loop);
void service_manager_fini(struct service_manager *manager);

/* The program does its work from now on. What `systemctl status` shows is text, a constant. */
void service_manager_ready(const struct service_manager *manager, const char *text);

/* Another text for `systemctl status`. */
void service_manager_status(const struct service_manager *manager, const char *text);

/* The end has been asked for and is under way. */
void service_manager_stopping(const struct service_manager *manager);

#endif
