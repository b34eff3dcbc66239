#include "skydns/etcd_client.h"

#include "common/base/outage.h"
#include "common/etcd/etcd.h"

/* Timeout of an etcd call: a page of 5,000 keys takes 10 ms, on a busy etcd a hundred times that.
 * After this time without a byte, the client tries another endpoint. */
enum { ETCD_CALL_TIMEOUT_MS = 5000 };

int etcd_client_open(struct ev_loop *loop, const struct options *flags, struct etcd **ret_etcd,
                     struct err *err)
{
    const struct etcd_config config = {
        .loop = loop,
        .endpoints = flags->machines,
        .call_timeout_ms = ETCD_CALL_TIMEOUT_MS,
        .tls = {.ca = flags->ca_cert, .cert = flags->tls_pem, .key = flags->tls_key},
        .username = flags->username,
        .password = flags->password,
        .password_file = flags->password_file,
    };
    int r = etcd_new(&config, ret_etcd, err);
    return r == ERR_USAGE ? err_wrap(err, r, "flag -machines") : r;
}

static const char *etcd_client_current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

void etcd_client_watch(const struct etcd *etcd, int64_t timeout_ms, struct ev_loop *loop,
                       struct outage *outage, struct outage_source *followed)
{
    outage_init(outage, loop, "etcd", timeout_ms,
                "etcd has been away for longer than etcd-timeout, still retrying");
    followed->away_line = "etcd away, no records yet";
    followed->back_line = "etcd is followed";
    followed->endpoint = etcd_client_current_endpoint;
    followed->data = etcd;
    outage_join(outage, followed, true);
}
