/* Parses a Corefile into server blocks, their directives and lines, with the words of imported
 * snippets. Reads only the structure, as Caddy's parser of CoreDNS does. translate_internal.h
 * interprets the plugins. PURE. */
#ifndef SKYDNS_COREFILE_PARSER_INTERNAL_H
#define SKYDNS_COREFILE_PARSER_INTERNAL_H

#include <stddef.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/corefile/lexer_internal.h"

/* Words of a line; without braces. */
struct corefile_line {
    const char *const *words;
    size_t count;
    unsigned number;
};

/* Returns whether the line begins with this word: the name of a plugin or option. */
static inline bool corefile_line_is(const struct corefile_line *line, const char *word)
{
    return strcmp(line->words[0], word) == 0;
}

/* Directive, "cache 30 { ... }": its words, and the lines in its braces. Lines in further braces in
 * there are not nested any further. */
struct corefile_directive {
    struct corefile_line head; /* words[0]: the plugin */
    const struct corefile_line *lines;
    size_t line_count;
    bool lacks_variable; /* one of its words has a variable that is not set */
};

/* Server block, ".:53 example.org:53 { ... }". */
struct corefile_block {
    struct corefile_line keys;
    const struct corefile_directive *directives;
    size_t directive_count;
    bool lacks_variable; /* as of a directive, of one of its keys */
};

struct corefile {
    struct arena arena;
    struct corefile_block *blocks;
    size_t block_count;
    struct tokens unread; /* names of imported files */
};

/* Parses. ERR_SYNTAX, with the line, "17: ...", or ERR_TOO_LARGE. Call corefile_fini in any
 * case. */
int corefile_parse(struct slice text, variable_fn variable, struct corefile *ret_corefile,
                   struct err *err) MUST_CHECK;
void corefile_fini(struct corefile *corefile);

#endif
