/* save FILE NAME NEW: one tensor of FILE alone in a file NEW, which is there whole or not at all; it may be FILE itself. */
#include <stdio.h>
#include <tenure/tenure.h>

int main(int argc, char **argv)
{
    tn_context *context;
    tn_checkpoint *checkpoint;
    tn_lease *lease;
    tn_writer *writer = NULL;
    tn_error err;
    if (argc != 4 || tn_context_create(NULL, &context, &err) != TN_OK)
        return 2;
    if (tn_checkpoint_open(context, argv[1], NULL, &checkpoint, &err) != TN_OK ||
        tn_lease_named(checkpoint, argv[2], NULL, &lease, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    tn_write_tensor tensor = {lease->name, lease->dtype, lease->rank, lease->shape};
    if (tn_writer_open(context, argv[3], &tensor, 1, NULL, &writer, &err) != TN_OK ||
        tn_writer_put(writer, 0, lease->data, lease->size_bytes, &err) != TN_OK || tn_writer_finish(writer, &err) != TN_OK)
        fprintf(stderr, "%s: %s\n", argv[3], err.message);
    tn_writer_destroy(writer);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
}
