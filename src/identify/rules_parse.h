/* Reading rules from text: for the build's compiler and for packs read at run time. Files are read one after another
 * into one pack; nothing is recursive, every table has a limit, and every refusal names file and line. */
#ifndef TN_IDENTIFY_RULES_PARSE_H
#define TN_IDENTIFY_RULES_PARSE_H

#include "identify/rules.h"

typedef struct tn_rules_pack tn_rules_pack;

tn_status tn_rules_pack_create(tn_memory_source *memory, tn_rules_pack **out, tn_error *err);
/* Read one file's text; it need not outlive the call. TN_BAD_RULE, TN_LIMIT: err->file is `file`, err->offset the
 * number of the line. After a failure the pack can only be destroyed. */
tn_status tn_rules_pack_read(tn_rules_pack *pack, const char *file, const char *text, size_t size, tn_error *err);
/* Check what only shows at the end (sets that were named but never listed) and make the tables usable: they belong to
 * the pack. */
tn_status tn_rules_pack_finish(tn_rules_pack *pack, const tn_rules **out, tn_error *err);
void tn_rules_pack_destroy(tn_rules_pack *pack); /* NULL accepted */

#endif
