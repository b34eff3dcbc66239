#include "common/version.h"

const char version_string[] = PROJECT_VERSION;
