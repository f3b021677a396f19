/* The library that a test looks at: opened before it, closed after it. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_OPEN_H
#define TN_TESTS_SUPPORT_LIBRARY_OPEN_H

#include "support/library.h"

static tn_library *library;

static inline int open_setup(void **state)
{
    if (library_setup(state) != 0)
        return -1;
    library = open_library(NULL);
    return 0;
}

static inline int close_teardown(void **state)
{
    tn_library_close(library);
    library = NULL;
    return library_teardown(state);
}

/* Whatever a test did, the library is sound. */
static inline int verify_teardown(void **state)
{
    assert_verified(library);
    return close_teardown(state);
}

/* Statements without results. */
static inline void run(const char *sql)
{
    tn_error err;
    if (tn_db_script(&library->db, sql, &err) != TN_OK)
        fail_msg("%s: %s", sql, err.message);
}

#endif
