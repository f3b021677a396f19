/* The type Lease: the bytes of a tensor as a Python object, by buffer protocol and DLPack.
 *
 * What was handed out stays valid as long as anything that was made of it lives: consumers such as numpy.frombuffer keep
 * the object, not the buffer, so a lease has no way to be given back early. */
#include "module.h"

#include <string.h>

PyTypeObject *lease_type;

typedef struct lease_self {
    PyObject_HEAD
    tn_lease *lease;
} lease_self;

tn_lease *lease_of(PyObject *self)
{
    return ((lease_self *)self)->lease;
}

PyObject *lease_object(tn_lease *lease)
{
    lease_self *self = PyObject_New(lease_self, lease_type);
    if (self == NULL)
        tn_lease_release(lease);
    else
        self->lease = lease;
    return (PyObject *)self;
}

static void lease_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    tn_lease_release(lease_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the buffer protocol ---- */

/* The struct module's word for a type; "B" where it has none, and the buffer is then bytes. */
static const char *format_of(tn_dtype dtype)
{
    static const char *const formats[TN_DTYPE_COUNT] = {
        [TN_BOOL] = "?", [TN_U8] = "B", [TN_I8] = "b", [TN_I16] = "h", [TN_U16] = "H", [TN_F16] = "e",
        [TN_I32] = "i",  [TN_U32] = "I", [TN_F32] = "f", [TN_F64] = "d", [TN_I64] = "q", [TN_U64] = "Q",
        [TN_C64] = "Zf", [TN_C128] = "Zd",
    };
    return formats[dtype];
}

static bool is_contiguous(const tn_lease *lease)
{
    int64_t expected = 1;
    if (lease->strides == NULL)
        return true;
    for (uint32_t i = lease->rank; i-- > 0;) {
        if (lease->shape[i] != 1 && lease->elements != 0 && lease->strides[i] != expected)
            return false;
        expected *= (int64_t)lease->shape[i];
    }
    return true;
}

/* Shape and strides as Python counts them, in one piece; freed when the buffer is. */
static int fill_dimensions(Py_buffer *view, const tn_lease *lease)
{
    Py_ssize_t *numbers = PyMem_Calloc(2 * (size_t)lease->rank + 1, sizeof *numbers);
    if (numbers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < lease->rank; i++) {
        numbers[i] = (Py_ssize_t)lease->shape[i];
        numbers[lease->rank + i] = (Py_ssize_t)lease->strides[i] * view->itemsize;
    }
    view->ndim = (int)lease->rank;
    view->shape = numbers;
    view->strides = numbers + lease->rank;
    view->internal = numbers;
    return 0;
}

static int refuse_buffer(Py_buffer *view, const char *message)
{
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, message);
    return -1;
}

static int lease_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    const tn_lease *lease = lease_of(self);
    bool contiguous = is_contiguous(lease);
    if ((flags & PyBUF_WRITABLE) != 0 && lease->owned == NULL)
        return refuse_buffer(view, "a view of a file is read-only");
    if (!contiguous && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        return refuse_buffer(view, "this view of a slice is not contiguous");
    *view = (Py_buffer){.buf = (void *)(uintptr_t)lease->data, .len = (Py_ssize_t)lease->size_bytes, .itemsize = 1,
                        .readonly = lease->owned == NULL, .ndim = 1};
    const char *format = format_of(lease->dtype);
    if (format == NULL && !contiguous)
        return refuse_buffer(view, "elements of this type have no place in a buffer that is not contiguous");
    view->format = (flags & PyBUF_FORMAT) != 0 ? (char *)(uintptr_t)(format != NULL ? format : "B") : NULL;
    if (format != NULL)
        view->itemsize = (Py_ssize_t)(tn_dtype_bits(lease->dtype) / 8);
    if ((flags & PyBUF_ND) == PyBUF_ND && format != NULL && fill_dimensions(view, lease) != 0)
        return view->obj = NULL, -1;
    if ((flags & PyBUF_ND) == PyBUF_ND && format == NULL) {
        view->shape = &view->len; /* bytes, one after the other */
        view->strides = &view->itemsize;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        view->strides = NULL;
    view->obj = Py_NewRef(self);
    return 0;
}

static void lease_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    PyMem_Free(view->internal);
}

/* ---- attributes ---- */

static PyObject *lease_name(PyObject *self, void *closure)
{
    (void)closure;
    return text_to_str(lease_of(self)->name);
}

/* Each word is made once and kept: frameworks ask every lease for it. Under the interpreter's lock. */
static PyObject *lease_dtype(PyObject *self, void *closure)
{
    static PyObject *words[TN_DTYPE_COUNT];
    (void)closure;
    tn_dtype dtype = lease_of(self)->dtype;
    if (words[dtype] == NULL)
        words[dtype] = PyUnicode_InternFromString(tn_dtype_name(dtype));
    return Py_XNewRef(words[dtype]);
}

static PyObject *lease_shape(PyObject *self, void *closure)
{
    (void)closure;
    const tn_lease *lease = lease_of(self);
    return shape_tuple(lease->rank, lease->shape);
}

static PyObject *lease_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(lease_of(self)->size_bytes);
}

static PyObject *lease_address(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong((uintptr_t)lease_of(self)->data);
}

static PyObject *lease_readonly(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(lease_of(self)->owned == NULL);
}

static PyObject *lease_way(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_InternFromString(tn_way_word(lease_of(self)->way));
}

static PyObject *lease_reason(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(lease_of(self)->reason);
}

static PyObject *lease_repr(PyObject *self)
{
    PyObject *name = lease_name(self, NULL), *shape = lease_shape(self, NULL);
    PyObject *text = NULL;
    if (name != NULL && shape != NULL)
        text = PyUnicode_FromFormat("<tenure.Lease %R %s %S>", name, tn_dtype_name(lease_of(self)->dtype), shape);
    Py_XDECREF(name);
    Py_XDECREF(shape);
    return text;
}

/* copy_to(buffer): the elements in C order; the way to look into a view whose file may be cut meanwhile. */
static PyObject *lease_copy_to(PyObject *self, PyObject *target)
{
    Py_buffer view;
    if (PyObject_GetBuffer(target, &view, PyBUF_WRITABLE) != 0)
        return NULL;
    tn_error err;
    tn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tn_lease_copy(lease_of(self), view.buf, (size_t)view.len, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return status == TN_OK ? Py_NewRef(Py_None) : raise_error(&err);
}

/* ---- other element types ---- */

/* convert(source, from, target, to): two buffers and two names of types. */
PyObject *convert(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer source, target;
    const char *from_name, *to_name;
    Py_ssize_t from_size, to_size;
    if (!PyArg_ParseTuple(args, "y*s#w*s#", &source, &from_name, &from_size, &target, &to_name, &to_size))
        return NULL;
    tn_dtype from, to;
    tn_error err;
    PyObject *result = NULL;
    if (read_dtype(from_name, from_size, &from) == 0 && read_dtype(to_name, to_size, &to) == 0) {
        uint64_t count = (uint64_t)source.len * 8 / tn_dtype_bits(from);
        if (count * tn_dtype_bits(to) / 8 != (uint64_t)target.len) {
            PyErr_SetString(PyExc_ValueError, "the target does not have the size that the elements will have");
        } else {
            tn_status status;
            Py_BEGIN_ALLOW_THREADS
            status = tn_convert(from, source.buf, to, target.buf, count, &err);
            Py_END_ALLOW_THREADS
            result = status == TN_OK ? Py_NewRef(Py_None) : raise_error(&err);
        }
    }
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    return result;
}

static PyMethodDef methods[] = {
    {"copy_to", lease_copy_to, METH_O, NULL},
    {"__dlpack__", (PyCFunction)(void (*)(void))lease_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", lease_dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"name", lease_name, NULL, "Name of the tensor.", NULL},
    {"dtype", lease_dtype, NULL, "Element type, such as 'BF16'.", NULL},
    {"shape", lease_shape, NULL, "Sizes of the dimensions, in elements.", NULL},
    {"nbytes", lease_nbytes, NULL, "Size in bytes of all elements.", NULL},
    {"address", lease_address, NULL, "Where the first element lies in memory.", NULL},
    {"readonly", lease_readonly, NULL, "True for a view of a file.", NULL},
    {"way", lease_way, NULL, "How the bytes were read, such as 'read' or 'direct'.", NULL},
    {"reason", lease_reason, NULL, "Why they were read so.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)lease_dealloc},
    {Py_tp_repr, (void *)lease_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, (void *)lease_getbuffer},
    {Py_bf_releasebuffer, (void *)lease_releasebuffer},
    {Py_tp_doc, "The bytes of a tensor, valid as long as anything refers to them."},
    {0, NULL},
};

static PyType_Spec spec = {
    "tenure._tenure.Lease", sizeof(lease_self), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots,
};

int add_lease_type(PyObject *module)
{
    lease_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return lease_type == NULL ? -1 : PyModule_AddObjectRef(module, "Lease", (PyObject *)lease_type);
}
