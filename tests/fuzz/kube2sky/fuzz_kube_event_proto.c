/* One watch event, and a Status, in protobuf: kube_object.h's decoders over arbitrary bytes. */
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/kube2sky/kube_event_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kube_event_check_all(KUBE_PROTOBUF, slice_of(data, size));
    return 0;
}
