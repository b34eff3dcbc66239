#include "common/base/version.h"

const char version_string[] = PROJECT_VERSION;
