/* Makes the authority section of a negative answer once, by the encoder, and adapts it to each
 * question: only the pointers and the serial differ.
 *
 * Compression is case-exact. So a question in mixed case has another template for each number of
 * the domain's labels, at its end, that match in case. Pure. */
#ifndef SKYDNS_FAST_SOA_TEMPLATE_INTERNAL_H
#define SKYDNS_FAST_SOA_TEMPLATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/wire/encode.h"
#include "skydns/wire/query_parse.h"

enum {
    /* Bounds a domain's labels for which there is a template for questions in mixed case. */
    SOA_TEMPLATES_MIXED_MAX = 4,
    /* Three names, fixed fields, five numbers. */
    SOA_TEMPLATE_MAX = 10 + 3 * DNAME_MAX + 20,
    SOA_POINTERS_MAX = 3, /* the owner, and the end of each name */
};

/* A compression pointer at offset `at` of the record. `base` is its value after a name of no
 * length. */
struct soa_pointer {
    uint16_t at;
    uint16_t base;
};

struct soa_template {
    size_t len;
    size_t serial_at;
    unsigned pointer_count;
    struct soa_pointer pointers[SOA_POINTERS_MAX];
    uint8_t domain_len;
    bool has_own_suffix; /* a name points to another in the record, which must lie right after the
                          * question */
    uint8_t bytes[SOA_TEMPLATE_MAX];
};

/* A domain's templates: for questions in lower case, and in mixed case by labels shared. */
struct soa_templates {
    struct soa_template lower;
    struct soa_template mixed[SOA_TEMPLATES_MIXED_MAX];
    unsigned mixed_count; /* 0: names in the SOA have capitals, which a question may share */
};

void soa_templates_make(struct soa_templates *soas, uint32_t ttl_s, const struct engine_zone *zone,
                        struct encoder *encoder);

/* Returns the template for a question in mixed case about a name of the zone. NULL: it is not at
 * hand. */
const struct soa_template *soa_templates_mixed(const struct soa_templates *soas,
                                               const struct engine_zone *zone,
                                               const struct fast_query *query);

/* For questions that end with exactly the last `shared` of the domain's labels. `ttl_s` is its TTL
 * and minimum. */
void soa_template_make(struct soa_template *soa, uint32_t ttl_s, const struct engine_zone *zone,
                       unsigned shared, struct encoder *encoder);

/* Writes the record for such a question, whose name ends name_len bytes after the header and shares
 * no longer suffix with the record's names. Returns the length. */
size_t soa_template_write(const struct soa_template *soa, size_t name_len, uint32_t serial,
                          uint8_t *out);

#endif
