/* join(header, pieces) -> bytes: a header and pieces of memory, each (address, bytes) that the caller keeps. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

typedef struct piece {
    const void *bytes;
    size_t size;
} piece;

/* The size of all, or -1 with an exception set. */
static Py_ssize_t read_pieces(PyObject *list, piece *pieces, Py_ssize_t total)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        unsigned long long address;
        Py_ssize_t size;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "Kn", &address, &size))
            return -1;
        if (size < 0 || size > PY_SSIZE_T_MAX - total) {
            PyErr_NoMemory();
            return -1;
        }
        pieces[i] = (piece){(const void *)(uintptr_t)address, (size_t)size};
        total += size;
    }
    return total;
}

static void copy_pieces(char *out, const piece *pieces, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (pieces[i].size != 0)
            memcpy(out, pieces[i].bytes, pieces[i].size);
        out += pieces[i].size;
    }
}

PyObject *join(PyObject *module, PyObject *args)
{
    (void)module;
    const char *header;
    Py_ssize_t header_size;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "y#O!", &header, &header_size, &PyList_Type, &list))
        return NULL;
    Py_ssize_t count = PyList_Size(list);
    piece *pieces = malloc(sizeof *pieces * (size_t)(count + 1));
    if (pieces == NULL)
        return PyErr_NoMemory();
    Py_ssize_t total = read_pieces(list, pieces, header_size);
    PyObject *result = total < 0 ? NULL : PyBytes_FromStringAndSize(NULL, total);
    if (result != NULL) {
        char *out = PyBytes_AsString(result);
        memcpy(out, header, (size_t)header_size);
        Py_BEGIN_ALLOW_THREADS
        copy_pieces(out + header_size, pieces, count);
        Py_END_ALLOW_THREADS
    }
    free(pieces);
    return result;
}
