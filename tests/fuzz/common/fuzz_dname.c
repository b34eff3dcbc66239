/* A name read from a message, at the offset in the first byte, and from text: an accepted name
 * survives the round trip through text, and every view of it stays within bounds. */
#include <assert.h>

#include "common/dns/dname.h"
#include "tests/fuzz/fuzz_target.h"

static void dname_check(const struct dname *name)
{
    char text[DNAME_TEXT_MAX];
    struct dname back, copy = *name;
    struct dname_labels labels;
    assert(name->len >= 1 && name->wire[name->len - 1] == 0);
    assert(dname_from_text(slice_str(dname_to_text(name, text)), &back));
    assert(back.len == name->len && memcmp(back.wire, name->wire, name->len) == 0);

    struct reader reader = reader_of(name->wire, name->len);
    assert(dname_read(&reader, &back) && reader_left(&reader) == 0);
    assert(back.len == name->len && memcmp(back.wire, name->wire, name->len) == 0);

    dname_labels(name, &labels);
    assert(labels.count == dname_label_count(name));
    dname_lower(&copy);
    assert(dname_equal(&copy, name) && dname_is_within(name, &copy));
    for (unsigned i = 0; i < labels.count; i++) {
        struct dname parent = *name;
        dname_strip(&parent, i + 1);
        assert(dname_is_within(name, &parent) && !dname_is_within(&parent, name));
        assert(dname_prepend(&parent, dname_label(name, labels.offsets[i])));
        assert(dname_label_count(&parent) == labels.count - i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dname name;
    if (size == 0) {
        return 0;
    }
    struct reader reader = reader_of(data + 1, size - 1);
    reader_seek(&reader, data[0]);
    if (dname_read(&reader, &name)) {
        assert(reader.pos <= reader.len);
        dname_check(&name);
    } else {
        assert(reader.failed);
    }
    if (dname_from_text(slice_of(data + 1, size - 1), &name)) {
        dname_check(&name);
    }
    return 0;
}
