/* Writes records of a nameserver's response into another message, behind the question's name.
 * Compression pointers come out right, in the image that the cache keeps (cache_image.h) and in a
 * client's response (relay.h). Pure.
 *
 * Names are compressed where RFC 3597 4 allows it; a nameserver's compression of others is undone.
 * Which earlier names can be pointed at is remembered in a table of fixed size, of which four
 * places are looked at for each label: a reply of many names costs no more for each than one of
 * few. None is pointed at that an image put behind a search path's CNAME would move out of reach.
 */
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
};

/* `image` is borrowed, of `size` bytes, which have room for the name at name_at; records follow
 * from records_at on. */
void cache_image_writer_init(struct cache_image_writer *writer, const struct dname *name,
                             const struct response_start *start, uint8_t *image, size_t size);

/* Appends a record under this name, its owner in some spelling. Returns where it begins. False in
 * *ret_is_sound: its data is not what its type has. */
size_t cache_image_writer_put(struct cache_image_writer *writer,
                              const struct parsed_response *response, const struct response_rr *rr,
                              const struct dname *owner, uint32_t ttl_s, bool *ret_is_sound);

#endif
