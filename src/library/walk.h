/* The inside of a scan: the walk from folder to folder (scan.c), the names of one folder (names.c), and what they
 * claim together (scan_claims.c), and where links lead (scan_links.c). */
#ifndef TN_LIBRARY_WALK_H
#define TN_LIBRARY_WALK_H

#include "core/arena.h"
#include "core/map.h"
#include "library/scan.h"

/* A folder still to be walked. */
typedef struct tn_walk_folder {
    const char *path; /* in the walk's arena */
    size_t size;
    unsigned depth;
    const char *only; /* NULL, or the one name asked for in it */
} tn_walk_folder;

typedef struct tn_walk_stack {
    tn_walk_folder *items;
    size_t count, capacity;
} tn_walk_stack;

/* A claim of several files that is being put together. Its digests `members` and `who` are those of all members so far:
 * each member's is taken over the one before it and the member. */
typedef struct tn_walk_set {
    tn_claim claim;
    bool strong; /* every member has a strong identity */
} tn_walk_set;

typedef struct tn_walk {
    tn_context *context;
    const tn_scan_visitor *visitor;
    tn_scan_counts counts;
    tn_arena paths;         /* paths of folders, keys of `visited` */
    tn_map visited;         /* device and file id of each folder walked */
    tn_walk_stack stack;    /* walked next: the last one first */
    tn_walk_stack links;    /* folders behind links, walked when no other is left */
    const char *const *named; /* the paths that were named */
    size_t named_count;
    tn_text *real;          /* where they lead, asked at the first link; as many as named */
    bool owned;             /* inside a folder that is one model: */
    tn_walk_set owner;      /*   that model, */
    size_t owner_height;    /*   done when the stack is this low again */
} tn_walk;

/* One name in a folder. */
typedef struct tn_name {
    const char *bytes; /* in the arena of the names */
    size_t size;
    bool folder, link, used;
} tn_name;

/* The names of one folder that are worth looking at, sorted as bytes. */
typedef struct tn_names {
    tn_arena arena;
    tn_name *items;
    size_t count, capacity;
    tn_buffer path; /* the folder's path and a separator: names are put behind it */
    size_t prefix;
} tn_names;

/* List a folder. Not being able to is counted, not failed. */
tn_status tn_names_list(tn_walk *walk, const tn_walk_folder *folder, tn_names *out, tn_error *err);
void tn_names_free(tn_walk *walk, tn_names *names);
/* The full path of a name, valid until the next call. NULL when it is too long or there is no memory. */
const char *tn_names_path(tn_names *names, const tn_name *name);
/* Find a name, or NULL. */
tn_name *tn_names_find(tn_names *names, const char *bytes, size_t size);

/* Tell the visitor of everything the names claim; push the folders among them. */
tn_status tn_walk_names(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, tn_error *err);
/* The model that owns the folders walked last is complete. */
tn_status tn_walk_owner_done(tn_walk *walk, tn_error *err);
/* A single file, by its path. */
tn_status tn_walk_file(tn_walk *walk, const char *path, size_t size, bool named, tn_error *err);

/* Count a folder that cannot be listed, and tell the visitor of it. */
tn_status tn_walk_unreadable(tn_walk *walk, const char *path, const char *why, tn_error *err);
/* Count a link to a folder that lies outside of all that was named. */
tn_status tn_walk_see_link(tn_walk *walk, const char *path, tn_error *err);
tn_status tn_walk_push(tn_walk *walk, tn_walk_stack *stack, const char *path, size_t size, unsigned depth,
                       tn_error *err);

#endif
