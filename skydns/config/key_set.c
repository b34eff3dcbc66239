#include "skydns/config/key_set_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/config/key_pair_internal.h"
#include "skydns/config/watched_file_internal.h"
#include "skydns/settings/option_values.h"

struct entry {
    struct key_set *set;
    struct key_pair *pair;
    bool is_changed; /* since it was read */
    bool is_new;     /* since key_set_warn */
    bool is_broken;  /* the files cannot be used */
    bool is_gone;    /* they are not there */
    bool is_missed;  /* and that is in the log: the key stays */
    bool is_left_out;
};

struct key_set {
    struct dnssec_files *owner;
    char list[OPTIONS_DNSSEC_MAX];
    size_t count;
    struct entry entries[DNSSEC_KEYS_MAX];
};

static void key_set_on_changed(void *data)
{
    struct entry *entry = data;
    entry->is_changed = true;
    dnssec_files_note_changed(entry->set->owner);
}

struct key_set *key_set_new(struct dnssec_files *owner, struct ev_loop *loop, const char *list)
{
    struct key_set *set = xcalloc(1, sizeof(*set));
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    set->owner = owner;
    memcpy(set->list, list, strlen(list) + 1);
    while (set->count < DNSSEC_KEYS_MAX && option_next_item(&rest, item)) {
        struct entry *entry = &set->entries[set->count++];
        entry->set = set;
        entry->pair =
            key_pair_new(item, &(struct watched_file_config){
                                   .loop = loop, .changed = key_set_on_changed, .data = entry});
    }
    return set;
}

void key_set_free(struct key_set *set)
{
    if (set) {
        for (size_t i = 0; i < set->count; i++) {
            key_pair_free(set->entries[i].pair);
        }
        free(set);
    }
}

const char *key_set_list(const struct key_set *set)
{
    return set->list;
}

/* ---- Reading ---- */

int key_set_open(struct key_set *set, struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        switch (key_pair_read(entry->pair, err)) {
        case KEY_PAIR_NEW:
            entry->is_new = true;
            break;
        case KEY_PAIR_SAME:
            break;
        case KEY_PAIR_GONE:
            entry->is_gone = true;
            return -ENOENT;
        case KEY_PAIR_BROKEN:
            entry->is_broken = true;
            return ERR_SYNTAX;
        }
        entry->is_changed = entry->is_broken = entry->is_gone = false;
    }
    return 0;
}

static void tell_broken(struct entry *entry, const struct err *err)
{
    bool has_key = key_pair_key(entry->pair) != NULL;
    entry->is_broken = true;
    log_error(has_key ? "cannot use the changed files of a key, keeping their last good content"
                      : "cannot use the files of a key, signing without it",
              LOG_STR("key", key_pair_base(entry->pair)), LOG_STR("error", err->msg));
}

/* Reads a key's files. Returns true if it is another key than before. */
static bool key_set_read_entry(struct entry *entry, bool is_final, bool *ret_waits)
{
    struct err err = {0};
    enum key_pair_outcome outcome = key_pair_read(entry->pair, &err);
    if ((outcome == KEY_PAIR_GONE || outcome == KEY_PAIR_BROKEN) && !is_final) {
        *ret_waits = true;
        return false;
    }
    entry->is_changed = entry->is_broken = false;
    entry->is_gone = outcome == KEY_PAIR_GONE;
    entry->is_missed = entry->is_missed && entry->is_gone;
    if (outcome == KEY_PAIR_BROKEN) {
        tell_broken(entry, &err);
    }
    entry->is_new = entry->is_new || outcome == KEY_PAIR_NEW;
    return outcome == KEY_PAIR_NEW;
}

/* Returns whether another key, whose files are there, signs what this one signs. Without a SEP key,
 * nothing would lead from the parent's DS records to the others. */
static bool has_successor(const struct key_set *set, const struct signing_key *key)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct signing_key *other = key_pair_key(set->entries[i].pair);
        if (other && !set->entries[i].is_gone && dname_equal(&other->owner, &key->owner) &&
            (other->is_sep || !key->is_sep)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the key is dropped. */
static bool settle_gone(struct entry *entry)
{
    const struct signing_key *key = key_pair_key(entry->pair);
    if (!entry->is_gone || !key) {
        return false;
    }
    if (has_successor(entry->set, key)) {
        log_info("the files of a key are gone, signing without it",
                 LOG_STR("key", key_pair_base(entry->pair)), LOG_INT("tag", key->tag));
        key_pair_forget(entry->pair);
        return true;
    }
    if (!entry->is_missed) {
        log_error("the files of a key are gone, keeping it: no other key of its zone takes its "
                  "place",
                  LOG_STR("key", key_pair_base(entry->pair)), LOG_INT("tag", key->tag));
        entry->is_missed = true;
    }
    return false;
}

bool key_set_read(struct key_set *set, bool all, bool is_final, bool *ret_waits)
{
    bool differs = false;
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        if (entry->is_changed || all) {
            entry->is_changed = true;
            differs = key_set_read_entry(entry, is_final, ret_waits) || differs;
        }
    }
    for (size_t i = 0; i < set->count; i++) {
        differs = settle_gone(&set->entries[i]) || differs;
    }
    return differs;
}

size_t key_set_unusable(const struct key_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct entry *entry = &set->entries[i];
        count += entry->is_broken || (entry->is_gone && key_pair_key(entry->pair));
    }
    return count;
}

/* ---- Owners ---- */

int key_set_check_owners(const struct key_set *set, const struct options *options, struct err *err)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < set->count; i++) {
        const struct signing_key *key = key_pair_key(set->entries[i].pair);
        if (key && !option_dnssec_is_zone(options, &key->owner)) {
            return err_set(err, ERR_USAGE,
                           "`%s`: a key of %s: expected one of the domains, or a reverse zone of "
                           "-reverse-zones",
                           key_pair_base(set->entries[i].pair), dname_to_text(&key->owner, text));
        }
    }
    return 0;
}

bool key_set_match(struct key_set *set, const struct options *options)
{
    bool differs = false;
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        const struct signing_key *key = key_pair_key(entry->pair);
        bool leave_out = key && !option_dnssec_is_zone(options, &key->owner);
        if (leave_out && !entry->is_left_out) {
            log_warn("a key is not used, its owner is no zone of ours",
                     LOG_STR("key", key_pair_base(entry->pair)),
                     LOG_STR("owner", dname_to_text(&key->owner, text)));
        }
        differs = differs || leave_out != entry->is_left_out;
        entry->is_left_out = leave_out;
    }
    return differs;
}

/* ---- Making ---- */

static int copy_keys(const struct key_set *set, bool all, struct signing_key **keys,
                     size_t *ret_count, struct err *err)
{
    *ret_count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct entry *entry = &set->entries[i];
        if (!key_pair_key(entry->pair) || (entry->is_left_out && !all)) {
            continue;
        }
        int r = key_pair_copy(entry->pair, &keys[*ret_count], err);
        if (r < 0) {
            return r;
        }
        (*ret_count)++;
    }
    return 0;
}

int key_set_make(const struct key_set *set, size_t signatures_max, bool all,
                 struct dnssec **ret_dnssec, struct err *err)
{
    struct signing_key *keys[DNSSEC_KEYS_MAX];
    size_t count;
    int r = copy_keys(set, all, keys, &count, err);
    *ret_dnssec = NULL;
    if (r == 0 && count > 0) {
        r = dnssec_new(keys, count, signatures_max, ret_dnssec, err);
    }
    for (size_t i = 0; r < 0 && i < count; i++) {
        signing_key_free(keys[i]);
    }
    return r;
}

void key_set_warn(struct key_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        const struct signing_key *key = key_pair_key(entry->pair);
        if (entry->is_new && key && key->is_old) {
            log_warn("a key has an algorithm that is not recommended any more: RFC 8624",
                     LOG_STR("key", key_pair_base(entry->pair)),
                     LOG_INT("algorithm", key->algorithm));
        }
        if (entry->is_new && key && key_pair_is_exposed(entry->pair)) {
            log_warn(
                "others may read a private key; expected no permissions for them, as in mode 0440",
                LOG_STR("key", key_pair_base(entry->pair)));
        }
        entry->is_new = false;
    }
}

void key_set_text(const struct key_set *set, const struct dname *zone, struct buf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < set->count; i++) {
        const struct signing_key *key = key_pair_key(set->entries[i].pair);
        if (key && dname_equal(&key->owner, zone)) {
            buf_printf(out, "%s%s", separator, key_pair_base(set->entries[i].pair));
            separator = ",";
        }
    }
}
