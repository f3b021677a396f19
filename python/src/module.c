/* What tenure._tenure holds. */
#include "module.h"

static PyMethodDef functions[] = {
    {"open", open_checkpoint, METH_VARARGS, NULL},
    {"probe", probe, METH_VARARGS, NULL},
    {"digests", digests, METH_VARARGS, NULL},
    {"convert", convert, METH_VARARGS, NULL},
    {"join", join, METH_VARARGS, NULL},
    {"memory", memory, METH_NOARGS, NULL},
    {"after_fork_in_child", after_fork_in_child, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_constants(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "version", tn_version()) != 0 ||
        PyModule_AddIntConstant(module, "VIEW", TN_LEASE_VIEW) != 0 ||
        PyModule_AddIntConstant(module, "BACKGROUND", TN_LEASE_BACKGROUND) != 0 ||
        PyModule_AddIntConstant(module, "DROP_BEHIND", TN_LEASE_DROP_BEHIND) != 0)
        return -1;
    return PyModule_AddIntConstant(module, "LENIENT", TN_LEASE_LENIENT);
}

/* Bits of an element by name of its type. */
static int add_bits(PyObject *module)
{
    PyObject *bits = PyDict_New();
    int failure = bits == NULL;
    for (int i = 0; !failure && i < TN_DTYPE_COUNT; i++) {
        PyObject *number = PyLong_FromUnsignedLong(tn_dtype_bits((tn_dtype)i));
        failure = number == NULL || PyDict_SetItemString(bits, tn_dtype_name((tn_dtype)i), number) != 0;
        Py_XDECREF(number);
    }
    failure = failure || PyModule_AddObjectRef(module, "BITS", bits) != 0;
    Py_XDECREF(bits);
    return failure ? -1 : 0;
}

static int fill(PyObject *module)
{
    if (lease_type != NULL) {
        PyErr_SetString(PyExc_ImportError, "tenure can be used by one interpreter of a process");
        return -1;
    }
    if (add_lease_type(module) != 0 || add_checkpoint_type(module) != 0 || add_writer_type(module) != 0 ||
        add_constants(module) != 0)
        return -1;
    return add_bits(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tenure._tenure", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__tenure(void); /* found by its name */

PyMODINIT_FUNC PyInit__tenure(void)
{
    return PyModuleDef_Init(&definition);
}
