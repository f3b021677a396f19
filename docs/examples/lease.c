/* lease FILE NAME: the sum of a tensor's bytes. The lease stays valid although everything else is closed. */
#include <stdio.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    tn_lease *lease;
    tn_error err;
    if (argc != 3 || tn_context_create(NULL, &context, &err) != TN_OK)
        return 2;
    tn_status status = tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err);
    if (status == TN_OK) {
        status = tn_lease_named(checkpoint, argv[2], NULL, &lease, &err);
        tn_checkpoint_release(checkpoint);
    }
    tn_context_destroy(context);
    if (status != TN_OK) {
        fprintf(stderr, "%s %s: %s\n", err.file, err.tensor, err.message);
        return 1;
    }
    unsigned long long sum = 0;
    for (uint64_t i = 0; i < lease->size_bytes; i++)
        sum += ((const uint8_t *)lease->data)[i];
    printf("%llu in %llu bytes, by way of \"%s\": %s\n", sum, (unsigned long long)lease->size_bytes,
           tn_way_word(lease->way), lease->reason);
    tn_lease_release(lease);
}
