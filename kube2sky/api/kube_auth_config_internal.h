/* Reads a kubeconfig file (YAML, and therefore JSON), reduced to its current context: one cluster,
 * one user. For kube_auth.c. Pure: bytes in, struct out; opens no file. Fields: Kubernetes' Config
 * (client-go tools/clientcmd/api/v1). */
#ifndef KUBE2SKY_API_KUBE_AUTH_CONFIG_INTERNAL_H
#define KUBE2SKY_API_KUBE_AUTH_CONFIG_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Holds the fields. Strings are owned; NULL = absent. Fields ending in _data are decoded from
 * base64; those ending in _file are verbatim paths, relative to the kubeconfig's folder. */
struct kube_auth_config {
    char *server;
    char *ca_file;
    char *ca_data;
    char *tls_server_name;
    char *proxy_url;
    bool is_unverified;
    char *user; /* its name in the file; NULL: the context names none */
    char *token;
    char *token_file;
    char *cert_file;
    char *cert_data;
    char *key_file;
    char *key_data;
    char *username;
    char *password;
};

/* Parses a kubeconfig. Fails with ERR_SYNTAX, the line and what was expected, or with ERR_REFUSED
 * for unsupported features (exec and auth-provider plugins, impersonation). */
int kube_auth_config_parse(struct slice yaml, struct kube_auth_config *ret_config,
                           struct err *err) MUST_CHECK;
void kube_auth_config_fini(struct kube_auth_config *config);

#endif
