/* Signs replies about names of ours: the last step of an answer to a client that sets DO, whichever
 * path made the answer. What a name has, and whether it exists, is for the answer code alone to
 * say: it is asked.
 *
 *     direct.c: reply as without DNSSEC --> RRsets --> signatures --> signed reply
 *                                             |
 *                                             ` a denial: the names that its proof needs, and the
 *                                               types they have, asked of direct.c like a client
 *
 *     signed_reply.c      the step; what is dropped when it does not fit
 *     signed_message.c    a reply's RRsets, their canonical form, their way into the new reply
 *     signed_denial.c     NSEC records
 *     signed_probe.c      what the answer code says of names
 *     signed_apex.c       questions that keys answer: DNSKEY, CDS, CDNSKEY, DS
 *     signed_question.c   which queries have a signed answer
 *     signed_zones.c      which zone signs a name
 *
 * A reply that does not fit with its signatures loses its additional section first, as a whole, and
 * so does one with only some of a name's addresses there: resolvers would keep them as its answer;
 * then all: TC over UDP, SERVFAIL over TCP, where it would exceed 64 KiB.
 *
 * One per engine; that engine's thread only. No lock but those of making signatures. */
#ifndef SKYDNS_SIGN_SIGNED_REPLY_H
#define SKYDNS_SIGN_SIGNED_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/sign/signed_probe.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/query.h"

struct signed_reply;

struct signed_reply *signed_reply_new(void);
void signed_reply_free(struct signed_reply *signer); /* NULL is fine */

/* To a configuration with dnssec, borrowed until the next one. */
void signed_reply_configure(struct signed_reply *signer, const struct engine_config *config);

/* As direct_answer, for a query that signed_question_concerns. A signature that is not kept is
 * ENGINE_DEFER_SIGN, unless the query may make it. */
enum engine_verdict signed_reply_answer(struct signed_reply *signer,
                                        const struct signed_source *source,
                                        const struct engine_query *query, struct response *response,
                                        struct engine_deferral *ret_deferral);

#endif
