/* A Python index (int, slice, Ellipsis, None, or a tuple of these) as the items of tn_lease_options. Whatever else NumPy
 * and torch accept (lists, masks, arrays) is a TypeError here: these need the whole tensor. */
#include "module.h"

/* Beyond 64 bits a number is as good as the ends. */
static int read_bound(PyObject *slice, const char *attribute, int64_t *out)
{
    PyObject *value = PyObject_GetAttrString(slice, attribute);
    if (value == NULL)
        return -1;
    *out = TN_INDEX_NONE;
    if (value != Py_None) {
        PyObject *number = PyNumber_Index(value);
        Py_ssize_t clamped = number == NULL ? -1 : PyNumber_AsSsize_t(number, NULL);
        Py_XDECREF(number);
        *out = clamped == PY_SSIZE_T_MIN ? -PY_SSIZE_T_MAX : clamped;
    }
    Py_DECREF(value);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_item(PyObject *item, tn_index *out)
{
    *out = (tn_index){TN_INDEX_RANGE, TN_INDEX_NONE, TN_INDEX_NONE, TN_INDEX_NONE};
    if (item == Py_Ellipsis)
        return out->kind = TN_INDEX_REST, 0;
    if (item == Py_None)
        return out->kind = TN_INDEX_NEW, 0;
    if (PySlice_Check(item)) {
        int start = read_bound(item, "start", &out->start);
        return start != 0 || read_bound(item, "stop", &out->stop) != 0 ? -1 : read_bound(item, "step", &out->step);
    }
    if (!PyIndex_Check(item) || PyBool_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a tensor is sliced with integers, slices, ... and None");
        return -1;
    }
    out->kind = TN_INDEX_AT;
    out->start = PyNumber_AsSsize_t(item, PyExc_IndexError);
    return out->start == -1 && PyErr_Occurred() ? -1 : 0;
}

int read_index(PyObject *index, tn_index *items, size_t *count)
{
    if (!PyTuple_Check(index)) {
        *count = 1;
        return read_item(index, items);
    }
    Py_ssize_t size = PyTuple_Size(index);
    if (size > TN_INDEX_MAX) {
        PyErr_Format(PyExc_IndexError, "an index has at most %d items", TN_INDEX_MAX);
        return -1;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        if (read_item(PyTuple_GetItem(index, i), &items[i]) != 0)
            return -1;
    }
    *count = (size_t)size;
    return 0;
}
