/* Folders that are models: diffusers pipelines and components, transformers models (docs/formats/folders.md). */
#ifndef TN_FORMAT_FOLDER_H
#define TN_FORMAT_FOLDER_H

#include "format/catalog.h"
#include "format/listing.h"

/* ---- questions of whoever walks folders: answered by names, nothing is read ---- */

/* What the names in one folder say. Begin with zeros; see every name once, in any order. */
typedef struct tn_folder_signs {
    bool pipeline;             /* model_index.json */
    bool config;               /* config.json */
    bool diffusers_weights;    /* diffusion_pytorch_model*, of any kind */
    bool transformers_weights; /* model*, pytorch_model*, ... as transformers writes them */
} tn_folder_signs;
void tn_folder_see(tn_folder_signs *signs, const char *name);
/* TN_CONTAINER_DIFFUSERS, TN_CONTAINER_TRANSFORMERS, or TN_CONTAINER_UNKNOWN: no model, only a folder. */
tn_container tn_folder_verdict(const tn_folder_signs *signs);
/* Whether a file in such a folder belongs to its model. Loose checkpoints beside a config.json do not: they are models
 * of their own. */
bool tn_folder_owns_file(const tn_folder_signs *signs, const char *name);
/* The folders in a pipeline that are its components, as names in a listing: everything in them belongs to it. `out` is
 * begun by the call and must be freed in any case. Reads model_index.json. */
tn_status tn_folder_components(tn_context *context, const char *path, tn_listing *out, tn_error *err);

/* ---- opening one ---- */

/* Fill a catalog from a folder. TN_UNSUPPORTED when it is no model. */
tn_status tn_folder_read(tn_catalog *catalog, const char *path, tn_error *err);

/* ---- pieces, for tests and fuzzing ---- */

/* A component that model_index.json names. */
typedef struct tn_component {
    tn_text name, library, class_name;
} tn_component;
/* The components in the text of a model_index.json: every key without a leading underscore whose value is an array of
 * two strings. At most TN_COMPONENTS_MAX; texts in `arena`. A name that is no plain one is TN_UNSAFE_PATH. */
tn_status tn_model_index_parse(const char *text, size_t size, tn_arena *arena, tn_component *out, uint32_t *count,
                               tn_error *err);
/* Whether a component of this class holds weights: schedulers, tokenizers and processors do not. */
bool tn_component_has_weights(const tn_component *component);

/* Every scalar of a JSON text as metadata: HEAD + "a.b.0" -> its value. What is over a limit is left out and told as a
 * finding with `file`. On TN_BAD_JSON some pairs may have been added. */
tn_status tn_config_flatten(tn_catalog *catalog, const char *head, const char *file, const char *text, size_t size,
                            tn_error *err);

/* Which of the names in a folder holds the weights that are read. */
typedef struct tn_weights_choice {
    const char *name; /* NULL: none */
    bool index;       /* it is the index of a set */
    bool shard;       /* it is a shard of a set without an index */
    bool foreign;     /* some weights lie there that have no reader */
    const char *first_foreign;
} tn_weights_choice;
tn_weights_choice tn_choose_weights(const tn_listing *listing);
/* Of a file named BASE[.VARIANT].safetensors or its index or shard: is it another precision of what was chosen? */
bool tn_is_other_variant(const tn_weights_choice *choice, const char *name);

#endif
