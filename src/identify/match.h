/* Which rows are consistent with a file. Every row is asked; none ends the search. */
#ifndef TN_IDENTIFY_MATCH_H
#define TN_IDENTIFY_MATCH_H

#include "identify/facts.h"

#define TN_MATCHES_MAX 64u /* consistent rows kept; more would be a fault of the rules, and is told */

typedef struct tn_variables {
    uint64_t values[TN_RULES_VARIABLES_MAX];
    uint32_t known; /* bits */
} tn_variables;

typedef struct tn_match {
    const tn_row_rule *row;
    const tn_family *family;
    tn_view view;
    tn_variables variables;
} tn_match;

/* A row whose family fits and which failed at one condition: it tells what spoke against it. */
typedef struct tn_near_miss {
    const tn_row_rule *row;
    const tn_condition *failed;
    tn_view view;
    tn_variables variables; /* as they stood at the condition */
} tn_near_miss;

typedef struct tn_matches {
    tn_match items[TN_MATCHES_MAX];
    uint32_t count;
    bool overflow;
    tn_near_miss *misses; /* NULL: not wanted */
    uint32_t miss_count, miss_max;
} tn_matches;

/* How many different numbers stand for # in the names a COUNT or TOP condition asks about. */
uint64_t tn_match_count(const tn_view *view, const tn_condition *c);
void tn_match_all(const tn_facts *facts, tn_matches *matches);
/* The value of an expression of a row; false when it has none. */
bool tn_match_value(const tn_rules *rules, const tn_variables *variables, tn_range steps, uint64_t *out);

#endif
