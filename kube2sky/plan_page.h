/* Serves GET /plan: what the reconciler would write now, line by line (plan.h), produced while
 * it is sent. Lines that begin with `#` say why not everything is known, or that there is nothing
 * to do. On the main loop. */
#ifndef KUBE2SKY_PLAN_PAGE_H
#define KUBE2SKY_PLAN_PAGE_H

#include "common/http/http_server.h"
#include "kube2sky/metrics_table.h"

/* Serves the page: an http_handler; data is a struct metrics_sources, which outlives the server. */
void plan_page_handle(void *data, const struct http_request *request, struct http_reply *reply);

#endif
