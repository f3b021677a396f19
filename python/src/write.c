/* The type Writer: a safetensors file that is written tensor by tensor and appears when it is finished.
 *
 * Writer(path, tensors, metadata): `tensors` is a list of (name, dtype, shape), `metadata` a dict of texts or None.
 * put(place, source): a source is a buffer or a tuple (address, bytes) of memory that the caller keeps meanwhile. */
#include "module.h"

#include <stdlib.h>

typedef struct writer_self {
    PyObject_HEAD
    tn_writer *writer; /* NULL: finished */
    unsigned puts;     /* under way in other threads; only the holder of the interpreter's lock looks or counts */
} writer_self;

/* What tn_writer_open reads; the texts belong to the Python objects. */
typedef struct plan {
    size_t count, pairs;
    tn_write_tensor *tensors;
    uint64_t *shapes; /* TN_INDEX_MAX for each */
    tn_pair *metadata;
} plan;

int read_shape(PyObject *tuple, uint64_t *shape, uint32_t *rank)
{
    Py_ssize_t size = PyTuple_Size(tuple);
    if (size < 0 || size > TN_INDEX_MAX) {
        if (size > 0)
            PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions", TN_INDEX_MAX);
        return -1;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        shape[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, i));
        if (PyErr_Occurred())
            return -1;
    }
    *rank = (uint32_t)size;
    return 0;
}

int read_dtype(const char *name, Py_ssize_t size, tn_dtype *out)
{
    if (tn_dtype_from_name(name, (size_t)size, out))
        return 0;
    PyErr_Format(PyExc_ValueError, "there is no element type %s", name);
    return -1;
}

static int read_text(PyObject *object, tn_text *out)
{
    Py_ssize_t size;
    out->bytes = PyUnicode_AsUTF8AndSize(object, &size);
    out->size = (size_t)size;
    return out->bytes == NULL ? -1 : 0;
}

static int read_entry(plan *p, size_t i, PyObject *entry)
{
    PyObject *name, *shape;
    const char *dtype;
    Py_ssize_t dtype_size;
    tn_write_tensor *tensor = &p->tensors[i];
    if (!PyArg_ParseTuple(entry, "Us#O!", &name, &dtype, &dtype_size, &PyTuple_Type, &shape))
        return -1;
    if (read_text(name, &tensor->name) != 0 || read_dtype(dtype, dtype_size, &tensor->dtype) != 0)
        return -1;
    uint64_t *numbers = p->shapes + i * TN_INDEX_MAX;
    tensor->shape = numbers;
    return read_shape(shape, numbers, &tensor->rank);
}

static int read_pairs(plan *p, PyObject *metadata)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (metadata != Py_None && PyDict_Next(metadata, &at, &key, &value)) {
        tn_pair *pair = &p->metadata[p->pairs++];
        if (read_text(key, &pair->key) != 0 || read_text(value, &pair->value) != 0)
            return -1;
    }
    return 0;
}

static int make_plan(plan *p, PyObject *tensors, PyObject *metadata)
{
    p->count = (size_t)PyList_Size(tensors);
    size_t pairs = metadata == Py_None ? 0 : (size_t)PyDict_Size(metadata);
    p->tensors = calloc(p->count + 1, sizeof *p->tensors);
    p->shapes = calloc((p->count + 1) * TN_INDEX_MAX, sizeof *p->shapes);
    p->metadata = calloc(pairs + 1, sizeof *p->metadata);
    if (p->tensors == NULL || p->shapes == NULL || p->metadata == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < p->count; i++) {
        if (read_entry(p, i, PyList_GetItem(tensors, (Py_ssize_t)i)) != 0)
            return -1;
    }
    return read_pairs(p, metadata);
}

static void end_plan(plan *p)
{
    free(p->tensors);
    free(p->shapes);
    free(p->metadata);
}

static tn_writer *open_writer(const char *path, const plan *p, bool has_metadata)
{
    tn_context *context = the_context();
    if (context == NULL)
        return NULL;
    tn_writer_options options = {sizeof options, p->metadata, p->pairs, has_metadata};
    tn_writer *writer = NULL;
    tn_error err;
    tn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tn_writer_open(context, path, p->tensors, p->count, &options, &writer, &err);
    Py_END_ALLOW_THREADS
    if (status != TN_OK)
        raise_error(&err);
    return writer;
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *path, *tensors, *metadata;
    if (keywords != NULL && PyDict_Size(keywords) != 0)
        return PyErr_Format(PyExc_TypeError, "a writer takes a path, tensors and metadata");
    if (!PyArg_ParseTuple(args, "O&O!O", PyUnicode_FSConverter, &path, &PyList_Type, &tensors, &metadata))
        return NULL;
    plan p = {0};
    writer_self *self = NULL;
    if (metadata != Py_None && !PyDict_Check(metadata)) {
        PyErr_SetString(PyExc_TypeError, "metadata is a dict of texts");
    } else if (make_plan(&p, tensors, metadata) == 0) {
        tn_writer *writer = open_writer(PyBytes_AsString(path), &p, metadata != Py_None);
        self = writer == NULL ? NULL : PyObject_New(writer_self, type);
        if (self != NULL)
            self->writer = writer, self->puts = 0;
        else
            tn_writer_destroy(writer);
    }
    end_plan(&p);
    Py_DECREF(path);
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    tn_writer_destroy(((writer_self *)self)->writer);
    PyObject_Free(self);
    Py_DECREF(type);
}

static tn_writer *unfinished(PyObject *self)
{
    tn_writer *writer = ((writer_self *)self)->writer;
    if (writer == NULL)
        PyErr_SetString(PyExc_ValueError, "this file is finished");
    return writer;
}

static PyObject *put_bytes(PyObject *self, size_t place, const void *bytes, size_t size)
{
    writer_self *own = (writer_self *)self;
    tn_error err;
    tn_status status;
    own->puts++;
    Py_BEGIN_ALLOW_THREADS
    status = tn_writer_put(own->writer, place, bytes, size, &err);
    Py_END_ALLOW_THREADS
    own->puts--;
    return status == TN_OK ? Py_NewRef(Py_None) : raise_error(&err);
}

static PyObject *writer_put(PyObject *self, PyObject *args)
{
    Py_ssize_t place, size;
    unsigned long long address;
    PyObject *source;
    if (!PyArg_ParseTuple(args, "nO", &place, &source))
        return NULL;
    if (PyTuple_Check(source)) {
        if (!PyArg_ParseTuple(source, "Kn", &address, &size))
            return NULL;
        if (unfinished(self) == NULL)
            return NULL;
        return put_bytes(self, (size_t)place, (const void *)(uintptr_t)address, (size_t)size);
    }
    Py_buffer view;
    if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    PyObject *result = NULL;
    if (unfinished(self) != NULL)
        result = put_bytes(self, (size_t)place, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return result;
}

static PyObject *writer_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    writer_self *own = (writer_self *)self;
    tn_writer *writer = unfinished(self);
    if (writer == NULL)
        return NULL;
    if (own->puts != 0) {
        PyErr_SetString(PyExc_ValueError, "another thread is putting bytes into this file");
        return NULL;
    }
    tn_error err;
    tn_status status;
    own->writer = NULL; /* for other threads meanwhile */
    Py_BEGIN_ALLOW_THREADS
    status = tn_writer_finish(writer, &err);
    Py_END_ALLOW_THREADS
    if (status != TN_OK) {
        own->writer = writer;
        return raise_error(&err);
    }
    tn_writer_destroy(writer);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"put", writer_put, METH_VARARGS, NULL},
    {"finish", writer_finish, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)writer_new},
    {Py_tp_dealloc, (void *)writer_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    "tenure._tenure.Writer", sizeof(writer_self), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots,
};

int add_writer_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int failure = type == NULL || PyModule_AddObjectRef(module, "Writer", type) != 0;
    Py_XDECREF(type);
    return failure ? -1 : 0;
}
