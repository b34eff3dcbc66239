/* One encoding of the Kubernetes API, as kube_decode.c wants it: kube_list_json.c and
 * kube_list_proto.c cut lists and events into objects, kube_object_json.c and kube_object_proto.c
 * decode one. Nobody else looks here. Main thread. */
#ifndef KUBE2SKY_API_KUBE_CODEC_INTERNAL_H
#define KUBE2SKY_API_KUBE_CODEC_INTERNAL_H

#include "kube2sky/api/kube_draft_internal.h"

/* Slices of the text they are found in; empty when they are not. */
struct kube_full_name {
    struct slice ns;
    struct slice name;
};

/* A list that is being read: what kube_decode.c and the codec know of it. */
struct kube_list_cut {
    /* Called for each item, in order. */
    void (*on_item)(void *data, struct slice item);
    void *data;
    struct kube_list_meta meta;
    size_t left; /* at the end: bytes that came and were no use */

    /* The codec's own; zeroed at first. */
    int step;
    bool has_items;
    bool is_meta;      /* JSON: the value that comes next is the metadata */
    size_t scanned;    /* JSON: of a value whose end has not come */
    size_t depth;      /* JSON: brackets open at that point */
    bool is_in_string; /* JSON: of a value whose end has not come */
    bool is_escaped;
    uint64_t list_left; /* protobuf: bytes of the list inside of the envelope */
};

struct kube_codec {
    /* Takes one part of a list from the front of the bytes, of which there are some, and says how
     * long it was: 0, untouched, when it has not come whole. It then comes again with more. */
    int (*cut)(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used, struct err *err);
    /* There is no more: fails when something is missing. */
    int (*cut_end)(const struct kube_list_cut *cut, struct err *err);

    /* An event's type ("ADDED") and object, slices of the frame. */
    int (*event)(struct slice frame, struct slice *ret_type, struct slice *ret_object,
                 struct err *err);

    /* *ret_object (owned by the caller) is set on failure too: its namespace, name and version as
     * far as they were understood, "" else. draft is only memory to work in. */
    int (*object)(enum kube_kind kind, struct slice text, enum kube_object_part part,
                  struct kube_draft *draft, struct kube_object **ret_object, struct err *err);

    /* Of an object that could not be decoded. */
    struct kube_full_name (*full_name)(struct slice object);

    /* The resourceVersion of an object of which nothing else is wanted: owned, not empty. */
    int (*version)(struct slice object, char **ret_version, struct err *err);

    /* A Status as the object of an event, and as a body. */
    bool (*status)(struct slice object, struct kube_status *ret_status);
    bool (*status_body)(struct slice body, struct kube_status *ret_status);
};

extern const struct kube_codec kube_codec_json;
extern const struct kube_codec kube_codec_proto;

/* A version or a token of a list, checked: into *text, which is owned and replaced. */
int kube_replace_text(char **text, struct slice value, const char *key, size_t max,
                      struct err *err) MUST_CHECK;

#endif
