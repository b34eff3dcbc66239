/* The project's version, from the file VERSION; the only object rebuilt when it changes. */
#ifndef COMMON_BASE_VERSION_H
#define COMMON_BASE_VERSION_H

extern const char version_string[];

#endif
