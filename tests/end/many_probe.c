/* Identifies every path named on stdin (one a line) in one process and prints, after each, a line
 *   STATE TYPE BASE RSS_KB BYTES_READ HEADER_BYTES
 * with "-" for an empty word: what a long-lived program pays for each file that it asks about. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

static long resident_kb(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return kb;
}

static const char *word(tn_text text)
{
    return text.size ? text.bytes : "-";
}

int main(void)
{
    tn_context *context = NULL;
    tn_error err;
    char path[4096];
    if (tn_context_create(NULL, &context, &err) != TN_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    uint64_t read_before = 0;
    while (fgets(path, sizeof path, stdin)) {
        tn_answer *answer = NULL;
        path[strcspn(path, "\n")] = '\0';
        if (tn_identify(context, path, NULL, &answer, &err) != TN_OK) {
            fprintf(stderr, "%s: %s\n", path, err.message);
            tn_context_destroy(context);
            return 1;
        }
        uint64_t read_now = tn_context_bytes_read(context);
        uint64_t header_bytes = answer->header_bytes;
        printf("%s %s %s", tn_state_word(answer->state), word(answer->type), word(answer->base));
        tn_answer_destroy(answer);
        printf(" %ld %llu %llu\n", resident_kb(), (unsigned long long)(read_now - read_before),
               (unsigned long long)header_bytes);
        read_before = read_now;
    }
    if (tn_context_memory(context).used_bytes != 0)
        fprintf(stderr, "%llu bytes are still charged\n", (unsigned long long)tn_context_memory(context).used_bytes);
    tn_context_destroy(context);
    return 0;
}
