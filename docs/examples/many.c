/* many FILE: all tensors at once, as read-only windows where that can be. */
#include <stdio.h>
#include <stdlib.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    const tn_tensor *tensors;
    tn_error err;
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_VIEW;
    if (argc != 2 || tn_context_create(NULL, &context, &err) != TN_OK ||
        tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err) != TN_OK)
        return 2;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_lease **leases = calloc(count + 1, sizeof *leases);
    if (tn_lease_many(checkpoint, NULL, count, &options, leases, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        printf("%s %s\n", leases[i]->name.bytes, tn_way_word(leases[i]->way));
        tn_lease_release(leases[i]);
    }
    free(leases);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
}
