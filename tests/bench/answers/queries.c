#include "tests/bench/answers/queries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"

enum { QUERY_MAX = QUERY_FRAME + DNS_HEADER_SIZE + DNAME_MAX + 4 + 11 };

/* RFC 6891 6.1.2: the root, OPT, 1232 bytes of UDP, version 0, perhaps DO (RFC 3225), no options.
 */
enum { OPT_SIZE = 11 };
static const uint8_t opts[][OPT_SIZE] = {
    [QUERIES_EDNS] = {0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0},
    [QUERIES_DO] = {0, 0, 41, 0x04, 0xd0, 0, 0, 0x80, 0, 0, 0},
};

/* The size of the frame; 0 if the line is not a question. */
static size_t queries_encode(struct slice line, enum queries_edns edns, uint8_t out[QUERY_MAX])
{
    struct dname name;
    const char *blank = memchr(line.ptr, ' ', line.len);
    if (!blank || !dname_from_text(slice_of(line.ptr, (size_t)(blank - line.ptr)), &name)) {
        return 0;
    }
    uint16_t type;
    struct slice type_text = slice_of(blank + 1, (size_t)(line.ptr + line.len - blank - 1));
    if (!dns_type_from_text(type_text, &type)) {
        return 0;
    }
    size_t opt_len = edns == QUERIES_PLAIN ? 0 : OPT_SIZE;
    uint16_t len = (uint16_t)(DNS_HEADER_SIZE + name.len + 4 + opt_len);
    struct writer w = writer_of(out, QUERY_MAX);
    writer_u16(&w, len);
    writer_u16(&w, 0); /* the ID */
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, edns != QUERIES_PLAIN);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    writer_bytes(&w, opts[edns], opt_len);
    return w.failed ? 0 : w.pos;
}

/* The bytes move while the buffer grows, so the pointers are set last. */
static void queries_place(struct queries *q)
{
    size_t pos = 0;
    for (size_t i = 0; i < q->count; i++) {
        q->items[i].frame = q->bytes + pos;
        pos += QUERY_FRAME + q->items[i].len;
    }
}

int queries_read(const char *path, enum queries_edns edns, struct queries *ret_queries,
                 struct err *err)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file) {
        return err_set(err, -errno, "read `%s`: %s", path, strerror(errno));
    }
    struct queries q = {.bytes = NULL};
    CLEANUP_FREE char *line = NULL;
    size_t line_cap = 0, bytes_cap = 0, items_cap = 0, used = 0;
    for (ssize_t n; (n = getline(&line, &line_cap, file)) > 0;) {
        if (bytes_cap - used < QUERY_MAX) {
            bytes_cap = bytes_cap ? 2 * bytes_cap : 1 << 20;
            q.bytes = xrealloc(q.bytes, bytes_cap);
        }
        if (q.count == items_cap) {
            items_cap = items_cap ? 2 * items_cap : 1 << 14;
            q.items = xrealloc_array(q.items, items_cap, sizeof(*q.items));
        }
        struct slice text = slice_of(line, (size_t)n - (line[n - 1] == '\n'));
        size_t size = queries_encode(text, edns, q.bytes + used);
        if (size == 0) {
            size_t number = q.count + 1;
            queries_fini(&q);
            return err_set(err, ERR_SYNTAX, "`%s`, line %zu: expected a name and a type", path,
                           number);
        }
        q.items[q.count++].len = (uint16_t)(size - QUERY_FRAME);
        used += size;
    }
    if (q.count == 0) {
        return err_set(err, ERR_SYNTAX, "`%s`: contains no question", path);
    }
    queries_place(&q);
    *ret_queries = q;
    return 0;
}

void queries_fini(struct queries *queries)
{
    free(queries->bytes);
    free(queries->items);
    *queries = (struct queries){.bytes = NULL};
}
