/* The command line of kube2sky, checked. Used by main() before anything else. */
#ifndef KUBE2SKY_OPTIONS_H
#define KUBE2SKY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/err.h"

struct options {
    char *domain; /* lower case, with the trailing dot; owned */
    /* From argv, borrowed for good; "" = not given. URLs are checked by who uses them. */
    const char *etcd_server;
    const char *etcd_cafile;
    const char *etcd_certfile;
    const char *etcd_keyfile; /* given exactly when etcd_certfile is */
    const char *etcd_username;
    const char *etcd_password_file;
    const char *kubecfg_file;
    const char *kube_master_url;
    int64_t etcd_mutation_timeout_ms;
    int64_t healthz_port;
    int64_t verbosity; /* glog's; from OPTIONS_DEBUG_VERBOSITY on, debug lines are logged */
    bool want_version;
};

/* glog's users know 2 as normal and 4 as debugging. */
enum { OPTIONS_DEBUG_VERBOSITY = 4 };

/* 0; FLAGS_HELP when help was asked for, and printed; ERR_USAGE with a message. On success the
 * caller calls options_fini. */
int options_parse(int argc, char *const *argv, struct options *ret_options,
                  struct err *err) MUST_CHECK;
void options_fini(struct options *options);

#endif
