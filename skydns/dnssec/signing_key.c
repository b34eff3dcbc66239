#include "skydns/dnssec/signing_key.h"
