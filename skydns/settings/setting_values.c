#include "skydns/settings/setting_values_internal.h"

#include <assert.h>

#include "common/base/duration.h"
#include "common/base/flags.h"

static int64_t setting_unit(const struct setting *setting)
{
    return setting->kind == SETTING_DURATION ? setting->unit_ms : 1;
}

void setting_set_number(const struct setting *setting, struct options *options, int64_t number)
{
    void *member = (char *)options + setting->member_at;
    int64_t value = number / setting_unit(setting);
    assert(value >= 0);
    switch (setting->member_bytes) {
    case sizeof(uint8_t): /* a bool */
        *(uint8_t *)member = (uint8_t)value;
        break;
    case sizeof(uint16_t):
        *(uint16_t *)member = (uint16_t)value;
        break;
    case sizeof(uint32_t): /* enums, too */
        *(uint32_t *)member = (uint32_t)value;
        break;
    default:
        assert(setting->member_bytes == sizeof(uint64_t));
        *(uint64_t *)member = (uint64_t)value;
        break;
    }
}

int64_t setting_number(const struct setting *setting, const struct options *options)
{
    const void *member = (const char *)options + setting->member_at;
    switch (setting->member_bytes) {
    case sizeof(uint8_t):
        return *(const uint8_t *)member * setting_unit(setting);
    case sizeof(uint16_t):
        return *(const uint16_t *)member * setting_unit(setting);
    case sizeof(uint32_t):
        return *(const uint32_t *)member * setting_unit(setting);
    default:
        return *(const int64_t *)member * setting_unit(setting);
    }
}

int64_t setting_default_number(const struct setting *setting, const struct options *options)
{
    return setting->get_default_number ? setting->get_default_number(options)
                                       : setting->default_number;
}

const char *setting_default_text(const struct setting *setting)
{
    return setting->default_text ? setting->default_text : "";
}

int setting_parse(const struct setting *setting, struct options *options, const char *text,
                  struct err *err)
{
    return setting->parse ? setting->parse(options, text, err)
                          : option_list_read(setting->list, options, text, err);
}

void setting_show(const struct setting *setting, const struct options *options, struct buf *out)
{
    char text[DURATION_TEXT_MAX];
    switch (setting->kind) {
    case SETTING_BOOL:
        buf_append_str(out, setting_number(setting, options) ? "true" : "false");
        break;
    case SETTING_NUMBER:
        buf_printf(out, "%lld", (long long)setting_number(setting, options));
        break;
    case SETTING_DURATION:
        buf_append_str(out, duration_text(setting_number(setting, options), text));
        break;
    case SETTING_CHOICE:
        buf_append_slice(out,
                         flags_choice(setting->choices, (int)setting_number(setting, options)));
        break;
    case SETTING_PARSED:
        if (setting->show) {
            setting->show(options, out);
        } else {
            option_list_show(setting->list, options, out);
        }
        break;
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_IGNORED: /* never in a document */
        assert(false);
        break;
    }
}
