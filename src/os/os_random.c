/* Random names, and randomness where the system gives none. */
#include <string.h>

#include "os/os_inside.h"

void tn_os_random_name(char *out, size_t size)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
    tn_os_random(out, size);
    for (size_t i = 0; i < size; i++)
        out[i] = letters[(unsigned char)out[i] % 32];
    out[size] = 0;
}

/* SplitMix64 (Steele, Lea, Flood 2014) over what differs from call to call and from process to process. */
void tn_os_random_by_clock(void *bytes, size_t size)
{
    static _Atomic uint64_t counter;
    unsigned char *out = bytes;
    uint64_t state = tn_os_monotonic_ns() ^ tn_os_process_id() << 32 ^ (uint64_t)(uintptr_t)&state;
    state += atomic_fetch_add(&counter, 1) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < size; i++) {
        state += 0x9e3779b97f4a7c15u;
        uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        out[i] = (unsigned char)(mixed >> 56);
    }
}
