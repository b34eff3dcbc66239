#include "common/live/live_view.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/live/live_client_internal.h"
#include "common/live/live_page_client_internal.h"
#include "common/term/terminal.h"

/* Bounds the events between two reads of the keys; one a second is usual. */
enum { EVENTS_MAX = 16 };

/* Descriptors: the keys, the signals, /live, and the pages. */
enum { FDS_OWN = 3, FDS_MAX = FDS_OWN + LIVE_SOURCES_MAX };

struct viewer {
    const struct live_view *view;
    struct terminal *terminal;
    struct live_client *client;
    struct live_page_client *pages[LIVE_SOURCES_MAX]; /* of the screen's sources */
    struct live_model model;
};

static bool live_view_draw(struct viewer *viewer, int64_t now_ms)
{
    struct screen screen;
    int64_t since_ms = live_client_away_since_ms(viewer->client);
    viewer->model.is_away = since_ms != 0;
    viewer->model.away_ms = since_ms != 0 ? now_ms - since_ms : 0;
    viewer->model.why = live_client_why(viewer->client);
    terminal_screen(viewer->terminal, &screen);
    live_screen_draw(viewer->view->screen, &viewer->model, &screen);
    return terminal_show(viewer->terminal, &screen);
}

/* Returns how long to poll: while the program is gone, the screen counts how long. */
static int timeout_ms(const struct viewer *viewer, int64_t now_ms)
{
    int64_t left_ms = live_client_due_ms(viewer->client) - now_ms;
    int64_t most_ms = viewer->model.is_away ? 1000 : 60000;
    return (int)(left_ms < 0 ? 0 : left_ms < most_ms ? left_ms : most_ms);
}

/* Returns true if there may be more. */
static bool live_view_take_events(struct viewer *viewer, int64_t now_ms)
{
    struct live_node *event = NULL;
    int taken = 0;
    while (taken < EVENTS_MAX && (event = live_client_step(viewer->client, now_ms)) != NULL) {
        for (size_t i = 0; i < viewer->view->screen->source_count; i++) {
            live_page_client_put(viewer->pages[i], event);
        }
        live_model_take(&viewer->model, event, viewer->view->screen->total);
        taken++;
    }
    return event != NULL;
}

/* Reads the pages, but not while /live is silent. */
static void step_pages(struct viewer *viewer, int64_t now_ms)
{
    const bool is_away = live_client_away_since_ms(viewer->client) != 0;
    for (size_t i = 0; i < viewer->view->screen->source_count && !is_away; i++) {
        live_page_client_step(viewer->pages[i], now_ms);
    }
}

/* Returns false when a person ends the view. */
static bool live_view_run_once(struct viewer *viewer)
{
    short wanted;
    int64_t now_ms = clock_monotonic_ms();
    step_pages(viewer, now_ms);
    bool has_more = live_view_take_events(viewer, now_ms);
    if (!live_view_draw(viewer, now_ms)) {
        return false;
    }
    struct pollfd fds[FDS_MAX] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = terminal_signal_fd(viewer->terminal), .events = POLLIN},
        {.fd = live_client_fd(viewer->client, &wanted)},
    };
    nfds_t count = FDS_OWN;
    fds[2].events = wanted;
    for (size_t i = 0; i < viewer->view->screen->source_count; i++, count++) {
        fds[count].fd = live_page_client_fd(viewer->pages[i], &wanted);
        fds[count].events = wanted;
    }
    if (poll(fds, count, has_more ? 0 : timeout_ms(viewer, now_ms)) < 0) {
        return errno == EINTR;
    }
    if (fds[1].revents && terminal_take_signal(viewer->terminal)) {
        return false;
    }
    return !fds[0].revents || !terminal_take_keys(viewer->terminal);
}

int live_view_run(const struct live_view *view, struct err *err)
{
    struct viewer viewer = {.view = view};
    struct err why;
    char server[ADDR_TEXT_MAX];
    int r = terminal_open(&viewer.terminal, &why);
    if (r < 0) {
        return err_set(err, r, "flag %s: %s", view->flag, why.msg);
    }
    viewer.client = live_client_new(&view->server, clock_monotonic_ms());
    viewer.model.server = addr_format(live_client_server(viewer.client), server);
    assert(view->screen->source_count <= LIVE_SOURCES_MAX);
    for (size_t i = 0; i < view->screen->source_count; i++) {
        viewer.pages[i] = live_page_client_new(&view->server, &view->screen->sources[i]);
    }
    while (live_view_run_once(&viewer)) {
    }
    for (size_t i = 0; i < view->screen->source_count; i++) {
        live_page_client_free(viewer.pages[i]);
    }
    live_client_free(viewer.client);
    live_model_fini(&viewer.model);
    terminal_close(viewer.terminal);
    return 0;
}
