/* Signs replies about names of ours: the last step of an answer to a client that sets DO, whichever
 * path made the answer. What a name has, and whether it exists, is for the answer code alone to
 * say: it is asked.
 *
 *     direct.c: reply as without DNSSEC --> RRsets --> signatures --> signed reply
 *                                             |
 *                                             ` a denial: the names that its proof needs, and the
 *                                               types they have, asked of direct.c like a client
 *
 * One per engine; that engine's thread only. */
#ifndef SKYDNS_ANSWER_SIGNED_REPLY_INTERNAL_H
#define SKYDNS_ANSWER_SIGNED_REPLY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/query.h"
#include "skydns/answer/question.h"
#include "skydns/store/engine_config.h"

struct signed_reply;

struct signed_reply *signed_reply_new(void);
void signed_reply_free(struct signed_reply *signer); /* NULL is fine */

#endif
