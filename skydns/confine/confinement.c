#include "skydns/confine/confinement.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "skydns/confine/sandbox_internal.h"
#include "skydns/settings/option_values.h"

/* The files that flags list: those of -hosts, and of the keys of -dnssec. */
struct listed {
    size_t count;
    char *paths[FLAG_STRINGS_MAX + 2 * DNSSEC_KEYS_MAX];
};

static struct listed *list_files(const struct options *flags)
{
    struct listed *listed = xcalloc(1, sizeof(*listed));
    char base[OPTION_ITEM_MAX];
    const char *rest = flags->dnssec;
    for (size_t i = 0; i < flags->hosts.count; i++) {
        listed->paths[listed->count++] = xstrdup(flags->hosts.items[i]);
    }
    while (option_next_item(&rest, base)) {
        listed->paths[listed->count++] = xasprintf("%s.key", base);
        listed->paths[listed->count++] = xasprintf("%s.private", base);
    }
    return listed;
}

static void free_listed(struct listed *listed)
{
    for (size_t i = 0; i < listed->count; i++) {
        free(listed->paths[i]);
    }
    free(listed);
}

/* SSL_CERT_FILE and SSL_CERT_DIR, too, where OpenSSL looks for the system's CAs. */
void confine_files(const struct options *flags, const char *resolv_conf)
{
    const char *ca_file = getenv("SSL_CERT_FILE"), *ca_folder = getenv("SSL_CERT_DIR");
    const char *const paths[] = {
        resolv_conf,
        flags->ca_cert,
        flags->tls_pem,
        flags->tls_key,
        flags->password_file,
        flags->config_file,
        flags->cookie_secret,
        flags->tsig_keys,
        flags->cert,
        flags->key,
        flags->client_ca,
        flags->ticket_keys,
        flags->nameservers_ca,
        ca_file ? ca_file : "",
        ca_folder ? ca_folder : "",
    };
    struct listed *listed = list_files(flags);
    const char *all[ARRAY_LEN(paths) + ARRAY_LEN(listed->paths)];
    memcpy(all, paths, sizeof(paths));
    memcpy(all + ARRAY_LEN(paths), listed->paths, listed->count * sizeof(all[0]));
    int r = sandbox_files(all, ARRAY_LEN(paths) + listed->count, flags->snapshot);
    free_listed(listed);
    if (r < 0) {
        log_info("this kernel does not restrict which files may be read",
                 LOG_STR("error", err_code_text(r)));
    }
}

void confine_calls(void)
{
    int r = sandbox_calls();
    if (r < 0) {
        log_info("this kernel does not restrict system calls", LOG_STR("error", err_code_text(r)));
    }
}

/* That of -snapshot has been read, and is not read again. */
int confine_privileges(const struct options *flags, struct err *err)
{
    const char *const own[] = {
        flags->ca_cert,     flags->tls_pem,       flags->tls_key,        flags->password_file,
        flags->config_file, flags->cookie_secret, flags->cert,           flags->key,
        flags->client_ca,   flags->ticket_keys,   flags->nameservers_ca, flags->tsig_keys,
    };
    struct listed *listed = list_files(flags);
    const char *files[ARRAY_LEN(own) + ARRAY_LEN(listed->paths)];
    memcpy(files, own, sizeof(own));
    memcpy(files + ARRAY_LEN(own), listed->paths, listed->count * sizeof(files[0]));
    int r = privileges_drop(&flags->user, files, ARRAY_LEN(own) + listed->count, err);
    free_listed(listed);
    return r;
}
