/* upstream_figures: a place for each nameserver of each zone, as long as there are places. */
#include "skydns/upstream/upstream_figures.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "tests/support/unit_test.h"

static const struct dname root = {.len = 1};
static const struct dname stub = {.len = 6, .wire = "\4acme"};

static struct nameserver upstream_figures_server(const char *scheme, unsigned number)
{
    char text[64];
    struct nameserver server;
    struct err err = {0};
    (void)snprintf(text, sizeof(text), "%s192.0.2.%u:53", scheme, number);
    assert_int_equal(nameserver_parse(text, &server, &err), 0);
    return server;
}

UNIT_TEST(one_place_each)
{
    struct upstream_figures *figures = xcalloc(1, sizeof(*figures));
    const struct nameserver plain = upstream_figures_server("", 1),
                            other = upstream_figures_server("", 2),
                            tls = upstream_figures_server("tls://", 1);
    struct upstream_figure *first = upstream_figures_of(figures, &root, &plain);
    assert_ptr_equal(upstream_figures_of(figures, &root, &plain), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &root, &other), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &root, &tls), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &stub, &plain), first);
    assert_int_equal(upstream_figures_count(figures), 4);
    assert_true(dname_equal(&figures->items[3].zone, &stub));
    assert_true(nameserver_equal(&figures->items[2].server, &tls));
    free(figures);
}

UNIT_TEST(the_rest_share_one)
{
    struct upstream_figures *figures = xcalloc(1, sizeof(*figures));
    for (unsigned i = 0; i < UPSTREAM_FIGURES_MAX; i++) {
        const struct nameserver one = upstream_figures_server("", i + 1);
        assert_ptr_equal(upstream_figures_of(figures, &root, &one), &figures->items[i]);
    }
    const struct nameserver late = upstream_figures_server("", 200),
                            first = upstream_figures_server("", 1);
    assert_ptr_equal(upstream_figures_of(figures, &root, &late), &figures->others);
    assert_ptr_equal(upstream_figures_of(figures, &root, &first), &figures->items[0]);
    assert_int_equal(upstream_figures_count(figures), UPSTREAM_FIGURES_MAX);
    free(figures);
}
