/* convert FILE NAME: the first element of a tensor as F32, whatever type it is stored as. */
#include <stdio.h>
#include <stdlib.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    tn_lease *lease;
    tn_error err;
    if (argc != 3 || tn_context_create(NULL, &context, &err) != TN_OK)
        return 2;
    if (tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err) != TN_OK ||
        tn_lease_named(checkpoint, argv[2], NULL, &lease, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    float *floats = calloc(lease->elements + 1, sizeof *floats);
    if (floats == NULL || tn_convert(lease->dtype, lease->data, TN_F32, floats, lease->elements, &err) != TN_OK)
        return 1;
    printf("%g, the first of %llu\n", (double)floats[0], (unsigned long long)lease->elements);
    free(floats);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
}
