/* The files that flags name, for those who confine the program to them (confinement.h). Main
 * thread.
 */
#ifndef SKYDNS_SETTINGS_OPTION_FILES_H
#define SKYDNS_SETTINGS_OPTION_FILES_H

#include <stddef.h>

#include "skydns/settings/options.h"

/* Without that of -snapshot, which is read but once, and written. */
struct option_files {
    size_t count;
    char *paths[]; /* "": the flag is not set */
};

struct option_files *option_files_new(const struct options *flags);
void option_files_free(struct option_files *files);

#endif
