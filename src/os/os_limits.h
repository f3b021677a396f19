/* Reading what Linux says about memory. Texts of the kernel are parsed here, apart from where they are read, so that
 * tests can give any text. Nothing in them is trusted: what cannot be understood sets no limit. */
#ifndef TN_OS_LIMITS_H
#define TN_OS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value behind `name` ("MemAvailable:") at the start of a line, in bytes; "kB" multiplies by 1024. TN_NONE when
 * there is no such line or no number in it. For /proc/meminfo and /proc/self/status. */
uint64_t tn_os_limits_field(const char *text, const char *name);

/* A number alone in a file of a cgroup. "max", and numbers that mean "no limit" (2^62 and more), are TN_NONE. */
uint64_t tn_os_limits_amount(const char *text);
/* The value of a word in memory.stat ("inactive_file 4096"); 0 when it is not there. */
uint64_t tn_os_limits_stat(const char *text, const char *word);

/* The path of this process in /proc/self/cgroup: the line of the controller "memory" (v1), or "0::" (v2). Copied into
 * `out`, cut nowhere. False when there is none or it does not fit. */
bool tn_os_limits_cgroup_path(const char *text, bool version_2, char *out, size_t size);
/* Where that hierarchy is mounted, from /proc/self/mountinfo: its root within the hierarchy and its mount point. */
bool tn_os_limits_cgroup_mount(const char *text, bool version_2, char *root, char *point, size_t size);
/* The folder of `path` under that mount: `point` + `path` without `root`; `point` alone when `path` is elsewhere (a
 * container that sees the host's names). False when it does not fit or leaves the mount with "..". */
bool tn_os_limits_cgroup_folder(const char *path, const char *root, const char *point, char *out, size_t size);

/* Room under one limit: limit - (usage - cache), at least 0. TN_NONE when limit or usage is. */
uint64_t tn_os_limits_left(uint64_t limit, uint64_t usage, uint64_t cache);

#endif
