/* Prints an explanation as text for people or JSON for programs. Main thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_PAGE_INTERNAL_H
#define SKYDNS_PAGES_EXPLAIN_PAGE_INTERNAL_H

#include "common/base/buf.h"
#include "skydns/pages/explain.h"

void explain_page_text(const struct explanation *x, struct buf *out);

/* {"name":...,"type":...,"revision":...,"status":"NOERROR","snapshot_age_s":12,"why":...,
 * "source":"cache",...,"answer":[...],"authority":[...],"additional":[...],"external":[...],
 * "serial":{"value":2600483790,"base":2600483776,"revision":14,"settings":0,"has_key":true},
 * "signed":[{"name":...,"type":...,"zone":...,"keys":[{"tag":12345,"algorithm":13,
 * "expires":"2026-01-02T03:04:05Z","left_s":604800}]}],
 * "client":{"address":...,"identity":"pod","namespace":...,"path":[{"name":...,"outcome":...}]},
 * "targets":[{"name":...,"type":...,"source":...}],"names":[{"name":...,"exists":true,
 * "keys":[{"key":...,"rule":"gave",...}]}]}; empty fields are left out. */
void explain_page_json(const struct explanation *x, struct buf *out);

/* ---- explain_page_foreign.c: the parts about other domains ---- */

void explain_text_foreign(const struct explanation *x, struct buf *out);
void explain_json_foreign(const struct explanation *x, struct buf *out);

/* ---- explain_page_who.c: the parts about the client ---- */

void explain_text_who(const struct explanation *x, struct buf *out);
void explain_json_who(const struct explanation *x, struct buf *out);

/* The search list of a short name. */
void explain_text_search(const struct explanation *x, struct buf *out);
void explain_json_search(const struct explanation *x, struct buf *out);

/* ---- explain_page_state.c: etcd, the domain, changes, and similar names ---- */

void explain_text_state(const struct explanation *x, struct buf *out);
void explain_json_state(const struct explanation *x, struct buf *out);

/* The labels from the root down to the name. */
void explain_json_tree(const struct explanation *x, struct buf *out);

/* The latest change of the name, if it is known; `revision` 0: whatever it is, else only this. The
 * text comes after `before`; false: not known, and nothing is appended. */
bool explain_text_change(const struct explanation *x, const struct dname *name, int64_t revision,
                         const char *before, struct buf *out);
void explain_json_change(const struct explanation *x, const struct dname *name, int64_t revision,
                         struct buf *out);

void explain_text_near(const char *title, const struct dname *near, size_t count, struct buf *out);
void explain_json_near(const struct dname *near, size_t count, struct buf *out);

/* ---- explain_page_signed.c: the keys and signatures of -dnssec ---- */

/* The answer, if it is keys; */
void explain_text_keys(const struct explanation *x, struct buf *out);
void explain_json_keys(const struct explanation *x, struct buf *out);

/* what it is signed with. */
void explain_text_signed(const struct explanation *x, struct buf *out);
void explain_json_signed(const struct explanation *x, struct buf *out);

/* "3 d 4 h", "2 m 10 s": two units are enough. */
void explain_text_age(uint32_t s, struct buf *out);

#endif
