/* Many tensors in the order in which a file has them. */
#ifndef TN_WEIGHTS_LIST_H
#define TN_WEIGHTS_LIST_H

#include "format/catalog.h"
#include "weights/choice.h"
#include "weights/held.h"
#include "weights/place.h"

typedef struct tn_entry {
    tn_place place;
    size_t number; /* in the caller's order */
    tn_held *held;
} tn_entry;

typedef struct tn_list {
    tn_context *context;
    tn_entry *entries; /* by part and offset */
    size_t count;
    uint64_t bytes;  /* as they are stored */
    uint64_t wanted; /* as they are leased */
    bool converts;
} tn_list;

/* The places of all; ended with tn_list_end, which gives up every lease that is left in it. */
tn_status tn_list_make(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                       const tn_lease_options *options, tn_list *out, tn_error *err);
void tn_list_end(tn_list *list);
/* How many entries from `first` on are of the same part. */
size_t tn_list_same_part(const tn_list *list, size_t first);
/* What is left of the budget, the kept memory with it. */
uint64_t tn_budget_left(tn_context *context);

#endif
