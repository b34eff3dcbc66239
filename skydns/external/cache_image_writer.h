/* Writes records of an upstream's response into another message, after the question's name. The
 * compression pointers are correct in the response cache's image (cache_image.h) and in a client's
 * response (relay.h). Pure.
 *
 * It compresses names if RFC 3597 4 allows it, and undoes the upstream's compression of others. A
 * table of fixed size remembers the names that can be pointed at. It tries four slots for each
 * label, so a name costs the same in a response of many names as of few. It points at no name that
 * would move out of reach in an image put after a search list's CNAME. */
#ifndef SKYDNS_EXTERNAL_CACHE_IMAGE_WRITER_H
#define SKYDNS_EXTERNAL_CACHE_IMAGE_WRITER_H

#include "common/base/cursor.h"
#include "skydns/external/cache.h"
#include "skydns/wire/response.h"
#include "skydns/wire/response_parse.h"

enum { CACHED_SUFFIXES = 256 };

struct cache_image_writer {
    struct writer out; /* failed: the records do not fit */
    size_t records_at; /* names before it are the question's */
    struct {
        uint32_t hash;
        uint16_t at; /* 0: free */
    } suffixes[CACHED_SUFFIXES];
    uint16_t owner_pointer; /* to the owner of the record before; 0: it was spelled out */
    struct dname owner;
};

/* Starts an image. `image` is borrowed, of `size` bytes, which have room for the name at name_at.
 * Records follow from records_at on. */
void cache_image_writer_init(struct cache_image_writer *writer, const struct dname *name,
                             const struct response_start *start, uint8_t *image, size_t size);

/* Appends a record under this name, its owner in some spelling. Returns where it begins. Sets
 * *ret_is_sound to false when its rdata does not match its type. */
size_t cache_image_writer_put(struct cache_image_writer *writer,
                              const struct parsed_response *response, const struct response_rr *rr,
                              const struct dname *owner, uint32_t ttl_s, bool *ret_is_sound);

#endif
