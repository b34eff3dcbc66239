/* Notifies systemd (sd_notify(3)) that the program is ready, stopping, or still running its loop.
 *
 * That needs a unit of Type=notify, and for the loop WatchdogSec=, so that systemd restarts a hung
 * program. Without systemd every call does nothing. Messages that systemd does not accept are
 * dropped: the unit's timeouts decide then.
 *
 * Called by each main(), on the main loop. */
#ifndef COMMON_BASE_SERVICE_MANAGER_H
#define COMMON_BASE_SERVICE_MANAGER_H

#include <ev.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Belongs to the caller; only service_manager_init initialises it. */
struct service_manager {
    int fd; /* -1: no systemd */
    struct sockaddr_un address;
    socklen_t address_len;
    struct ev_loop *loop;
    ev_timer watchdog; /* active while the unit has WatchdogSec= */
};

/* Removes systemd's variables from the environment, so that no child process uses them, and starts
 * the watchdog timer. Call before starting threads. Invalid variables count as unset. */
void service_manager_init(struct service_manager *manager, struct ev_loop *loop);
void service_manager_fini(struct service_manager *manager);

/* Says that the program is ready. `systemctl status` shows text, a constant. */
void service_manager_ready(const struct service_manager *manager, const char *text);

/* Changes the text for `systemctl status`. */
void service_manager_status(const struct service_manager *manager, const char *text);

/* Says that the program is stopping. */
void service_manager_stopping(const struct service_manager *manager);

#endif
