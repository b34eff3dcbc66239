#include "skydns/dnssec/nsec.h"
