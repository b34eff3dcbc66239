#include "skydns/engine/path_names.h"

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/engine/path_internal.h"
#include "skydns/wire/query_parse.h"

_Static_assert((int)PATH_NAMES_MAX == (int)PATH_PLACES_MAX, "a name for each place");

void path_names_find(const struct engine_config *config, const struct client_space *space,
                     const struct dname *name, uint16_t type, struct path_names *ret)
{
    uint8_t wire[QUESTION_WIRE_MAX];
    struct path path;
    struct query parsed = {
        .has_question = true,
        .question = {.name = *name, .type = type, .qclass = DNS_CLASS_IN},
    };
    const struct engine_query query = {.wire = wire, .parsed = &parsed, .view.space = space};
    ret->count = 0;
    (void)question_write(&parsed.question, wire);
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
