/* Prints an explanation as text for people or JSON for programs. Main thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_PAGE_INTERNAL_H
#define SKYDNS_PAGES_EXPLAIN_PAGE_INTERNAL_H

#include "common/base/buf.h"
#include "skydns/pages/explain.h"

void explain_page_text(const struct explanation *x, struct buf *out);

/* {"name":...,"type":...,"revision":...,"status":"NOERROR","why":...,"answer":[...],"authority":
 * [...],"additional":[...],"external":[...],"names":[{"name":...,"exists":true,"keys":[{"key":...,
 * "rule":"gave",...}]}]}; empty fields are left out. */
void explain_page_json(const struct explanation *x, struct buf *out);

#endif
