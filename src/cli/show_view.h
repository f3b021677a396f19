/* A record as a person reads it: groups of labelled lines, sentences for what was found out, nothing that says nothing. */
#ifndef TN_CLI_SHOW_VIEW_H
#define TN_CLI_SHOW_VIEW_H

#include "cli/cli.h"

/* Print a record from its JSON. Members that this view does not know come last, as they are. */
void tn_show_view(tn_cli *cli, const tn_record *record);

#endif
