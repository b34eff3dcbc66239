#include "skydns/tsig/tsig_keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/xalloc.h"
#include "skydns/tsig/tsig_internal.h"

struct tsig_keys {
    _Atomic unsigned refs;
    size_t count;
    struct tsig_key items[TSIG_KEYS_MAX];
};

/* ---- Words: `{`, `}`, `;`, "quoted", or anything else up to a blank or one of these ---- */

struct lexer {
    struct slice text;
    size_t at;
    unsigned line;
    struct err *err;
};

static bool at_is(const struct lexer *l, const char *what)
{
    return slice_has_prefix(slice_of(l->text.ptr + l->at, l->text.len - l->at), slice_str(what));
}

static void tsig_keys_step(struct lexer *l)
{
    l->line += l->text.ptr[l->at] == '\n';
    l->at++;
}

static void skip_until(struct lexer *l, const char *end)
{
    while (l->at < l->text.len && !at_is(l, end)) {
        tsig_keys_step(l);
    }
}

/* Skips blanks and comments as in BIND's files; one of C's that does not end goes to the end of the
 * file. */
static void tsig_keys_skip_blanks(struct lexer *l)
{
    while (l->at < l->text.len) {
        if (strchr(" \t\r\n", l->text.ptr[l->at])) {
            tsig_keys_step(l);
        } else if (at_is(l, "#") || at_is(l, "//")) {
            skip_until(l, "\n");
        } else if (at_is(l, "/*")) {
            skip_until(l, "*/");
            l->at += l->at < l->text.len ? 2 : 0;
        } else {
            return;
        }
    }
}

static bool tsig_keys_is_mark(char c)
{
    return c == '{' || c == '}' || c == ';';
}

static struct slice tsig_keys_quoted(struct lexer *l)
{
    size_t begin = ++l->at;
    while (l->at < l->text.len && l->text.ptr[l->at] != '"' && l->text.ptr[l->at] != '\n') {
        l->at++;
    }
    struct slice word = slice_of(l->text.ptr + begin, l->at - begin);
    l->at += l->at < l->text.len && l->text.ptr[l->at] == '"';
    return word;
}

/* Returns the next word; empty at the end of the text. */
static struct slice tsig_keys_next_word(struct lexer *l)
{
    tsig_keys_skip_blanks(l);
    if (l->at < l->text.len && l->text.ptr[l->at] == '"') {
        return tsig_keys_quoted(l);
    }
    size_t begin = l->at;
    while (l->at < l->text.len && !strchr(" \t\r\n\"", l->text.ptr[l->at])) {
        if (tsig_keys_is_mark(l->text.ptr[l->at])) {
            l->at += l->at == begin;
            break;
        }
        l->at++;
    }
    return slice_of(l->text.ptr + begin, l->at - begin);
}

/* ---- Clauses ---- */

enum { SHOWN_MAX = 64 };

static int tsig_keys_expected(const struct lexer *l, const char *what, struct slice found)
{
    return err_set(l->err, ERR_USAGE, "line %u: expected %s, found `%.*s`", l->line, what,
                   (int)(found.len < SHOWN_MAX ? found.len : SHOWN_MAX), found.ptr);
}

static int tsig_keys_expect(struct lexer *l, const char *word, const char *what)
{
    struct slice found = tsig_keys_next_word(l);
    return slice_equal(found, slice_str(word)) ? 0 : tsig_keys_expected(l, what, found);
}

static int read_algorithm(struct lexer *l, struct tsig_key *key)
{
    struct slice word = tsig_keys_next_word(l);
    word.len -= word.len > 0 && word.ptr[word.len - 1] == '.';
    key->algorithm = tsig_algorithm_find(word);
    if (!key->algorithm) {
        bool is_md5 = word.len >= 8 && strncasecmp(word.ptr, "hmac-md5", 8) == 0;
        return tsig_keys_expected(l,
                                  is_md5 ? "hmac-sha256 or another of SHA, since MD5 is too weak"
                                         : "hmac-sha1, -sha224, -sha256, -sha384 or -sha512",
                                  word);
    }
    return dname_from_text(slice_str(key->algorithm->text), &key->algorithm_name)
               ? 0
               : tsig_keys_expected(l, "an algorithm", word);
}

/* Reads the secret. Errors do not quote what is there instead: it may be most of a secret. */
static int tsig_keys_read_secret(struct lexer *l, struct tsig_key *key)
{
    struct slice word = tsig_keys_next_word(l);
    return tsig_secret_decode(word, key->secret, &key->secret_len)
               ? 0
               : err_set(l->err, ERR_USAGE, "line %u: expected a secret of 1 to %d bytes in base64",
                         l->line, TSIG_SECRET_MAX);
}

static int tsig_keys_read_fields(struct lexer *l, struct tsig_key *key)
{
    for (;;) {
        struct slice word = tsig_keys_next_word(l);
        int r;
        if (slice_equal(word, slice_str("}"))) {
            break;
        }
        if (slice_equal(word, slice_str("algorithm"))) {
            r = read_algorithm(l, key);
        } else if (slice_equal(word, slice_str("secret"))) {
            r = tsig_keys_read_secret(l, key);
        } else {
            r = tsig_keys_expected(l, "`algorithm`, `secret` or `}`", word);
        }
        r = r == 0 ? tsig_keys_expect(l, ";", "`;`") : r;
        if (r < 0) {
            return r;
        }
    }
    if (!key->algorithm || key->secret_len == 0) {
        return err_set(l->err, ERR_USAGE, "line %u: expected `%s` in the key", l->line,
                       key->algorithm ? "secret" : "algorithm");
    }
    return tsig_keys_expect(l, ";", "`;`");
}

static int tsig_keys_read_key(struct lexer *l, struct tsig_keys *keys)
{
    struct tsig_key *key = &keys->items[keys->count];
    struct slice name = tsig_keys_next_word(l);
    if (name.len == 0 || tsig_keys_is_mark(name.ptr[0]) || !dname_from_text(name, &key->name) ||
        key->name.len > TSIG_NAME_MAX) {
        return tsig_keys_expected(l, "the name of a key, a DNS name of at most 80 bytes", name);
    }
    dname_lower(&key->name);
    if (tsig_keys_find(keys, &key->name)) {
        return tsig_keys_expected(l, "each name once", name);
    }
    int r = tsig_keys_expect(l, "{", "`{`");
    r = r == 0 ? tsig_keys_read_fields(l, key) : r;
    keys->count += r == 0;
    return r;
}

static int tsig_keys_read_all(struct lexer *l, struct tsig_keys *keys)
{
    for (struct slice word; (word = tsig_keys_next_word(l)).len > 0;) {
        int r;
        if (!slice_equal(word, slice_str("key"))) {
            return tsig_keys_expected(l, "`key`", word);
        }
        if (keys->count == TSIG_KEYS_MAX) {
            return err_set(l->err, ERR_USAGE, "line %u: expected at most %d keys", l->line,
                           TSIG_KEYS_MAX);
        }
        if ((r = tsig_keys_read_key(l, keys)) < 0) {
            return r;
        }
    }
    return keys->count > 0 ? 0
                           : err_set(l->err, ERR_USAGE, "expected a key, as tsig-keygen prints it");
}

/* ---- The keys ---- */

int tsig_keys_parse(struct slice text, struct tsig_keys **ret_keys, struct err *err)
{
    if (text.len > TSIG_KEYS_FILE_MAX) {
        return err_set(err, ERR_USAGE, "expected at most %d bytes", TSIG_KEYS_FILE_MAX);
    }
    struct tsig_keys *keys = xcalloc(1, sizeof(*keys));
    struct lexer lexer = {.text = text, .line = 1, .err = err};
    atomic_init(&keys->refs, 1);
    int r = tsig_keys_read_all(&lexer, keys);
    if (r < 0) {
        tsig_keys_unref(keys);
        return r;
    }
    *ret_keys = keys;
    return 0;
}

struct tsig_keys *tsig_keys_ref(struct tsig_keys *keys)
{
    if (keys) {
        (void)atomic_fetch_add_explicit(&keys->refs, 1, memory_order_relaxed);
    }
    return keys;
}

void tsig_keys_unref(struct tsig_keys *keys)
{
    if (keys && atomic_fetch_sub_explicit(&keys->refs, 1, memory_order_acq_rel) == 1) {
        explicit_bzero(keys, sizeof(*keys));
        free(keys);
    }
}

size_t tsig_keys_count(const struct tsig_keys *keys)
{
    return keys->count;
}

const struct tsig_key *tsig_keys_at(const struct tsig_keys *keys, size_t i)
{
    return &keys->items[i];
}

const struct tsig_key *tsig_keys_find(const struct tsig_keys *keys, const struct dname *name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (dname_equal(&keys->items[i].name, name)) {
            return &keys->items[i];
        }
    }
    return NULL;
}

const struct dname *tsig_key_name(const struct tsig_key *key)
{
    return &key->name;
}

const char *tsig_key_algorithm(const struct tsig_key *key)
{
    return key->algorithm->text;
}
