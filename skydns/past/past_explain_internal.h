/* Explains how a question was answered at a moment of the past: /explain?at=. Part of past_desk;
 * main loop. */
#ifndef SKYDNS_PAGES_PAST_EXPLAIN_INTERNAL_H
#define SKYDNS_PAGES_PAST_EXPLAIN_INTERNAL_H

struct http_reply;
struct http_request;
struct past_desk;
struct past_explain;

struct past_explain *past_explain_new(struct past_desk *desk);
void past_explain_free(struct past_explain *explain);
void past_explain_reply(struct past_explain *explain, const struct http_request *request,
                        struct http_reply *reply);

#endif
