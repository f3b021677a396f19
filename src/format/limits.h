/* How much of anything a file may ask for. Each limit is refused with TN_LIMIT one past it, and tested at both.
 * Header lengths bound everything here already; these bound what one catalog may become. */
#ifndef TN_FORMAT_LIMITS_H
#define TN_FORMAT_LIMITS_H

#define TN_HEADER_MAX 100000000u          /* bytes of a safetensors header, as the reference reader has it */
#define TN_TENSORS_MAX 4194304u           /* in one checkpoint */
#define TN_RANK_MAX 65536u                /* numbers in one shape */
#define TN_METADATA_MAX 1048576u          /* pairs in one checkpoint */
#define TN_PARTS_MAX 16384u               /* files of one checkpoint */
#define TN_FINDINGS_MAX 256u              /* kept; the last one says that there are more */
#define TN_CATALOG_BYTES_MAX (size_t)0x7fffffff /* texts, shapes and members of one checkpoint */

#define TN_INDEX_BYTES_MAX 67108864u      /* a *.safetensors.index.json */
#define TN_CONFIG_BYTES_MAX 4194304u      /* a config.json and its like */
#define TN_CONFIG_KEY_MAX 4096u           /* bytes of one flattened key; a longer one is left out and told */
#define TN_CONFIG_PAIRS_MAX 65536u        /* of one JSON file; the rest is left out and told */
#define TN_FOLDER_NAMES_MAX 65536u        /* names looked at in one folder */
#define TN_COMPONENTS_MAX 256u            /* of one pipeline */

#endif
