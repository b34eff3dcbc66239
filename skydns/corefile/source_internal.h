/* Finds the Corefile in a file: after a byte order mark, or in the ConfigMap that kubectl prints as
 * YAML. Called by the parser, before the lexer. PURE. */
#ifndef SKYDNS_COREFILE_SOURCE_INTERNAL_H
#define SKYDNS_COREFILE_SOURCE_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Appends the Corefile, each line with its number in `text`: those before it are empty. Of YAML
 * that is a literal block scalar, "Corefile: |" (YAML 1.2, 8.1). ERR_SYNTAX: a ConfigMap without
 * one, with the line. At most as long as `text`. */
int source_extract(struct slice text, struct buf *out, struct err *err) MUST_CHECK;

#endif
