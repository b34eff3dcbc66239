/* A reply put behind a CNAME: the first bytes are the client's name, the rest is the reply.
 * Whatever the reply is, the result is a message in which every name is what it was. */
#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/answer/relocate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct reader begin_records(const uint8_t *message, size_t len, struct dname *ret_question)
{
    struct reader r = reader_of(message, len);
    reader_seek(&r, DNS_HEADER_SIZE);
    assert(dname_read(&r, ret_question));
    (void)reader_u32(&r); /* type, class */
    assert(!r.failed);
    return r;
}

static unsigned records_of(const uint8_t *message)
{
    unsigned sum = 0;
    for (unsigned at = 6; at < DNS_HEADER_SIZE; at += 2) {
        sum += (unsigned)(message[at] << 8 | message[at + 1]);
    }
    return sum;
}

/* How many bytes are in front of the names in the data, which only some types have. */
static int before_names(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_NS:
    case DNS_TYPE_CNAME:
    case DNS_TYPE_SOA:
    case DNS_TYPE_PTR:
        return 0;
    case DNS_TYPE_MX:
        return 2;
    case DNS_TYPE_SRV:
        return 6;
    default:
        return -1;
    }
}

static void same_names(struct reader *before, struct reader *after)
{
    struct dname a, b;
    bool is_valid = dname_read(before, &a);
    assert(dname_read(after, &b) == is_valid);
    assert(!is_valid || (a.len == b.len && memcmp(a.wire, b.wire, a.len) == 0));
}

/* False: dname_read rejects a name that relocate moves. */
static bool same_record(struct reader *before, struct reader *after)
{
    same_names(before, after);
    if (before->failed) {
        return false;
    }
    uint16_t type = reader_u16(before);
    assert(reader_u16(after) == type);
    assert(reader_u16(before) == reader_u16(after) && reader_u32(before) == reader_u32(after));
    uint16_t len = reader_u16(before);
    assert(reader_u16(after) == len && reader_left(before) >= len && reader_left(after) >= len);
    int head = before_names(type);
    if (head >= 0) {
        struct reader a = *before, b = *after;
        assert(memcmp(a.data + a.pos, b.data + b.pos, (size_t)(head < len ? head : len)) == 0);
        reader_seek(&a, a.pos + (size_t)head);
        reader_seek(&b, b.pos + (size_t)head);
        same_names(&a, &b);
        if (type == DNS_TYPE_SOA && !a.failed) {
            same_names(&a, &b);
        }
    }
    (void)reader_take(before, len);
    (void)reader_take(after, len);
    return true;
}

static void check(const uint8_t *old, size_t old_len, const uint8_t *new, size_t new_len,
                  const struct dname *name)
{
    struct dname question, target;
    struct reader before = begin_records(old, old_len, &target);
    struct reader after = begin_records(new, new_len, &question);
    assert(question.len == name->len && memcmp(question.wire, name->wire, name->len) == 0);
    same_names(&(struct reader){.data = new, .len = new_len, .pos = DNS_HEADER_SIZE},
               &(struct reader){.data = new, .len = new_len, .pos = after.pos});
    assert(dname_read(&after, &question)); /* the CNAME's owner */
    assert(reader_u16(&after) == DNS_TYPE_CNAME && reader_u16(&after) == DNS_CLASS_IN);
    (void)reader_u32(&after);
    (void)reader_u16(&after);
    assert(dname_read(&after, &question) && question.len == target.len &&
           memcmp(question.wire, target.wire, target.len) == 0);
    assert(records_of(new) == records_of(old) + 1 && (new[3] & DNS_FLAG_AD) == 0);
    unsigned count = records_of(old);
    for (unsigned i = 0; i < count && same_record(&before, &after); i++) {
    }
    assert(before.failed || (reader_left(&before) == 0 && reader_left(&after) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t reply[DNS_MESSAGE_MAX];
    struct reader r = reader_of(data, size);
    struct dname name;
    if (!dname_read(&r, &name) || reader_left(&r) > sizeof(reply)) {
        return 0;
    }
    const uint8_t *old = data + r.pos;
    size_t old_len = reader_left(&r);
    memcpy(reply, old, old_len);
    size_t len = relocate(reply, old_len, sizeof(reply), slice_of(name.wire, name.len));
    assert(len == 0 || len == old_len + RELOCATE_ROOM(name.len));
    if (len > 0) {
        check(old, old_len, reply, len, &name);
    }
    memcpy(reply, old, old_len);
    assert(len == 0 || relocate(reply, old_len, len - 1, slice_of(name.wire, name.len)) == 0);
    return 0;
}
