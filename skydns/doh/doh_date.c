#include "skydns/doh/doh_date_internal.h"

#include <time.h>

#include "common/base/clock.h"

const char *doh_date_now(struct doh_date *date)
{
    time_t now_s = (time_t)clock_wall_s();
    if (date->second != now_s || date->text[0] == '\0') {
        struct tm utc;
        date->second = now_s;
        strftime(date->text, sizeof(date->text), "%a, %d %b %Y %H:%M:%S GMT",
                 gmtime_r(&now_s, &utc));
    }
    return date->text;
}
