#include "skydns/engine/path_names.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/engine/path_internal.h"
#include "skydns/wire/query_parse.h"

_Static_assert((int)PATH_NAMES_MAX == (int)PATH_PLACES_MAX, "a name for each place");

/* The question as a query. */
static size_t write_query(const struct dname *name, uint16_t type, uint8_t *wire, size_t size)
{
    struct writer w = writer_of(wire, size);
    memset(wire, 0, DNS_HEADER_SIZE);
    wire[5] = 1; /* question */
    (void)writer_take(&w, DNS_HEADER_SIZE);
    writer_bytes(&w, name->wire, name->len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    return w.pos;
}

void path_names_find(const struct engine_config *config, const struct client_space *space,
                     const struct dname *name, uint16_t type, struct path_names *ret)
{
    uint8_t wire[DNS_HEADER_SIZE + DNAME_MAX + 4];
    struct path path;
    ret->count = 0;
    struct query parsed;
    struct engine_query query = {.wire = wire, .parsed = &parsed, .view.space = space};
    query.len = write_query(name, type, wire, sizeof(wire));
    query_parse(wire, query.len, &parsed);
    if (!config->settings.autopath || !path_find(&path, config, &query)) {
        return;
    }
    ret->count = path_places(&path);
    for (unsigned i = 0; i < ret->count; i++) {
        if (i == 0) {
            ret->names[i] = *name;
        } else if (!path_name(&path, i, &ret->names[i])) {
            ret->names[i].len = 0;
        }
    }
}
