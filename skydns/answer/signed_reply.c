#include "skydns/answer/signed_reply_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct signed_reply {
    int unused;
};

struct signed_reply *signed_reply_new(void)
{
    return xcalloc(1, sizeof(struct signed_reply));
}

void signed_reply_free(struct signed_reply *signer)
{
    free(signer);
}
