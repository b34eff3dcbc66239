
#include "common/base/buf.h"
#include "skydns/corefile/lexer_internal.h"

/* State of a pass over the text: one counts the words, the next one stores them. */
struct lexer {
    const char *at;
    const char *end;
    unsigned line;
    bool has_newline; /* since the last word */
    struct buf word;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_blank(struct lexer *l)
{
    bool is_comment = false;
    for (; l->at < l->end && (is_comment || is_space(*l->at) || *l->at == '#'); l->at++) {
        is_comment = *l->at == '#' || (is_comment && *l->at != '\n');
        l->line += *l->at == '\n';
        l->has_newline |= *l->at == '\n';
    }
}

static void read_plain(struct lexer *l)
{
    while (l->at < l->end && !is_space(*l->at) && *l->at != '#') {
        buf_append_char(&l->word, *l->at++);
    }
}

/* Reads on after the first quotation mark; \" is one. */
static int read_quoted(struct lexer *l, struct err *err)
{
    unsigned line = l->line;
    for (; l->at < l->end && *l->at != '"'; l->at++) {
        l->at += *l->at == '\\' && l->at + 1 < l->end && l->at[1] == '"';
        l->line += *l->at == '\n';
        buf_append_char(&l->word, *l->at);
    }
    if (l->at == l->end) {
        return err_set(err, ERR_SYNTAX, "%u: quotation without an end", line);
    }
    l->at++;
    return 0;
}

/* Reads the next word into l->word. *ret_has_word is false at the end. */
static int lexer_next_word(struct lexer *l, bool *ret_has_word, struct token *ret_token,
                           struct err *err)
{
    buf_clear(&l->word);
    skip_blank(l);
    *ret_has_word = l->at < l->end;
    if (!*ret_has_word) {
        return 0;
    }
    *ret_token = (struct token){.text = "", .line = l->line, .begins_line = l->has_newline};
    l->has_newline = false;
    if (*l->at == '"') {
        l->at++;
        ret_token->is_quoted = true;
        return read_quoted(l, err);
    }
    read_plain(l);
    return 0;
}

/* ---- Variables ---- */

/* Finds "{$NAME}" or "{%NAME%}" at the text: its length, and the name; 0: none. */
static size_t variable_at(struct slice text, struct slice *ret_name)
{
    static const struct {
        const char *open;
        const char *close;
    } forms[] = {{"{$", "}"}, {"{%", "%}"}};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct slice open = slice_str(forms[i].open), close = slice_str(forms[i].close);
        const char *end =
            slice_has_prefix(text, open)
                ? memmem(text.ptr + open.len, text.len - open.len, close.ptr, close.len)
                : NULL;
        if (end) {
            *ret_name = slice_of(text.ptr + open.len, (size_t)(end - text.ptr) - open.len);
            return (size_t)(end - text.ptr) + close.len;
        }
    }
    return 0;
}

static void append_variable(struct slice name, variable_fn variable, struct token *token,
                            struct buf *out)
{
    CLEANUP_BUF struct buf copy = buf_of(COREFILE_BYTES_MAX + 1);
    buf_append_slice(&copy, name);
    const char *value = variable(buf_cstr(&copy));
    token->lacks_variable |= !value;
    buf_append_str(out, value ? value : "");
}

/* Stores the word with its variables replaced, in the arena. */
static int keep_word(struct slice word, variable_fn variable, struct arena *arena,
                     struct token *token, struct err *err)
{
    CLEANUP_BUF struct buf text = buf_of(COREFILE_ARENA_MAX);
    while (word.len > 0) {
        struct slice name;
        size_t used = variable_at(word, &name);
        if (used) {
            append_variable(name, variable, token, &text);
        } else {
            used = 1;
            buf_append_char(&text, word.ptr[0]);
        }
        word = slice_of(word.ptr + used, word.len - used);
    }
    char *stored = text.failed ? NULL : arena_alloc(arena, text.len + 1);
    if (stored) {
        memcpy(stored, buf_cstr(&text), text.len + 1);
        token->text = stored;
    }
    return stored ? 0
                  : err_set(err, ERR_TOO_LARGE, "%u: too large with its variables", token->line);
}

/* ---- Everything ---- */

static int corefile_lexer_split(struct slice text, variable_fn variable, struct arena *arena,
                                struct token *items, size_t *ret_count, struct err *err)
{
    struct lexer l = {.at = text.ptr, .end = text.ptr + text.len, .line = 1, .has_newline = true};
    bool has_word = true;
    int r = 0;
    buf_init(&l.word, COREFILE_BYTES_MAX + 1);
    *ret_count = 0;
    while (r == 0 && has_word) {
        struct token token;
        r = lexer_next_word(&l, &has_word, &token, err);
        if (r == 0 && has_word && items) {
            r = keep_word(buf_slice(&l.word), variable, arena, &token, err);
            items[*ret_count] = token;
        }
        *ret_count += has_word;
    }
    buf_fini(&l.word);
    return r;
}

int lexer_split(struct slice text, variable_fn variable, struct arena *arena,
                struct tokens *ret_tokens, struct err *err)
{
    *ret_tokens = (struct tokens){.items = NULL};
    if (text.len > COREFILE_BYTES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "expected at most %d bytes", COREFILE_BYTES_MAX);
    }
    if (text.len == 0) {
        return 0;
    }
    if (memchr(text.ptr, '\0', text.len)) {
        return err_set(err, ERR_SYNTAX, "contains a NUL");
    }
    size_t count;
    int r = corefile_lexer_split(text, variable, arena, NULL, &count, err);
    if (r < 0) {
        return r;
    }
    struct token *items = arena_alloc(arena, (count + 1) * sizeof(*items));
    if (!items) {
        return err_set(err, ERR_TOO_LARGE, "has too many words");
    }
    r = corefile_lexer_split(text, variable, arena, items, &count, err);
    *ret_tokens = (struct tokens){.items = items, .count = count};
    return r;
}
