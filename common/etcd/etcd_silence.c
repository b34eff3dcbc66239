#include "common/etcd/etcd_silence_internal.h"

void etcd_silence_init(struct etcd_silence *silence)
{
    *silence = (struct etcd_silence){.patience_ms = ETCD_SILENCE_FIRST_MS};
}

void etcd_silence_begin(struct etcd_silence *silence)
{
    silence->unheard = 0;
}

bool etcd_silence_is_suspect(struct etcd_silence *silence, int64_t store, int64_t heard,
                             int64_t now_ms)
{
    if (store <= heard) {
        silence->unheard = 0;
        return false;
    }
    if (silence->unheard == 0 || heard >= silence->unheard) {
        silence->unheard = store;
        silence->since_ms = now_ms;
        return false;
    }
    if (now_ms - silence->since_ms < silence->patience_ms) {
        return false;
    }
    silence->doubted = silence->unheard;
    silence->in_a_row++;
    silence->unheard = 0;
    silence->patience_ms = silence->patience_ms < ETCD_SILENCE_MAX_MS / 2 ? silence->patience_ms * 2
                                                                          : ETCD_SILENCE_MAX_MS;
    return true;
}

void etcd_silence_delivered(struct etcd_silence *silence, int64_t revision)
{
    if (revision <= silence->doubted) {
        silence->patience_ms = ETCD_SILENCE_FIRST_MS; /* it had been missed */
    }
    etcd_silence_repeated(silence);
}

void etcd_silence_repeated(struct etcd_silence *silence)
{
    silence->doubted = 0;
    silence->in_a_row = 0;
}

bool etcd_silence_is_hopeless(const struct etcd_silence *silence)
{
    return silence->in_a_row > 1;
}
