/* lease_slices FILE: slices for tests/end/differential_slices.py. Each line of stdin is
 *   WAY NAME ITEM...
 * where WAY is 0 (automatic), 1 (a view, copied out) or 2 (direct), and ITEM is rSTART,STOP,STEP with "-" for nothing,
 * aPLACE, e (the ellipsis) or n (a new dimension). Answers: the word of a status, or "ok", the shape, and the bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

static int64_t number(const char **at)
{
    char *end;
    if (**at == '-' && ((*at)[1] == ',' || (*at)[1] == '\0')) {
        *at += 2;
        return TN_INDEX_NONE;
    }
    int64_t value = strtoll(*at, &end, 10);
    *at = *end == ',' ? end + 1 : end;
    return value;
}

static tn_index item_of(const char *word)
{
    const char *at = word + 1;
    tn_index item = {word[0] == 'e' ? TN_INDEX_REST : TN_INDEX_NEW, 0, 0, 0};
    if (word[0] == 'a')
        item = (tn_index){TN_INDEX_AT, number(&at), 0, 0};
    if (word[0] == 'r') {
        item.kind = TN_INDEX_RANGE;
        item.start = number(&at);
        item.stop = number(&at);
        item.step = number(&at);
    }
    return item;
}

static void answer(tn_lease *lease)
{
    uint8_t *bytes = malloc(lease->size_bytes + 1);
    tn_error err;
    if (tn_lease_copy(lease, bytes, lease->size_bytes, &err) != TN_OK) {
        printf("%s\n", err.message);
        free(bytes);
        return;
    }
    printf("ok [");
    for (uint32_t i = 0; i < lease->rank; i++)
        printf("%s%llu", i == 0 ? "" : ",", (unsigned long long)lease->shape[i]);
    printf("] ");
    for (uint64_t i = 0; i < lease->size_bytes; i++)
        printf("%02x", bytes[i]);
    printf("\n");
    free(bytes);
}

static void one_line(const tn_checkpoint *checkpoint, char *line)
{
    static const uint32_t flags[] = {0, TN_LEASE_VIEW, 0};
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_AUTOMATIC, TN_WAY_DIRECT};
    tn_index items[TN_INDEX_MAX];
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    tn_lease *lease;
    int way = line[0] - '0';
    char *name = strtok(line + 2, " \n"), *word;
    while ((word = strtok(NULL, " \n")) != NULL && options.index_count < TN_INDEX_MAX)
        items[options.index_count++] = item_of(word);
    options.index = items;
    options.flags = flags[way];
    options.way = ways[way];
    tn_status status = tn_lease_named(checkpoint, name, &options, &lease, NULL);
    if (status != TN_OK) {
        printf("%s\n", tn_status_word(status));
        return;
    }
    answer(lease);
    tn_lease_release(lease);
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    tn_context *context;
    tn_checkpoint *checkpoint;
    if (argc != 2 || tn_context_create(NULL, &context, NULL) != TN_OK ||
        tn_checkpoint_open(context, argv[1], NULL, &checkpoint, NULL) != TN_OK)
        return 2;
    while (fgets(line, sizeof line, stdin) != NULL)
        one_line(checkpoint, line);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
    return 0;
}
