/* The CPython extension tenure._tenure: libtenure's checkpoints and leases as Python objects.
 *
 * It is written against the stable ABI of Python 3.11 and Tenure's public headers alone. Every failure of the library
 * becomes an exception of tenure.errors (error.c). The interpreter's lock is let go around everything that reads or
 * writes a file. One interpreter of a process may use it.
 */
#ifndef TENURE_PYTHON_MODULE_H
#define TENURE_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tenure/checkpoint.h"
#include "tenure/context.h"
#include "tenure/convert.h"
#include "tenure/digest.h"
#include "tenure/identify.h"
#include "tenure/lease.h"
#include "tenure/status.h"
#include "tenure/writer.h"

/* Raise what `err` says; returns NULL. */
PyObject *raise_error(const tn_error *err);
/* A number of an error or finding; None where there is none. A new reference. */
PyObject *number_or_none(uint64_t number);
PyObject *text_to_str(tn_text text);

/* The process's context, made at first need and anew in a forked child; NULL with an exception set. Borrowed. */
tn_context *the_context(void);
/* How often this process's line was forked; what was opened under another number belongs to a parent. */
unsigned the_generation(void);
PyObject *after_fork_in_child(PyObject *module, PyObject *unused);
PyObject *memory(PyObject *module, PyObject *unused);

/* checkpoint.c */
extern PyTypeObject *checkpoint_type;
int add_checkpoint_type(PyObject *module);
PyObject *open_checkpoint(PyObject *module, PyObject *args);
/* The checkpoint of this process; NULL with an exception set. Borrowed. */
const tn_checkpoint *checkpoint_of(PyObject *object);
/* The tensor of a name; NULL with an exception set. */
const tn_tensor *find_tensor(const tn_checkpoint *checkpoint, PyObject *name);
/* listen.c */
#define TELL_EVERY ((uint64_t)8 << 20) /* bytes between two looks for Ctrl-C */
/* A callback of the caller's and the thread that waits for it. */
typedef struct listener {
    PyObject *callback; /* NULL: only Ctrl-C is looked for */
    PyThreadState *thread;
    uint64_t told;
} listener;
/* Tells a listener; called without the interpreter's lock. False when the work shall end, with an exception set. */
bool tell(void *user, uint64_t done, uint64_t total);
/* Whether a call failed that told a listener; then an exception is set. */
bool has_failed(tn_status status, const tn_error *err);
/* reading.c */
PyObject *checkpoint_lease(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *checkpoint_lease_many(PyObject *self, PyObject *args);
PyObject *checkpoint_cost(PyObject *self, PyObject *args);

/* lease.c; takes the hold over. */
extern PyTypeObject *lease_type;
int add_lease_type(PyObject *module);
PyObject *lease_object(tn_lease *lease);
PyObject *convert(PyObject *module, PyObject *args);
/* dlpack.c */
PyObject *lease_dlpack(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *lease_dlpack_device(PyObject *self, PyObject *unused);
tn_lease *lease_of(PyObject *self);
/* index.c: a Python index as items; -1 with an exception set. */
int read_index(PyObject *index, tn_index *items, size_t *count);
/* probe.c, digest.c, write.c, join.c */
PyObject *probe(PyObject *module, PyObject *args);
PyObject *digests(PyObject *module, PyObject *args);
int add_writer_type(PyObject *module);
PyObject *join(PyObject *module, PyObject *args);
/* A tuple of ints as a shape of at most TN_INDEX_MAX dimensions; -1 with an exception set. */
int read_shape(PyObject *tuple, uint64_t *shape, uint32_t *rank);
PyObject *shape_tuple(uint32_t rank, const uint64_t *shape);
int read_dtype(const char *name, Py_ssize_t size, tn_dtype *out);

#endif
