/* Naming what a file is by its bytes (docs/formats/containers.md), and the few things that only names tell. */
#ifndef TN_FORMAT_SNIFF_H
#define TN_FORMAT_SNIFF_H

#include <tenure/checkpoint.h>

#include "io/source.h"

#define TN_SNIFF_HEAD_BYTES 65536u
#define TN_SNIFF_TAIL_BYTES 16384u

/* What is looked at: the first bytes of a file and its last ones (they may overlap). */
typedef struct tn_sample {
    const uint8_t *head;
    size_t head_size; /* the whole file when it is shorter than TN_SNIFF_HEAD_BYTES */
    const uint8_t *tail;
    size_t tail_size;
    uint64_t file_size;
} tn_sample;

/* Name it. Looks at nothing but the sample; takes no memory. Never DIFFUSERS, TRANSFORMERS or PARTIAL_DOWNLOAD. */
tn_container tn_sniff_sample(const tn_sample *sample);
/* Read the sample of an open file and name it. */
tn_status tn_sniff_source(tn_source *source, tn_container *out, tn_error *err);

/* Whether a zip archive is a torch checkpoint, TorchScript, numpy's or some other (sniff_zip.c). */
tn_container tn_sniff_zip(const tn_sample *sample);
/* ONNX, TFLite and its like, flax: formats without a magic number at their beginning (sniff_schema.c). */
bool tn_sniff_onnx(const tn_sample *sample);
bool tn_sniff_flatbuffers(const tn_sample *sample);
bool tn_sniff_flax(const tn_sample *sample);

/* The name without its folders. */
const char *tn_name_of_path(const char *path);
bool tn_name_ends(const char *name, const char *suffix); /* letters of any case */
/* A name that browsers and download tools give to what they have not finished. */
bool tn_name_is_partial(const char *path);
/* A suffix that claims model weights: .safetensors, .ckpt, .pt, .pth, .bin, .gguf, ... */
bool tn_name_claims_weights(const char *path);
bool tn_name_claims_safetensors(const char *path);
/* A sentence for a file that claims weights by its name and holds this instead: what happened, and what to do. */
const char *tn_container_accident(tn_container container);
/* Whether a download tool's record lies beside the file (NAME.aria2), so that it has not finished. */
tn_status tn_path_has_download_record(tn_context *context, const char *path, bool *out, tn_error *err);

#endif
