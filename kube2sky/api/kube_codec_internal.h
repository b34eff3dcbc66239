/* Defines the interface of an encoding of the Kubernetes API to kube_decode.c. kube_list_json.c and
 * kube_list_proto.c split lists and events into objects. Main thread. */
#ifndef KUBE2SKY_API_KUBE_CODEC_INTERNAL_H
#define KUBE2SKY_API_KUBE_CODEC_INTERNAL_H

#include "kube2sky/api/json_scan_internal.h"
#include "kube2sky/api/kube_object.h"

/* Slices of the text, empty when absent. */
struct kube_full_name {
    struct slice ns;
    struct slice name;
};

/* Holds the state of a list being read, shared by kube_decode.c and the codec. */
struct kube_list_cut {
    /* Called for each item, in order. */
    void (*on_item)(void *data, struct slice item);
    void *data;
    struct kube_list_meta meta;
    size_t left; /* at the end: bytes that are left over */

    /* Used by the codec only; zeroed at first. */
    int step;
    bool has_items;
    bool is_meta;            /* JSON: the next value is the metadata */
    struct json_value value; /* JSON: the incomplete one */
    uint64_t list_left;      /* protobuf: bytes of the list within the envelope */
};

struct kube_codec {
    /* Consumes one part of a list from the front of the (non-empty) bytes, and sets its length. 0:
     * the part is incomplete and nothing is consumed; the function is called again with more bytes.
     */
    int (*cut)(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used, struct err *err);
    /* Notes the end of input; fails if something is missing. */
    int (*cut_end)(const struct kube_list_cut *cut, struct err *err);

    /* Splits an event into its type ("ADDED") and object, slices of the frame. */
    int (*event)(struct slice frame, struct slice *ret_type, struct slice *ret_object,
                 struct err *err);

    /* Finds the name of an object that could not be decoded. */
    struct kube_full_name (*full_name)(struct slice object);

    /* Read a Status as an event's object, and as a body. */
    bool (*status)(struct slice object, struct kube_status *ret_status);
    bool (*status_body)(struct slice body, struct kube_status *ret_status);
};

extern const struct kube_codec kube_codec_json;
extern const struct kube_codec kube_codec_proto;

#endif
