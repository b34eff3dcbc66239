#include "skydns/confine/confinement.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/confine/sandbox_internal.h"

/* SSL_CERT_FILE and SSL_CERT_DIR, too, where OpenSSL looks for the system's CAs. */
void confine_files(const char *const *files, size_t count, const char *resolv_conf,
                   const char *written)
{
    const char *ca_file = getenv("SSL_CERT_FILE"), *ca_folder = getenv("SSL_CERT_DIR");
    const char *const others[] = {resolv_conf, ca_file ? ca_file : "", ca_folder ? ca_folder : ""};
    const char **all = xcalloc(count + ARRAY_LEN(others), sizeof(*all));
    memcpy(all, others, sizeof(others));
    memcpy(all + ARRAY_LEN(others), files, count * sizeof(*files));
    int r = sandbox_files(all, count + ARRAY_LEN(others), written);
    free(all);
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
