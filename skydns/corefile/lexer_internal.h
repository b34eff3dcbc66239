/* Splits the text of a Corefile into words: separated by white space, quoted with ", comments after
 * #. The rules are Caddy's, which CoreDNS uses. PURE: variables come from a function of the caller.
 */
#ifndef SKYDNS_COREFILE_LEXER_INTERNAL_H
#define SKYDNS_COREFILE_LEXER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Limits a Corefile as a ConfigMap does, to 1 MiB. */
enum { COREFILE_BYTES_MAX = 1024 * 1024 };

/* Limits the arena: a word of two bytes takes 40 here; variables may be longer than what names
 * them. */
enum { COREFILE_ARENA_MAX = 32 * 1024 * 1024 };

struct token {
    const char *text;    /* variables replaced, NUL-terminated; never NULL */
    unsigned line;       /* from 1 */
    bool begins_line;    /* the first on its line */
    bool is_quoted;      /* so that a quoted brace is no brace */
    bool lacks_variable; /* {$X} of which X is not set: read as empty, as CoreDNS does */
};

struct tokens {
    struct token *items; /* in the arena, as all texts */
    size_t count;
};

/* Returns the value of a variable, NULL if it is not set; as getenv. */
typedef const char *(*variable_fn)(const char *name);

/* Splits. ERR_SYNTAX: a NUL, or a quotation without an end, with its line. ERR_TOO_LARGE: more text
 * than COREFILE_BYTES_MAX, or beyond the arena's limit. */
int lexer_split(struct slice text, variable_fn variable, struct arena *arena,
                struct tokens *ret_tokens, struct err *err) MUST_CHECK;

#endif
