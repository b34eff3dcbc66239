#include "skydns/settings/option_files.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/settings_table.h"

/* Those of one row. */
static void add_files(struct option_files *files, const struct setting *setting,
                      const struct options *flags)
{
    const void *member = (const char *)flags + setting->member_at;
    bool is_list = setting->kind == SETTING_TEXTS;
    const struct flag_strings *list = member;
    for (size_t i = 0; is_list && i < list->count; i++) {
        files->paths[files->count++] = xstrdup(list->items[i]);
    }
    if (!is_list) {
        files->paths[files->count++] = xstrdup(*(const char *const *)member);
    }
}

struct option_files *option_files_new(const struct options *flags)
{
    char base[OPTION_ITEM_MAX];
    const char *rest = flags->dnssec;
    size_t count, most = 2 * DNSSEC_KEYS_MAX;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        most += !settings[i].is_file ? 0 : settings[i].kind == SETTING_TEXTS ? FLAG_STRINGS_MAX : 1;
    }
    struct option_files *files = xcalloc(1, sizeof(*files) + most * sizeof(files->paths[0]));
    for (size_t i = 0; i < count; i++) {
        if (settings[i].is_file) {
            add_files(files, &settings[i], flags);
        }
    }
    while (option_next_item(&rest, base)) {
        files->paths[files->count++] = xasprintf("%s.key", base);
        files->paths[files->count++] = xasprintf("%s.private", base);
    }
    return files;
}

void option_files_free(struct option_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files);
}
