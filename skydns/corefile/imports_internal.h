/* Expands `import` of snippets: their words take its place before anything is parsed, as in
 * CoreDNS, so that blocks, plugins and options see them alike. Files are not read. PURE. */
#ifndef SKYDNS_COREFILE_IMPORTS_INTERNAL_H
#define SKYDNS_COREFILE_IMPORTS_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/corefile/lexer_internal.h"

/* Limits snippets that import snippets, and the words that they add: more is a circle, or text that
 * doubles itself. Imports: as many as CoreDNS takes. */
enum { IMPORT_DEPTH_MAX = 10, IMPORTS_MAX = 1000, IMPORTED_WORDS_MAX = 100000 };

/* Returns the words without snippets and imports, in the arena or as they were; and the names of
 * what is no snippet, once for each import. ERR_SYNTAX: an import of nothing or of several words,
 * with its line. ERR_TOO_LARGE: beyond the limits, or the arena's. */
int imports_expand(struct tokens tokens, struct arena *arena, struct tokens *ret_tokens,
                   struct tokens *ret_unread, struct err *err) MUST_CHECK;

#endif
