/* What the verbs that touch files share: how an act is told, and how one comes to be asked for. */
#ifndef TN_CLI_ACTS_VIEW_H
#define TN_CLI_ACTS_VIEW_H

#include "cli/cli.h"

typedef struct tn_acts_view {
    tn_cli *cli;
    tn_library *library;
    int64_t event;   /* of the acts told so far; 0: none was done */
    uint64_t acts, files, bytes; /* told so far */
    bool can_undo;
    bool silent;     /* count, and print nothing */
} tn_acts_view;

/* Options that tell this view, with the settings' dry run and --follow. */
tn_act_options tn_acts_view_options(tn_acts_view *view);
/* One act as a JSON line, and as a line for people. */
void tn_act_json_line(tn_cli *cli, const tn_act *act, bool dry_run);
void tn_act_line(tn_cli *cli, const tn_act *act, bool dry_run);
/* How to take it all back, on stderr. */
void tn_acts_view_end(const tn_acts_view *view);

/* Do what --copy-to or --move-to of `import` ask for; `paths` become what is to be imported then. Without either, and on a
 * dry run, they stay. */
tn_status tn_placing_first(tn_cli *cli, tn_paths *paths, tn_error *err);

#endif
