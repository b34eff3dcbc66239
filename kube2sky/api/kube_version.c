#include "kube2sky/api/kube_version.h"

#include <string.h>

bool kube_version_is_number(const char *version)
{
    return *version && *version != '0' && !version[strspn(version, "0123456789")];
}

bool kube_version_is_before(const char *version, const char *other)
{
    if (!kube_version_is_number(version) || !kube_version_is_number(other)) {
        return false;
    }
    size_t len = strlen(version), other_len = strlen(other);
    return len != other_len ? len < other_len : strcmp(version, other) < 0;
}

bool kube_version_has_reached(const char *version, const char *wanted)
{
    return version && kube_version_is_number(version) && kube_version_is_number(wanted) &&
           !kube_version_is_before(version, wanted);
}
