/* slice FILE NAME: every other row of a tensor, backwards, as x[::-2, ...] in Python. Only these rows are read. */
#include <stdio.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    tn_lease *lease;
    tn_error err;
    tn_index rows[] = {{TN_INDEX_RANGE, TN_INDEX_NONE, TN_INDEX_NONE, -2}, {TN_INDEX_REST, 0, 0, 0}};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = rows;
    options.index_count = 2;
    if (argc != 3 || tn_context_create(NULL, &context, &err) != TN_OK)
        return 2;
    if (tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err) != TN_OK ||
        tn_lease_named(checkpoint, argv[2], &options, &lease, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    printf("%llu rows, %llu bytes, the first byte is %u\n", (unsigned long long)lease->shape[0],
           (unsigned long long)lease->size_bytes, *(const uint8_t *)lease->data);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
}
