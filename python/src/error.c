/* A tn_error becomes an exception. The classes are written in Python (tenure/errors.py), which also knows how they read. */
#include "module.h"

PyObject *number_or_none(uint64_t number)
{
    if (number == TN_NONE)
        return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(number);
}

/* Names of tensors are UTF-8; paths may be any bytes and come back as os.fsdecode gives them. */
PyObject *text_to_str(tn_text text)
{
    return PyUnicode_DecodeUTF8(text.bytes, (Py_ssize_t)text.size, "surrogateescape");
}

static PyObject *make_exception(const tn_error *err)
{
    PyObject *errors = PyImport_ImportModule("tenure.errors");
    if (errors == NULL)
        return NULL;
    PyObject *made = PyObject_CallMethod(errors, "from_status", "sssssNNN", tn_status_python_class(err->status),
                                         tn_status_word(err->status), err->message, err->file, err->tensor,
                                         number_or_none(err->offset), number_or_none(err->expected),
                                         number_or_none(err->found));
    Py_DECREF(errors);
    return made;
}

PyObject *raise_error(const tn_error *err)
{
    PyObject *exception = make_exception(err);
    if (exception == NULL)
        return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}
