/* Reading a suspect in a process of its own, so that only that process dies. */
#ifndef TN_LIBRARY_ISOLATE_H
#define TN_LIBRARY_ISOLATE_H

/* What a child process made of a suspect. DIED: twice, of itself. KILLED: twice, by others. */
typedef enum tn_isolated { TN_ISOLATED_SURVIVED = 0, TN_ISOLATED_DIED, TN_ISOLATED_KILLED, TN_ISOLATED_NO_CHILD } tn_isolated;

/* Let `program probe --json PATH` read the file's header. */
tn_isolated tn_isolate(const char *program, const char *path);
/* Let `program hash --algo WORDS PATH` read all of it. */
tn_isolated tn_isolate_hash(const char *program, const char *words, const char *path);

#endif
