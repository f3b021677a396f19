/* Reading a suspect in a process of its own, so that only that process dies. */
#include "library/import_inside.h"

#define TRIES 2

static tn_isolated once(const char *program, const char *path)
{
    const char *argv[] = {program, "probe", "--json", path, NULL};
    tn_os_exit how = {0};
    if (tn_os_run(argv, &how, NULL) != TN_OK)
        return TN_ISOLATED_NO_CHILD;
    if (how.by_itself_dead)
        return TN_ISOLATED_DIED;
    return how.killed ? TN_ISOLATED_KILLED : TN_ISOLATED_SURVIVED;
}

/* One death may be the machine's; a second one is the file's. */
tn_isolated tn_isolate(const char *program, const char *path)
{
    tn_isolated verdict = TN_ISOLATED_SURVIVED;
    for (int i = 0; i < TRIES; i++) {
        verdict = once(program, path);
        if (verdict == TN_ISOLATED_SURVIVED || verdict == TN_ISOLATED_NO_CHILD)
            return verdict;
    }
    return verdict;
}
