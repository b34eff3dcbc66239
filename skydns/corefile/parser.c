#include "skydns/corefile/parser_internal.h"

#include <string.h>

#include "skydns/corefile/imports_internal.h"
#include "skydns/corefile/source_internal.h"

/* State of the parser. All arrays are as long as there could be elements, which the words bound:
 * nothing grows. */
struct parser {
    struct tokens tokens;
    size_t at;
    struct arena *arena;
    const char **words; /* of all lines; a line is a part of it */
    size_t word_count;
    struct corefile_line *lines;
    size_t line_count;
    struct corefile_directive *directives;
    size_t directive_count;
    struct err *err;
};

static const struct token *parser_peek(const struct parser *p)
{
    return p->at < p->tokens.count ? &p->tokens.items[p->at] : NULL;
}

static bool is_brace(const struct token *token, const char *brace)
{
    return token && !token->is_quoted && strcmp(token->text, brace) == 0;
}

static unsigned last_line(const struct parser *p)
{
    const struct token *tokens = p->tokens.items;
    return tokens && p->tokens.count ? tokens[p->tokens.count - 1].line : 1;
}

static int missing_end(struct parser *p)
{
    return err_set(p->err, ERR_SYNTAX, "%u: expected }, found the end of the file", last_line(p));
}

/* ---- Lines ---- */

static struct corefile_line begin_line(struct parser *p, unsigned number)
{
    return (struct corefile_line){.words = p->words + p->word_count, .number = number};
}

static void add_word(struct parser *p, struct corefile_line *line, const char *word)
{
    p->words[p->word_count++] = word;
    line->count++;
}

/* ---- Directives ---- */

/* Parses the lines in braces, the first of which is next. */
static int parse_lines(struct parser *p, struct corefile_directive *directive)
{
    struct corefile_line *line = NULL;
    size_t depth = 0;
    do {
        const struct token *token = parser_peek(p);
        if (!token) {
            return missing_end(p);
        }
        p->at++;
        bool is_open = is_brace(token, "{"), is_close = is_brace(token, "}");
        depth += is_open;
        depth -= is_close;
        if (is_open || is_close) {
            line = NULL;
            continue;
        }
        if (!line || token->begins_line) {
            line = &p->lines[p->line_count++];
            *line = begin_line(p, token->line);
            directive->line_count++;
        }
        add_word(p, line, token->text);
        directive->lacks_variable |= token->lacks_variable;
    } while (depth > 0);
    return 0;
}

static int parse_directive(struct parser *p)
{
    const struct token *first = parser_peek(p);
    struct corefile_directive *directive = &p->directives[p->directive_count++];
    *directive = (struct corefile_directive){
        .head = begin_line(p, first->line),
        .lines = p->lines + p->line_count,
    };
    for (const struct token *token = first;
         token && (token == first || !token->begins_line) && !is_brace(token, "{");
         token = parser_peek(p)) {
        if (is_brace(token, "}")) {
            return err_set(p->err, ERR_SYNTAX, "%u: unexpected } after `%.64s`", token->line,
                           first->text);
        }
        add_word(p, &directive->head, token->text);
        directive->lacks_variable |= token->lacks_variable;
        p->at++;
    }
    const struct token *next = parser_peek(p);
    if (is_brace(next, "{") && !next->begins_line) {
        return parse_lines(p, directive);
    }
    return 0;
}

/* Parses directives up to the closing brace, or without braces to the end of the file. */
static int parse_directives(struct parser *p, struct corefile_block *block, bool has_braces)
{
    const struct token *token;
    block->directives = p->directives + p->directive_count;
    while ((token = parser_peek(p)) && !is_brace(token, "}")) {
        if (is_brace(token, "{")) {
            return err_set(p->err, ERR_SYNTAX, "%u: unexpected {: expected a plugin", token->line);
        }
        int r = parse_directive(p);
        if (r < 0) {
            return r;
        }
        block->directive_count++;
    }
    if (!has_braces) {
        return token ? err_set(p->err, ERR_SYNTAX, "%u: unexpected }", token->line) : 0;
    }
    if (!token) {
        return missing_end(p);
    }
    p->at++;
    return 0;
}

/* ---- Server blocks ---- */

static int parser_add_key(struct parser *p, struct corefile_block *block, const struct token *token,
                          bool *ret_expects_more)
{
    size_t n = strlen(token->text);
    *ret_expects_more = n > 0 && token->text[n - 1] == ',';
    if (n > 1 && token->text[n - 1] == '{') {
        return err_set(p->err, ERR_SYNTAX, "%u: `%.64s`: expected a space before the {",
                       token->line, token->text);
    }
    char *key = arena_alloc(p->arena, n + 1);
    if (!key) {
        return err_set(p->err, ERR_TOO_LARGE, "has too many words");
    }
    memcpy(key, token->text, n + 1);
    key[n - *ret_expects_more] = '\0';
    if (*key) {
        add_word(p, &block->keys, key);
    }
    return 0;
}

/* Parses zones, on further lines after a comma. */
static int parser_parse_keys(struct parser *p, struct corefile_block *block)
{
    bool expects_more = false, is_first = true;
    const struct token *token;
    while ((token = parser_peek(p)) && !is_brace(token, "{") &&
           (is_first || expects_more || !token->begins_line)) {
        if (is_brace(token, "}")) {
            return err_set(p->err, ERR_SYNTAX, "%u: unexpected }: expected a zone", token->line);
        }
        int r = parser_add_key(p, block, token, &expects_more);
        if (r < 0) {
            return r;
        }
        block->lacks_variable |= token->lacks_variable;
        is_first = false;
        p->at++;
    }
    if (expects_more) {
        return err_set(p->err, ERR_SYNTAX, "%u: expected a zone after the comma",
                       token ? token->line : last_line(p));
    }
    return 0;
}

static int parse_block(struct parser *p, struct corefile_block *block)
{
    const struct token *first = parser_peek(p);
    *block = (struct corefile_block){.keys = begin_line(p, first->line)};
    int r = parser_parse_keys(p, block);
    if (r < 0) {
        return r;
    }
    const struct token *token = parser_peek(p);
    bool has_braces = is_brace(token, "{");
    if (has_braces && block->keys.count == 0) {
        return err_set(p->err, ERR_SYNTAX, "%u: expected a zone before the {", token->line);
    }
    p->at += has_braces;
    return parse_directives(p, block, has_braces);
}

static int parser_parse(struct parser *p, struct corefile *corefile)
{
    size_t n = p->tokens.count + 1;
    p->words = arena_alloc(p->arena, n * sizeof(*p->words));
    p->lines = arena_alloc(p->arena, n * sizeof(*p->lines));
    p->directives = arena_alloc(p->arena, n * sizeof(*p->directives));
    corefile->blocks = arena_alloc(p->arena, n * sizeof(*corefile->blocks));
    if (!p->words || !p->lines || !p->directives || !corefile->blocks) {
        return err_set(p->err, ERR_TOO_LARGE, "has too many words");
    }
    int r = 0;
    while (r == 0 && parser_peek(p)) {
        r = parse_block(p, &corefile->blocks[corefile->block_count]);
        corefile->block_count += r == 0;
    }
    return r;
}

int corefile_parse(struct slice text, variable_fn variable, struct corefile *ret_corefile,
                   struct err *err)
{
    struct parser p = {.arena = &ret_corefile->arena, .err = err};
    *ret_corefile = (struct corefile){.blocks = NULL};
    arena_init(&ret_corefile->arena, COREFILE_ARENA_MAX);
    struct tokens tokens;
    CLEANUP_BUF struct buf source = buf_of(COREFILE_BYTES_MAX + 1);
    int r = source_extract(text, &source, err);
    if (r == 0 && source.failed) {
        r = err_set(err, ERR_TOO_LARGE, "expected at most %d bytes", COREFILE_BYTES_MAX);
    }
    if (r == 0) {
        r = lexer_split(buf_slice(&source), variable, p.arena, &tokens, err);
    }
    if (r == 0) {
        r = imports_expand(tokens, p.arena, &p.tokens, &ret_corefile->unread, err);
    }
    return r < 0 ? r : parser_parse(&p, ret_corefile);
}

void corefile_fini(struct corefile *corefile)
{
    arena_fini(&corefile->arena);
}
