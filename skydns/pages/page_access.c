#include "skydns/pages/page_access.h"

#include <assert.h>
#include <string.h>

#include "common/base/attributes.h"

/* Lists the pages for few, whether or not this server has them. */
static const struct http_restricted page_access_table[] = {
    {.path = "/clients"}, {.path = "/missing"}, {.path = "/history"},
    {.path = "/watch"},   {.path = "/flush"},   {.argument = "at"}, /* answers of the past */
};

static const struct network loopbacks[PAGE_ACCESS_LOOPBACKS] = {
    {.ip = {.family_bytes = 4, .bytes = {127}}, .prefix_bits = 8},
    {.ip = {.family_bytes = 16, .bytes = {[15] = 1}}, .prefix_bits = 128},
};

void page_access_set(struct page_access *access, const struct network *networks, size_t count)
{
    assert(count <= HTTP_ACCESS_NETWORKS_MAX); /* option_http_allow's limit */
    memcpy(access->networks, loopbacks, sizeof(loopbacks));
    if (count > 0) {
        memcpy(access->networks + PAGE_ACCESS_LOOPBACKS, networks, count * sizeof(*networks));
    }
    access->rule = (struct http_access){
        .restricted = page_access_table,
        .restricted_count = ARRAY_LEN(page_access_table),
        .networks = access->networks,
        .network_count = PAGE_ACCESS_LOOPBACKS + count,
        .refusal = "not for this client: expected one on loopback, or in a network of "
                   "-http-allow\n",
    };
}
