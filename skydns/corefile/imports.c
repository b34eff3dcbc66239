#include "skydns/corefile/imports_internal.h"

#include <string.h>

/* Snippet, "(name) { ... }" among the blocks: its words are those from begin on, before end. */
struct snippet {
    const char *key;
    size_t begin, end;
};

/* Part of the words that is being copied. */
struct import_part {
    size_t at, end;
};

/* State of a pass: one counts the words, the next one stores them. */
struct imports {
    struct tokens source;
    struct snippet *snippets;
    size_t snippet_count;
    struct import_part
        parts[IMPORT_DEPTH_MAX + 1];     /* the file, a snippet, one that it imports... */
    size_t depth;                        /* of them */
    size_t next_snippet;                 /* not yet passed in the file */
    size_t import_count, imported_count; /* the latter: words */
    bool begins_line;                    /* the next word is a snippet's first */
    struct token *words;
    size_t word_count;
    struct token *unread;
    size_t unread_count;
    struct err *err;
};

static bool token_is(const struct token *token, const char *text)
{
    return !token->is_quoted && strcmp(token->text, text) == 0;
}

static bool token_is_brace(const struct token *token)
{
    return token_is(token, "{") || token_is(token, "}");
}

/* ---- Snippets ---- */

/* Returns the closing brace of the one at i, or the end of the file. */
static size_t matching_brace(struct tokens tokens, size_t i)
{
    for (size_t depth = 0; i < tokens.count; i++) {
        depth += token_is(&tokens.items[i], "{");
        depth -= token_is(&tokens.items[i], "}");
        if (depth == 0) {
            break;
        }
    }
    return i;
}

/* Returns whether "(name) {" is here, where a block may begin. */
static bool is_snippet(struct tokens tokens, size_t i)
{
    const struct token *token = &tokens.items[i];
    size_t n = strlen(token->text);
    const char *before = i > 0 ? tokens.items[i - 1].text : "";
    return n > 2 && token->text[0] == '(' && token->text[n - 1] == ')' &&
           (token->begins_line || strcmp(before, "}") == 0) &&
           (!*before || before[strlen(before) - 1] != ',') && i + 1 < tokens.count &&
           token_is(&tokens.items[i + 1], "{") && matching_brace(tokens, i + 1) < tokens.count;
}

/* Lists the snippets, unless the array is NULL; returns how many there are. */
static size_t list_snippets(struct tokens tokens, struct snippet *ret_snippets)
{
    size_t count = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        if (is_snippet(tokens, i)) {
            size_t end = matching_brace(tokens, i + 1);
            if (ret_snippets) {
                ret_snippets[count] = (struct snippet){tokens.items[i].text, i + 2, end};
            }
            count++;
            i = end;
        } else if (token_is(&tokens.items[i], "{")) {
            i = matching_brace(tokens, i);
        }
    }
    return count;
}

static const struct snippet *find_snippet(const struct imports *x, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < x->snippet_count; i++) {
        const char *key = x->snippets[i].key;
        if (strlen(key) == n + 2 && strncmp(key + 1, name, n) == 0) {
            return &x->snippets[i];
        }
    }
    return NULL;
}

/* ---- Imports ---- */

/* Returns whether `import` is here: at the beginning of a line, or of a block's or plugin's
 * lines. */
static bool is_import(const struct imports *x, const struct import_part *part)
{
    const struct token *token = &x->source.items[part->at];
    return token_is(token, "import") &&
           (token->begins_line || x->begins_line || token_is_brace(&x->source.items[part->at - 1]));
}

/* Counts the words after `import` on its line. */
static size_t argument_count(const struct imports *x, const struct import_part *part)
{
    size_t i = part->at + 1;
    while (i < part->end && !x->source.items[i].begins_line &&
           !token_is_brace(&x->source.items[i])) {
        i++;
    }
    return i - part->at - 1;
}

static int push_snippet(struct imports *x, const struct snippet *snippet, unsigned line)
{
    if (x->depth > IMPORT_DEPTH_MAX) {
        return err_set(x->err, ERR_TOO_LARGE, "%u: import: expected snippets at most %d deep", line,
                       IMPORT_DEPTH_MAX);
    }
    x->parts[x->depth++] = (struct import_part){snippet->begin, snippet->end};
    x->begins_line = true;
    return 0;
}

static int take_import(struct imports *x, struct import_part *part)
{
    const struct token *import = &x->source.items[part->at], *name = import + 1;
    if (argument_count(x, part) != 1) {
        return err_set(x->err, ERR_SYNTAX, "%u: import: expected one snippet or file",
                       import->line);
    }
    if (++x->import_count > IMPORTS_MAX) {
        return err_set(x->err, ERR_TOO_LARGE,
                       "%u: expected at most %d imports, with those of snippets", import->line,
                       IMPORTS_MAX);
    }
    part->at += 2;
    const struct snippet *snippet = find_snippet(x, name->text);
    if (snippet) {
        return push_snippet(x, snippet, import->line);
    }
    if (x->unread) {
        x->unread[x->unread_count] = *name;
    }
    x->unread_count++;
    return 0;
}

static int copy_word(struct imports *x, struct import_part *part)
{
    const struct token *token = &x->source.items[part->at++];
    if (x->words) {
        x->words[x->word_count] = *token;
        x->words[x->word_count].begins_line |= x->begins_line;
    }
    x->word_count++;
    x->begins_line = false;
    x->imported_count += x->depth > 1;
    return x->imported_count > IMPORTED_WORDS_MAX
               ? err_set(x->err, ERR_TOO_LARGE, "%u: expected at most %d words from snippets",
                         token->line, IMPORTED_WORDS_MAX)
               : 0;
}

/* Skips a snippet: it is nothing in its own place. */
static bool skip_snippet(struct imports *x, struct import_part *part)
{
    const struct snippet *next =
        x->depth == 1 && x->next_snippet < x->snippet_count ? &x->snippets[x->next_snippet] : NULL;
    if (!next || part->at + 2 != next->begin) {
        return false;
    }
    part->at = next->end < part->end ? next->end + 1 : part->end;
    x->next_snippet++;
    return true;
}

static int scan_words(struct imports *x)
{
    int r = 0;
    x->parts[0] = (struct import_part){0, x->source.count};
    x->depth = 1;
    x->next_snippet = x->word_count = x->unread_count = 0;
    x->import_count = x->imported_count = 0;
    x->begins_line = false;
    while (r == 0 && x->depth > 0) {
        struct import_part *part = &x->parts[x->depth - 1];
        if (part->at == part->end) {
            x->depth--;
        } else if (is_import(x, part)) {
            r = take_import(x, part);
        } else if (!skip_snippet(x, part)) {
            r = copy_word(x, part);
        }
    }
    return r;
}

static bool has_imports(struct tokens tokens)
{
    for (size_t i = 0; i < tokens.count; i++) {
        if (token_is(&tokens.items[i], "import")) {
            return true;
        }
    }
    return false;
}

static int keep_words(struct imports *x, struct arena *arena)
{
    x->snippets = arena_alloc(arena, (x->snippet_count + 1) * sizeof(*x->snippets));
    if (!x->snippets) {
        return err_set(x->err, ERR_TOO_LARGE, "has too many words");
    }
    list_snippets(x->source, x->snippets);
    int r = scan_words(x);
    if (r < 0) {
        return r;
    }
    x->words = arena_alloc(arena, (x->word_count + 1) * sizeof(*x->words));
    x->unread = arena_alloc(arena, (x->unread_count + 1) * sizeof(*x->unread));
    if (!x->words || !x->unread) {
        return err_set(x->err, ERR_TOO_LARGE, "has too many words");
    }
    return scan_words(x);
}

int imports_expand(struct tokens tokens, struct arena *arena, struct tokens *ret_tokens,
                   struct tokens *ret_unread, struct err *err)
{
    struct imports x = {.source = tokens, .err = err};
    *ret_tokens = tokens;
    *ret_unread = (struct tokens){.items = NULL};
    x.snippet_count = list_snippets(tokens, NULL);
    if (x.snippet_count == 0 && !has_imports(tokens)) {
        return 0;
    }
    int r = keep_words(&x, arena);
    *ret_tokens = (struct tokens){.items = x.words, .count = x.word_count};
    *ret_unread = (struct tokens){.items = x.unread, .count = x.unread_count};
    return r;
}
