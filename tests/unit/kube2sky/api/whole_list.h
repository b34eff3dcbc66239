/* Decodes a whole list, in one piece or in pieces of a given size. */
#ifndef TESTS_UNIT_KUBE2SKY_API_WHOLE_LIST_H
#define TESTS_UNIT_KUBE2SKY_API_WHOLE_LIST_H

#include "kube2sky/api/kube_object.h"

static inline int decode_pieces(enum kube_encoding encoding, enum kube_kind kind, struct slice body,
                                size_t piece, kube_object_fn fn, kube_bad_object_fn bad, void *data,
                                struct kube_list_meta *ret_meta, struct err *err)
{
    struct kube_list *list = kube_list_new(encoding, kind, fn, bad, data);
    int rc = 0;
    for (size_t pos = 0; rc == 0 && pos < body.len; pos += piece) {
        size_t left = body.len - pos;
        rc = kube_list_push(list, slice_of(body.ptr + pos, left < piece ? left : piece), err);
    }
    if (rc == 0) {
        rc = kube_list_end(list, ret_meta, err);
    }
    kube_list_free(list);
    return rc;
}

static inline int decode_whole(enum kube_encoding encoding, enum kube_kind kind, struct slice body,
                               kube_object_fn fn, kube_bad_object_fn bad, void *data,
                               struct kube_list_meta *ret_meta, struct err *err)
{
    return decode_pieces(encoding, kind, body, body.len + 1, fn, bad, data, ret_meta, err);
}

#endif
