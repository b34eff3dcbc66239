#include "common/http/http_access.h"

#include <string.h>

static bool http_access_is_restricted(const struct http_access *access,
                                      const struct http_request *request)
{
    for (size_t i = 0; i < access->restricted_count; i++) {
        const struct http_restricted *row = &access->restricted[i];
        if ((!row->path || strcmp(row->path, request->path) == 0) &&
            (!row->argument || http_request_arg(request, row->argument))) {
            return true;
        }
    }
    return false;
}

bool http_access_allows(const struct http_access *access, const struct http_request *request,
                        const struct ip *client)
{
    bool is_allowed = !http_access_is_restricted(access, request);
    for (size_t i = 0; !is_allowed && i < access->network_count; i++) {
        is_allowed = network_contains(&access->networks[i], client);
    }
    return is_allowed;
}
