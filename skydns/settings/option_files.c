#include "skydns/settings/option_files.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/settings/option_values.h"

struct option_files *option_files_new(const struct options *flags)
{
    const char *const own[] = {
        flags->ca_cert,     flags->tls_pem,       flags->tls_key,        flags->password_file,
        flags->config_file, flags->cookie_secret, flags->cert,           flags->key,
        flags->client_ca,   flags->ticket_keys,   flags->nameservers_ca, flags->tsig_keys,
    };
    enum { MOST = ARRAY_LEN(own) + FLAG_STRINGS_MAX + 2 * DNSSEC_KEYS_MAX };
    struct option_files *files = xcalloc(1, sizeof(*files) + MOST * sizeof(files->paths[0]));
    char base[OPTION_ITEM_MAX];
    const char *rest = flags->dnssec;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        files->paths[files->count++] = xstrdup(own[i]);
    }
    for (size_t i = 0; i < flags->hosts.count; i++) {
        files->paths[files->count++] = xstrdup(flags->hosts.items[i]);
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
