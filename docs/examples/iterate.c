/* iterate FILE: what tensors there are, and what leasing all of them would cost. Nothing but the header is read. */
#include <stdio.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    const tn_tensor *tensors;
    tn_cost cost;
    tn_error err;
    if (argc != 2 || tn_context_create(NULL, &context, &err) != TN_OK)
        return 2;
    if (tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    for (size_t i = 0; i < count; i++)
        printf("%s %s %llu\n", tensors[i].name.bytes, tn_dtype_name(tensors[i].dtype),
               (unsigned long long)tensors[i].size_bytes);
    if (tn_cost_of(checkpoint, NULL, count, NULL, &cost, &err) == TN_OK)
        printf("%llu bytes, %s\n", (unsigned long long)cost.bytes, cost.fits ? "which fit" : "which do not fit");
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
}
