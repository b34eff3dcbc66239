/* Holds the keys below one of kube2sky's prefixes, as a mirror tells them: each a label and a short
 * value. Tells committed from uncommitted content, so that each commit says what it changes. Owned
 * by client_marks.c; main thread. */
#ifndef SKYDNS_SYNC_MARK_KEYS_INTERNAL_H
#define SKYDNS_SYNC_MARK_KEYS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"

struct buf;
struct reader;

enum mark_kind { MARK_ADDRESS, MARK_LIST };
enum { MARK_KINDS = 2 };

struct mark {
    struct mark *next_changed;
    bool is_changed; /* since the last commit; or to be looked at */
    bool is_there;
    bool is_read;  /* in the current full read */
    struct ip ip;  /* of an address */
    struct ip was; /* as of the last commit; family_bytes 0: it was not there */
    char *list;    /* of a list; owned */
    size_t list_len;
    bool is_left_out; /* of a list, as of the last commit: longer ones have no room */
    uint8_t label_len;
    char label[]; /* behind the prefix */
};

struct mark_keys {
    enum mark_kind kind;
    struct key_table marks;
    struct mark *changed;
    size_t list_bytes;
    size_t left_out; /* of the lists, as of the last commit */
    bool is_cut;     /* more addresses than there is room for: until all is read again */
    bool keeps_old;
};

void mark_keys_init(struct mark_keys *keys, enum mark_kind kind);
void mark_keys_fini(struct mark_keys *keys);

/* Take the events of etcd_mirror.h; keys without their prefix. Put returns NULL, or why the value
 * (or the key) is unusable: then it counts as absent. */
void mark_keys_begin(struct mark_keys *keys, bool keeps_old);
const char *mark_keys_put(struct mark_keys *keys, struct slice label, struct slice value);
void mark_keys_del(struct mark_keys *keys, struct slice label);

/* Commits; returns whether anything differs. If all lists together exceed CLIENT_MARKS_LISTS_MAX,
 * leaves the longest out, so that no list is lost for the sake of longer ones. Calls fn (NULL:
 * none) for each address that is new or gone. */
bool mark_keys_commit(struct mark_keys *keys, bool full,
                      void (*fn)(void *data, const struct ip *ip, bool is_there), void *data);

/* Calls fn for each address as of the last commit. */
void mark_keys_each_address(const struct mark_keys *keys,
                            void (*fn)(void *data, const struct ip *ip), void *data);

/* Returns true if the address that stands for all is there, as of the last put and delete: kube2sky
 * cannot know which pod has which. */
bool mark_keys_bars_all(const struct mark_keys *keys);

/* Returns the next key that is there, as of the last put and delete; NULL at the end. *at starts at
 * 0. */
const struct mark *mark_keys_next(const struct mark_keys *keys, size_t *at);

static inline struct slice mark_label(const struct mark *mark)
{
    return slice_of(mark->label, mark->label_len);
}

/* Save and load: appends the keys that are there; puts keys as the reader has them. Returns false
 * if the bytes are malformed. The caller commits. */
void mark_keys_save(const struct mark_keys *keys, struct buf *out);
bool mark_keys_load(struct mark_keys *keys, struct reader *reader) MUST_CHECK;

#endif
