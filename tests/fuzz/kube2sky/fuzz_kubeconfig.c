/* kubeconfig files: kube_auth_config_parse over arbitrary bytes. */
#include <stdlib.h>

#include "kube2sky/api/kube_auth_config_internal.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kube_auth_config config;
    struct err err = {0};
    if (kube_auth_config_parse(slice_of(data, size), &config, &err) == 0) {
        kube_auth_config_fini(&config);
    } else if (!*err.msg) {
        abort();
    }
    return 0;
}
