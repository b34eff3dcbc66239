/* Certificates of a TLS server on 127.0.0.1, and of clients that trust it: a group's setup and
 * teardown. */
#ifndef TESTS_UNIT_SKYDNS_STREAMS_TLS_BED_H
#define TESTS_UNIT_SKYDNS_STREAMS_TLS_BED_H

#include <signal.h>
#include <unistd.h>

#include "common/tls/tls_client.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "tests/support/certs.h"
#include "tests/support/unit_test.h"

static char folder[] = "/tmp/tls_bed.XXXXXX";
static struct tls_server *tls_server;
static struct tls_client *tls_client;

static inline void path_of(const char *name, char out[64])
{
    (void)!snprintf(out, 64, "%s/%s", folder, name);
}

static inline int make_certificates(void **state)
{
    struct err err = {0};
    char ca_file[64], cert_file[64], key_file[64];
    assert_non_null(mkdtemp(folder));
    struct certs_ca *ca = certs_ca_new(folder, "ca");
    const struct certs_leaf leaf = {.name = "server", .names = "IP:127.0.0.1"};
    certs_issue(ca, folder, &leaf);
    certs_ca_free(ca);
    path_of("ca.crt", ca_file);
    path_of("server.crt", cert_file);
    path_of("server.key", key_file);
    const struct tls_server_files server = {.cert = cert_file, .key = key_file};
    const struct tls_files client = {.ca = ca_file};
    assert_that(tls_server_new(&server, &tls_server, &err) >= 0 &&
                    tls_client_new(&client, &tls_client, &err) >= 0,
                "%s", err.msg);
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

static inline int remove_certificates(void **state)
{
    static const char *const names[] = {"ca.crt", "server.crt", "server.key"};
    tls_server_free(tls_server);
    tls_client_free(tls_client);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[64];
        path_of(names[i], path);
        (void)unlink(path);
    }
    return rmdir(folder);
}

#endif
