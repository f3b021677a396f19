/* What the verbs that change records share: each model is changed by itself, a bad one never stops the others. */
#ifndef TN_CLI_CHANGING_H
#define TN_CLI_CHANGING_H

#include "cli/cli.h"

typedef struct tn_changing {
    tn_cli *cli;
    tn_library *library;
    tn_status (*make)(struct tn_changing *c, const char *model, tn_error *err);
    /* The line for people when it was changed. */
    void (*say)(struct tn_changing *c, const tn_record *record);
    void *user;
} tn_changing;

/* Change each of `models` and tell it: a line each, or its record as JSON. */
void tn_change_each(tn_changing *c, const char *const *models, size_t count);

#endif
