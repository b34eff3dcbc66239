#include "skydns/config/key_pair_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "skydns/config/watched_file_internal.h"

/* Seconds between looks: with the delays before and after, changed keys are in use within 2 s even
 * if a file raises no events. */
static const double look_s = 1.0;

struct half {
    char *path;
    struct watched_file *file;
    struct buf text; /* as it said last */
};

struct key_pair {
    char *base;
    struct half public_half, private_half;
    struct signing_key *key; /* of both texts; NULL: none */
};

/* ---- Secrets ---- */

static void key_pair_wipe(struct buf *text)
{
    if (text->data) {
        explicit_bzero(text->data, text->cap);
    }
    buf_clear(text);
}

static void key_pair_drop(struct buf *text)
{
    key_pair_wipe(text);
    buf_fini(text);
}

/* ---- Lifetime ---- */

static void open_half(struct half *half, const char *base, const char *ending,
                      const struct watched_file_config *files)
{
    struct watched_file_config file = *files;
    file.path = half->path = xasprintf("%s%s", base, ending);
    file.bytes_max = SIGNING_KEY_FILE_MAX;
    file.look_s = look_s;
    half->file = watched_file_new(&file);
    buf_init(&half->text, SIGNING_KEY_FILE_MAX);
}

static void close_half(struct half *half)
{
    watched_file_free(half->file);
    key_pair_drop(&half->text);
    free(half->path);
}

struct key_pair *key_pair_new(const char *base, const struct watched_file_config *files)
{
    struct key_pair *pair = xcalloc(1, sizeof(*pair));
    pair->base = xstrdup(base);
    open_half(&pair->public_half, base, ".key", files);
    open_half(&pair->private_half, base, ".private", files);
    return pair;
}

void key_pair_free(struct key_pair *pair)
{
    if (pair) {
        close_half(&pair->public_half);
        close_half(&pair->private_half);
        signing_key_free(pair->key);
        free(pair->base);
        free(pair);
    }
}

/* ---- Reading ---- */

/* Reads both texts; *ret_is_gone: there is neither file. */
static int read_both(struct key_pair *pair, struct buf *public_text, struct buf *private_text,
                     bool *ret_is_gone, struct err *err)
{
    struct err second;
    int r = watched_file_read(pair->public_half.file, public_text, err);
    int r2 = watched_file_read(pair->private_half.file, private_text, &second);
    *ret_is_gone = r == -ENOENT && r2 == -ENOENT;
    if (r == 0 && r2 < 0) {
        return err_set(err, r2, "%s", second.msg);
    }
    return r;
}

/* Checks the owner: a name in the list of -dnssec stands for keys of one zone. */
static int check_owner(const struct key_pair *pair, const struct signing_key *key, struct err *err)
{
    char is[DNAME_TEXT_MAX], was[DNAME_TEXT_MAX];
    if (!pair->key || dname_equal(&pair->key->owner, &key->owner)) {
        return 0;
    }
    return err_set(err, ERR_SYNTAX, "a key of %s: expected one of %s as before",
                   dname_to_text(&key->owner, is), dname_to_text(&pair->key->owner, was));
}

/* Takes the texts if they are another key. */
static enum key_pair_outcome key_pair_adopt(struct key_pair *pair, struct buf *public_text,
                                            struct buf *private_text, struct err *err)
{
    struct signing_key *key;
    if (pair->key && slice_equal(buf_slice(public_text), buf_slice(&pair->public_half.text)) &&
        slice_equal(buf_slice(private_text), buf_slice(&pair->private_half.text))) {
        return KEY_PAIR_SAME;
    }
    int r = signing_key_parse(buf_slice(public_text), buf_slice(private_text), &key, err);
    if (r == 0 && (r = check_owner(pair, key, err)) < 0) {
        signing_key_free(key);
    }
    if (r < 0) {
        (void)err_wrap(err, r, "`%s`, `%s`", pair->public_half.path, pair->private_half.path);
        return KEY_PAIR_BROKEN;
    }
    key_pair_forget(pair);
    pair->key = key;
    buf_append_slice(&pair->public_half.text, buf_slice(public_text));
    buf_append_slice(&pair->private_half.text, buf_slice(private_text));
    return KEY_PAIR_NEW;
}

enum key_pair_outcome key_pair_read(struct key_pair *pair, struct err *err)
{
    struct buf public_text, private_text;
    bool is_gone;
    enum key_pair_outcome outcome = KEY_PAIR_BROKEN;
    buf_init(&public_text, SIGNING_KEY_FILE_MAX);
    buf_init(&private_text, SIGNING_KEY_FILE_MAX);
    (void)buf_reserve(&private_text, SIGNING_KEY_FILE_MAX); /* growing would leave copies behind */
    buf_clear(&private_text);
    if (read_both(pair, &public_text, &private_text, &is_gone, err) == 0) {
        outcome = key_pair_adopt(pair, &public_text, &private_text, err);
    } else if (is_gone) {
        outcome = KEY_PAIR_GONE;
    }
    key_pair_drop(&public_text);
    key_pair_drop(&private_text);
    return outcome;
}

void key_pair_forget(struct key_pair *pair)
{
    signing_key_free(STEAL(pair->key));
    key_pair_wipe(&pair->public_half.text);
    key_pair_wipe(&pair->private_half.text);
}

const struct signing_key *key_pair_key(const struct key_pair *pair)
{
    return pair->key;
}

int key_pair_copy(const struct key_pair *pair, struct signing_key **ret_key, struct err *err)
{
    int r = signing_key_parse(buf_slice(&pair->public_half.text),
                              buf_slice(&pair->private_half.text), ret_key, err);
    return r < 0 ? err_wrap(err, r, "`%s`", pair->base) : 0;
}

const char *key_pair_base(const struct key_pair *pair)
{
    return pair->base;
}

bool key_pair_is_exposed(const struct key_pair *pair)
{
    struct stat st;
    return stat(pair->private_half.path, &st) == 0 && (st.st_mode & S_IRWXO) != 0;
}
