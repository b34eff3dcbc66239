/* Reads the fields of one object of the Kubernetes API, in JSON or protobuf: a field is named by
 * its key in the one and its number in the other (0: its kind comes in JSON only). Sits between an
 * encoding and kube_object_decode.c. A malformed field fails the reader: from then on every call
 * returns nothing, so that callers check once, or leave the part out. Main thread. */
#ifndef KUBE2SKY_API_FIELDS_INTERNAL_H
#define KUBE2SKY_API_FIELDS_INTERNAL_H

#include "kube2sky/api/fields_json_internal.h"
#include "kube2sky/api/kube_draft_internal.h"

/* One more than the largest number of a field that is read. */
enum { FIELDS_NUMBER_END = 24 };

/* Holds an object, or one inside it; absent when empty. */
struct fields {
    const json_t *json;
    struct slice message;
    /* Tell where the last field with each number begins in the message, and 1; 0 = there is none.
     * A message has some twenty fields, of which half are read: it is scanned once. */
    uint32_t starts[FIELDS_NUMBER_END];
    /* Name it in errors. An array's item is named alone, since it is left out alone. */
    const struct fields *within;
    const char *key; /* "" = the whole object */
    size_t index;
    bool is_item;
};

/* Holds a map from texts to texts, like the labels. */
struct fields_map {
    const json_t *json;
    struct slice message; /* with an entry in each field of this number */
    uint32_t number;
};

struct fields_reader {
    enum kube_encoding encoding;
    struct kube_draft *draft;
    json_t *json; /* all of it; owned */
    struct fields metadata;
    struct fields_map labels;
    struct fields_map annotations;
    struct kube_hostnames hostnames;
    bool is_in_ports; /* what is left out now is a port */
    int rc;           /* below 0: failed, with the reason in err */
    struct err *err;
};

/* Begins to read a text, which outlives the reader; fails if it is JSON and no object. */
struct fields fields_open(struct fields_reader *r, struct slice text);
void fields_close(struct fields_reader *r);

/* Fails with this code, if negative and the first: puts in front of its reason, in err, where that
 * was. */
void fields_check(struct fields_reader *r, const struct fields *at, int rc);

/* Recover from a failure, except from one at the object's limit: leave out what was read since the
 * caller found that nothing had failed, and note it among the object's faults. */
void fields_leave_out(struct fields_reader *r);
void fields_leave_out_annotation(struct fields_reader *r);

/* Reads a text, borrowed until the draft begins another object; "" when absent. */
const char *fields_text(struct fields_reader *r, const struct fields *at, const char *key,
                        uint32_t number);

/* Does the same; a malformed text is left out alone. */
const char *fields_text_or_none(struct fields_reader *r, const struct fields *at, const char *key,
                                uint32_t number);

bool fields_flag(struct fields_reader *r, const struct fields *at, const char *key, uint32_t number,
                 bool when_absent);

/* Reads a port's number; 0 when absent. */
int32_t fields_port(struct fields_reader *r, const struct fields *at, const char *key,
                    uint32_t number);

/* Reads a time as seconds since 1970; 0 when absent or malformed. */
int64_t fields_time_s(struct fields_reader *r, const struct fields *at, const char *key,
                      uint32_t number);

/* Returns an object inside this one, which must outlive it. */
struct fields fields_inner(struct fields_reader *r, const struct fields *at, const char *key,
                           uint32_t number);

/* Returns room for that many zeroed elements of this size, borrowed like a text. */
void *fields_room(struct fields_reader *r, const struct fields *at, size_t count, size_t size);

/* Reads an item of an array; returns whether it is wanted. */
typedef bool (*fields_item_fn)(struct fields_reader *r, const struct fields *item, void *element);

/* Reads an array of objects into elements of this size, borrowed like a text. Items that are
 * malformed are left out. */
void *fields_items(struct fields_reader *r, const struct fields *at, const char *key,
                   uint32_t number, fields_item_fn fn, size_t size, size_t *ret_count);

/* Reads an array of texts likewise. */
const char *const *fields_texts(struct fields_reader *r, const struct fields *at, const char *key,
                                uint32_t number, size_t *ret_count);

struct fields_map fields_map(struct fields_reader *r, const struct fields *at, const char *key,
                             uint32_t number);

/* Reads a map's entry; NULL when absent. */
const char *fields_entry(struct fields_reader *r, const struct fields_map *map, const char *key);

/* Reads a label; "" when absent. */
const char *fields_label(struct fields_reader *r, const char *key);

/* Returns an entry; empty when absent or no text. Never fails. */
struct slice fields_entry_if_any(const struct fields_map *map, const char *key);

/* Reads all entries of a map, in any order. */
const struct kube_setting *fields_entries(struct fields_reader *r, const struct fields *at,
                                          const char *key, uint32_t number, size_t *ret_count);

/* Returns whether one of the parent's conditions, of a route, says that it accepts the generation
 * in the metadata. Malformed conditions are none. JSON only. */
bool fields_is_accepted(const struct fields_reader *r, const struct fields *parent);

#endif
