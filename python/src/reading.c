/* Reading out of a checkpoint: leases of one tensor or many, and what they would cost. A callback is called with the
 * interpreter's lock; an exception in it, or Ctrl-C, ends the reading. */
#include "module.h"

#include <stdlib.h>

static tn_status lease_unlocked(const tn_checkpoint *checkpoint, const tn_tensor *tensor, tn_lease_options *options,
                                listener *l, tn_lease **out, tn_error *err)
{
    if (l->callback != NULL || tensor->size_bytes >= TELL_EVERY) {
        options->progress = tell;
        options->user = l;
    }
    l->thread = PyEval_SaveThread();
    tn_status status = tn_lease_tensor(checkpoint, tensor, options, out, err);
    PyEval_RestoreThread(l->thread);
    return status;
}

/* lease(name, index=None, flags=0, progress=None) */
PyObject *checkpoint_lease(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 1 || count > 4)
        return PyErr_Format(PyExc_TypeError, "lease takes a name, an index, flags and a callback");
    tn_index items[TN_INDEX_MAX];
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    if (count > 1 && args[1] != Py_None) {
        options.index = items;
        if (read_index(args[1], items, &options.index_count) != 0)
            return NULL;
    }
    if (count > 2)
        options.flags = (uint32_t)PyLong_AsUnsignedLong(args[2]);
    listener l = {count > 3 && args[3] != Py_None ? args[3] : NULL, NULL, 0};
    if (PyErr_Occurred())
        return NULL;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    const tn_tensor *tensor = checkpoint == NULL ? NULL : find_tensor(checkpoint, args[0]);
    if (tensor == NULL)
        return NULL;
    tn_lease *lease = NULL;
    tn_error err;
    if (has_failed(lease_unlocked(checkpoint, tensor, &options, &l, &lease, &err), &err)) {
        tn_lease_release(lease);
        return NULL;
    }
    return lease_object(lease);
}

/* The tensors of a list of names, to be freed; NULL with an exception set. */
static const tn_tensor **find_all(const tn_checkpoint *checkpoint, PyObject *names, size_t *count)
{
    Py_ssize_t size = PyList_Size(names);
    const tn_tensor **found = size < 0 ? NULL : malloc(sizeof *found * (size_t)(size + 1));
    if (found == NULL) {
        if (size >= 0)
            PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        found[i] = find_tensor(checkpoint, PyList_GetItem(names, i));
        if (found[i] == NULL) {
            free(found);
            return NULL;
        }
    }
    *count = (size_t)size;
    return found;
}

static PyObject *lease_list(tn_lease **leases, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        PyObject *lease = list == NULL ? NULL : lease_object(leases[i]);
        if (list == NULL)
            tn_lease_release(leases[i]);
        else if (lease == NULL || PyList_SetItem(list, (Py_ssize_t)i, lease) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* The word of a type that floats shall become, or None. -1 with an exception set. */
static int read_conversion(PyObject *word, tn_lease_options *options)
{
    Py_ssize_t size = 0;
    if (word == Py_None)
        return 0;
    const char *name = PyUnicode_AsUTF8AndSize(word, &size);
    options->flags |= TN_LEASE_CONVERT;
    return name == NULL ? -1 : read_dtype(name, size, &options->dtype);
}

/* The tensors of a call, to be freed, and into what they are turned; NULL with an exception set. */
static const tn_tensor **read_request(const tn_checkpoint *checkpoint, PyObject *names, unsigned flags, PyObject *dtype,
                                      tn_lease_options *options, size_t *count)
{
    options->flags = flags;
    return read_conversion(dtype, options) != 0 ? NULL : find_all(checkpoint, names, count);
}

static PyObject *lease_all(const tn_checkpoint *checkpoint, const tn_tensor **tensors, size_t count,
                           tn_lease_options options, PyObject *callback)
{
    listener l = {callback != Py_None ? callback : NULL, NULL, 0};
    options.progress = tell;
    options.user = &l;
    tn_lease **leases = calloc(count + 1, sizeof(*leases));
    if (leases == NULL)
        return PyErr_NoMemory();
    tn_error err;
    l.thread = PyEval_SaveThread();
    tn_status status = tn_lease_many(checkpoint, tensors, count, &options, leases, &err);
    PyEval_RestoreThread(l.thread);
    PyObject *list = NULL;
    if (!has_failed(status, &err))
        list = lease_list(leases, count);
    else
        for (size_t i = 0; i < count; i++)
            tn_lease_release(leases[i]);
    free(leases);
    return list;
}

/* lease_many(names, flags, progress, dtype) -> list of leases, in the order of the names. */
PyObject *checkpoint_lease_many(PyObject *self, PyObject *args)
{
    PyObject *names, *callback = Py_None, *dtype = Py_None;
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    unsigned flags = 0;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    if (checkpoint == NULL || !PyArg_ParseTuple(args, "O!|IOO", &PyList_Type, &names, &flags, &callback, &dtype))
        return NULL;
    size_t count;
    const tn_tensor **tensors = read_request(checkpoint, names, flags, dtype, &options, &count);
    if (tensors == NULL)
        return NULL;
    PyObject *list = lease_all(checkpoint, tensors, count, options, callback);
    free(tensors);
    return list;
}

static PyObject *cost_dict(const tn_cost *cost)
{
    PyObject *ways = PyDict_New(), *dtypes = PyDict_New();
    int failure = ways == NULL || dtypes == NULL;
    for (int i = 0; !failure && i < TN_WAY_COUNT; i++) {
        PyObject *bytes = PyLong_FromUnsignedLongLong(cost->bytes_by_way[i]);
        failure = bytes == NULL || (cost->bytes_by_way[i] != 0 &&
                                    PyDict_SetItemString(ways, tn_way_word((tn_way)i), bytes) != 0);
        Py_XDECREF(bytes);
    }
    for (int i = 0; !failure && i < TN_DTYPE_COUNT; i++) {
        PyObject *bytes = PyLong_FromUnsignedLongLong(cost->bytes_by_dtype[i]);
        failure = bytes == NULL || (cost->bytes_by_dtype[i] != 0 &&
                                    PyDict_SetItemString(dtypes, tn_dtype_name((tn_dtype)i), bytes) != 0);
        Py_XDECREF(bytes);
    }
    PyObject *dict = failure ? NULL
                             : Py_BuildValue("{sKsKsKsKsNsOsOsO}", "tensors", (unsigned long long)cost->tensors, "bytes",
                                             (unsigned long long)cost->bytes, "memory_bytes",
                                             (unsigned long long)cost->memory_bytes, "largest_bytes",
                                             (unsigned long long)cost->largest_bytes, "left_bytes",
                                             number_or_none(cost->left_bytes), "fits",
                                             cost->fits ? Py_True : Py_False, "by_way", ways, "by_dtype", dtypes);
    Py_XDECREF(ways);
    Py_XDECREF(dtypes);
    return dict;
}

/* cost(names, flags, dtype) -> dict */
PyObject *checkpoint_cost(PyObject *self, PyObject *args)
{
    PyObject *names, *dtype = Py_None;
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    unsigned flags = 0;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    if (checkpoint == NULL || !PyArg_ParseTuple(args, "O!|IO", &PyList_Type, &names, &flags, &dtype))
        return NULL;
    size_t count;
    const tn_tensor **tensors = read_request(checkpoint, names, flags, dtype, &options, &count);
    if (tensors == NULL)
        return NULL;
    tn_cost cost;
    tn_error err;
    tn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tn_cost_of(checkpoint, tensors, count, &options, &cost, &err);
    Py_END_ALLOW_THREADS
    free(tensors);
    return status == TN_OK ? cost_dict(&cost) : raise_error(&err);
}
