/* What the tests of leases share: weight files whose every byte is known, a context, and comparing with what is known. */
#ifndef TN_TESTS_SUPPORT_WEIGHTS_H
#define TN_TESTS_SUPPORT_WEIGHTS_H

#include "support/check.h"
#include "support/scratch.h"

#include <tenure/lease.h>

#include "context/context.h"

typedef struct row {
    const char *name;
    tn_dtype dtype;
    uint32_t rank;
    uint64_t shape[6];
} row;

/* Byte `i` of the data of a file made with `seed`. */
static inline uint8_t byte_of(uint64_t seed, uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;
    return (uint8_t)(x >> 56 ^ x >> 40);
}

static inline uint64_t bytes_of(const row *r)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < r->rank; i++)
        elements *= r->shape[i];
    return elements * tn_dtype_bits(r->dtype) / 8;
}

/* A header with `spaces` more behind it; the size of all before the data. */
static inline size_t header_of(const row *rows, size_t count, unsigned spaces, char *out, size_t room)
{
    size_t at = 8;
    uint64_t data = 0;
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(out + at, room - at, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[", i == 0 ? '{' : ',',
                               rows[i].name, tn_dtype_name(rows[i].dtype));
        for (uint32_t d = 0; d < rows[i].rank; d++)
            at += (size_t)snprintf(out + at, room - at, "%s%llu", d == 0 ? "" : ",",
                                   (unsigned long long)rows[i].shape[d]);
        at += (size_t)snprintf(out + at, room - at, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)data,
                               (unsigned long long)(data + bytes_of(&rows[i])));
        data += bytes_of(&rows[i]);
    }
    at += (size_t)snprintf(out + at, room - at, "%s", count == 0 ? "{}" : "}");
    for (unsigned i = 0; i < spaces || at % 8 != spaces % 8; i++)
        out[at++] = ' ';
    assert_true(at < room);
    for (unsigned i = 0; i < 8; i++)
        out[i] = (char)((at - 8) >> (8 * i));
    return at;
}

/* A file of these tensors. Returns where its data begins. `spaces` moves that by less than 8: 0 keeps it aligned. */
static inline size_t put_tensors(const char *path, const row *rows, size_t count, uint64_t seed, unsigned spaces)
{
    size_t room = 4096 + count * 256, data = 0;
    for (size_t i = 0; i < count; i++)
        data += (size_t)bytes_of(&rows[i]);
    char *bytes = malloc(room + data);
    size_t head = header_of(rows, count, spaces, bytes, room);
    for (size_t i = 0; i < data; i++)
        bytes[head + i] = (char)byte_of(seed, i);
    put_file(path, bytes, head + data);
    free(bytes);
    return head;
}

/* Where the data of a tensor begins, counted from the data's begin. */
static inline uint64_t data_at(const row *rows, size_t number)
{
    uint64_t at = 0;
    for (size_t i = 0; i < number; i++)
        at += bytes_of(&rows[i]);
    return at;
}

static inline void assert_bytes(const void *bytes, size_t size, uint64_t seed, uint64_t from)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < size; i++)
        if (b[i] != byte_of(seed, from + i))
            fail_msg("byte %zu is %u, not %u", i, b[i], byte_of(seed, from + i));
}

/* Windows does not let a file that is open be replaced. */
static inline bool on_windows(void)
{
    tn_buffer value;
    tn_buffer_init(&value, &scratch_memory, 1 << 15);
    bool found = tn_os_environment("SystemRoot", &value);
    tn_buffer_free(&value);
    return found;
}

/* Put one file in another's place. False where the system does not let that be done. */
static inline bool replace_file(const char *from, const char *to)
{
    tn_status status = tn_os_rename(from, to, true, NULL);
    if (!on_windows())
        assert_int_equal(status, TN_OK);
    return status == TN_OK;
}

static tn_context *context;

static inline int weights_setup_with(uint64_t limit, unsigned jobs)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = limit;
    options.jobs = jobs;
    return tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

static inline int weights_setup(void **state)
{
    return scratch_begin(state) == 0 ? weights_setup_with(UINT64_C(256) << 20, 3) : -1;
}

static inline int weights_teardown(void **state)
{
    uint64_t used = 0;
    if (context != NULL) {
        tn_context_trim(context);
        used = tn_context_memory(context).used_bytes + tn_context_memory(context).kept_bytes;
        tn_context_destroy(context);
    }
    context = NULL;
    if (used != 0)
        print_error("%llu bytes were not given back\n", (unsigned long long)used);
    return scratch_end(state) == 0 && used == 0 ? 0 : -1;
}

static inline tn_checkpoint *open_weights(const char *path)
{
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    if (tn_checkpoint_open(context, path, NULL, &checkpoint, &err) != TN_OK)
        fail_msg("%s does not open: %s", path, err.message);
    return checkpoint;
}

static inline tn_lease *lease_with(const tn_checkpoint *checkpoint, const char *name, const tn_lease_options *options)
{
    tn_lease *lease = NULL;
    tn_error err;
    if (tn_lease_named(checkpoint, name, options, &lease, &err) != TN_OK)
        fail_msg("%s is not leased: %s", name, err.message);
    return lease;
}

static inline tn_lease *lease_of(const tn_checkpoint *checkpoint, const char *name)
{
    return lease_with(checkpoint, name, NULL);
}

#endif
