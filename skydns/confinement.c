#include "skydns/confinement.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/privileges.h"
#include "skydns/sandbox.h"

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
        flags->cert,
        flags->key,
        flags->client_ca,
        flags->ticket_keys,
        flags->nameservers_ca,
        ca_file ? ca_file : "",
        ca_folder ? ca_folder : "",
    };
    const char *all[ARRAY_LEN(paths) + FLAG_STRINGS_MAX];
    memcpy(all, paths, sizeof(paths));
    memcpy(all + ARRAY_LEN(paths), flags->hosts.items, flags->hosts.count * sizeof(all[0]));
    int r = sandbox_files(all, ARRAY_LEN(paths) + flags->hosts.count, flags->snapshot);
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
        flags->client_ca,   flags->ticket_keys,   flags->nameservers_ca,
    };
    const char *files[ARRAY_LEN(own) + FLAG_STRINGS_MAX];
    memcpy(files, own, sizeof(own));
    memcpy(files + ARRAY_LEN(own), flags->hosts.items, flags->hosts.count * sizeof(files[0]));
    return privileges_drop(&flags->user, files, ARRAY_LEN(own) + flags->hosts.count, err);
}
