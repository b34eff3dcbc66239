/* Compares resource versions. From Kubernetes 1.35 on they are decimal numbers that grow, of any
 * length; before, in practice so (KEP-5504). Those that are no such numbers are not compared.
 * Pure. */
#ifndef KUBE2SKY_API_KUBE_VERSION_H
#define KUBE2SKY_API_KUBE_VERSION_H

#include <stdbool.h>

/* Returns whether it is a decimal number without leading zeros, above 0. */
bool kube_version_is_number(const char *version);

/* Returns whether both are numbers and the first is smaller. */
bool kube_version_is_before(const char *version, const char *other);

/* Returns whether both are numbers and the first is not smaller. NULL is no number. */
bool kube_version_has_reached(const char *version, const char *wanted);

#endif
