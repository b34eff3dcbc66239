#include "skydns/wire/external_answer.h"

#include <string.h>

#include "common/dns/dns.h"

enum { HEAD_SIZE = 1 + 1 + 4 }; /* as external_answer_next reads it */

void external_answer_put(struct buf *packed, uint16_t type, uint32_t ttl_s, struct slice data)
{
    uint8_t *room = buf_reserve(packed, HEAD_SIZE + data.len);
    if (room) {
        struct writer w = writer_of(room, HEAD_SIZE + data.len);
        writer_u8(&w,
                  (uint8_t)type); /* each of the three fits a byte, and so does a name's length */
        writer_u8(&w, (uint8_t)data.len);
        writer_u32(&w, ttl_s);
        writer_bytes(&w, data.ptr, data.len);
        packed->len += w.pos;
    }
}

struct external_reader external_answer_read(const struct external_answer *answer, struct slice name)
{
    return (struct external_reader){
        .packed = reader_of(answer->records.ptr, answer->records.len),
        .owner = name,
    };
}

void external_answer_cut(struct external_answer *answer, size_t max)
{
    struct external_reader reader = external_answer_read(answer, slice_of(NULL, 0));
    struct external_rr rr;
    size_t n = 0;
    while (n < max && external_answer_next(&reader, &rr)) {
        n++;
    }
    if (n == max && reader.packed.pos < answer->records.len) {
        answer->records.len = reader.packed.pos;
        answer->outcome = EXTERNAL_TRUNCATED;
    }
}

const struct external_answer *external_answers_find(const struct external_answers *externals,
                                                    const struct dname *name, uint16_t type)
{
    for (size_t i = 0; i < externals->count; i++) {
        const struct external_question *q = &externals->items[i].question;
        if (q->type == type && dname_equal(&q->name, name)) {
            return &externals->items[i];
        }
    }
    return NULL;
}

bool external_answers_cover(const struct external_answers *answers,
                            const struct external_question *questions, size_t count)
{
    bool do_cover = true;
    for (size_t i = 0; i < count && do_cover; i++) {
        do_cover = external_answers_find(answers, &questions[i].name, questions[i].type) != NULL;
    }
    return do_cover;
}
