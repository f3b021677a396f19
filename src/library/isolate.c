#include "library/isolate.h"

#include <stddef.h>

#include "os/os.h"

#define TRIES 2

static tn_isolated once(const char *const *argv)
{
    tn_os_exit how = {0};
    if (tn_os_run(argv, &how, NULL) != TN_OK)
        return TN_ISOLATED_NO_CHILD;
    if (how.by_itself_dead)
        return TN_ISOLATED_DIED;
    return how.killed ? TN_ISOLATED_KILLED : TN_ISOLATED_SURVIVED;
}

/* One death may be the machine's; a second one is the file's. */
static tn_isolated twice(const char *const *argv)
{
    tn_isolated verdict = TN_ISOLATED_SURVIVED;
    for (int i = 0; i < TRIES; i++) {
        verdict = once(argv);
        if (verdict == TN_ISOLATED_SURVIVED || verdict == TN_ISOLATED_NO_CHILD)
            return verdict;
    }
    return verdict;
}

tn_isolated tn_isolate(const char *program, const char *path)
{
    const char *argv[] = {program, "probe", "--json", path, NULL};
    return twice(argv);
}

tn_isolated tn_isolate_hash(const char *program, const char *words, const char *path)
{
    const char *argv[] = {program, "hash", "--algo", words, path, NULL};
    return twice(argv);
}
