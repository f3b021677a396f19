/* The type Checkpoint: an opened catalog and the reading out of it. What a user meets (tenure.open) is written in Python
 * over this.
 *
 * In a forked child a checkpoint of the parent is opened again by its path, and must be the same. */
#include "module.h"

#include <string.h>

PyTypeObject *checkpoint_type;

typedef struct checkpoint_self {
    PyObject_HEAD
    tn_checkpoint *checkpoint;
    PyObject *path; /* bytes */
    bool alone;
    unsigned generation;
} checkpoint_self;

static tn_checkpoint *open_path(PyObject *path, bool alone)
{
    tn_context *context = the_context();
    if (context == NULL)
        return NULL;
    tn_open_options options = {sizeof options, alone};
    tn_checkpoint *opened = NULL;
    tn_error err;
    tn_status status;
    const char *bytes = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = tn_checkpoint_open(context, bytes, &options, &opened, &err);
    Py_END_ALLOW_THREADS
    if (status != TN_OK)
        raise_error(&err);
    return opened;
}

/* open(path, alone): path is a str, bytes or os.PathLike. */
PyObject *open_checkpoint(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    int alone = 0;
    if (!PyArg_ParseTuple(args, "O&|p", PyUnicode_FSConverter, &path, &alone))
        return NULL;
    tn_checkpoint *opened = open_path(path, alone != 0);
    checkpoint_self *self = opened == NULL ? NULL : PyObject_New(checkpoint_self, checkpoint_type);
    if (self == NULL) {
        tn_checkpoint_release(opened);
        Py_DECREF(path);
        return NULL;
    }
    self->checkpoint = opened;
    self->path = path;
    self->alone = alone != 0;
    self->generation = the_generation();
    return (PyObject *)self;
}

static void checkpoint_dealloc(PyObject *object)
{
    checkpoint_self *self = (checkpoint_self *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->generation == the_generation()) /* a parent's is left as it is */
        tn_checkpoint_release(self->checkpoint);
    Py_DECREF(self->path);
    PyObject_Free(object);
    Py_DECREF(type);
}

static bool is_the_same(const tn_checkpoint *a, const tn_checkpoint *b)
{
    const tn_tensor *mine, *others;
    size_t count = tn_checkpoint_tensors(a, &mine);
    if (tn_checkpoint_tensors(b, &others) != count || tn_checkpoint_size_bytes(a) != tn_checkpoint_size_bytes(b) ||
        tn_checkpoint_header_bytes(a) != tn_checkpoint_header_bytes(b))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (mine[i].name.size != others[i].name.size || mine[i].size_bytes != others[i].size_bytes ||
            memcmp(mine[i].name.bytes, others[i].name.bytes, mine[i].name.size) != 0)
            return false;
    }
    return true;
}

/* The checkpoint of this process; NULL with an exception set. */
const tn_checkpoint *checkpoint_of(PyObject *object)
{
    checkpoint_self *self = (checkpoint_self *)object;
    if (self->generation == the_generation())
        return self->checkpoint;
    tn_checkpoint *again = open_path(self->path, self->alone);
    if (again == NULL)
        return NULL;
    if (self->generation == the_generation()) { /* another thread was quicker */
        tn_checkpoint_release(again);
        return self->checkpoint;
    }
    if (!is_the_same(self->checkpoint, again)) {
        tn_error err = {.status = TN_CHANGED, .offset = TN_NONE, .expected = TN_NONE, .found = TN_NONE};
        strncpy(err.message, "the file is another one than before this process was forked", sizeof err.message - 1);
        strncpy(err.file, PyBytes_AsString(self->path), sizeof err.file - 1);
        tn_checkpoint_release(again);
        raise_error(&err);
        return NULL;
    }
    self->checkpoint = again;
    self->generation = the_generation();
    return again;
}

/* ---- what is in it ---- */

PyObject *shape_tuple(uint32_t rank, const uint64_t *shape)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)rank);
    for (uint32_t i = 0; tuple != NULL && i < rank; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(shape[i]);
        if (number == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *info_of(const tn_tensor *tensor)
{
    return Py_BuildValue("(NNK)", PyUnicode_InternFromString(tn_dtype_name(tensor->dtype)), shape_tuple(tensor->rank, tensor->shape),
                         (unsigned long long)tensor->size_bytes);
}

/* The tensor of a name; NULL with a KeyError, or with the error of what is no name. */
const tn_tensor *find_tensor(const tn_checkpoint *checkpoint, PyObject *name)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(name, &size);
    const tn_tensor *tensor = bytes == NULL ? NULL : tn_checkpoint_find(checkpoint, bytes, (size_t)size);
    if (tensor == NULL && (bytes != NULL || PyErr_ExceptionMatches(PyExc_UnicodeError)))
        PyErr_SetObject(PyExc_KeyError, name);
    return tensor;
}

static PyObject *checkpoint_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    if (checkpoint == NULL)
        return NULL;
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *name = text_to_str(tensors[i].name);
        if (name == NULL || PyList_SetItem(list, (Py_ssize_t)i, name) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *checkpoint_info(PyObject *self, PyObject *name)
{
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    const tn_tensor *tensor = checkpoint == NULL ? NULL : find_tensor(checkpoint, name);
    return tensor == NULL ? NULL : info_of(tensor);
}

static PyObject *checkpoint_has(PyObject *self, PyObject *name)
{
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    if (checkpoint == NULL)
        return NULL;
    Py_ssize_t size;
    const char *bytes = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    PyErr_Clear();
    return PyBool_FromLong(bytes != NULL && tn_checkpoint_find(checkpoint, bytes, (size_t)size) != NULL);
}

static PyObject *checkpoint_metadata(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    PyObject *dict = checkpoint == NULL ? NULL : PyDict_New();
    const tn_pair *pairs;
    size_t count = dict == NULL ? 0 : tn_checkpoint_metadata(checkpoint, &pairs);
    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *key = text_to_str(pairs[i].key), *value = text_to_str(pairs[i].value);
        if (key == NULL || value == NULL || PyDict_SetItem(dict, key, value) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *checkpoint_parts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    PyObject *list = checkpoint == NULL ? NULL : PyList_New(0);
    const tn_part *parts;
    size_t count = list == NULL ? 0 : tn_checkpoint_parts(checkpoint, &parts);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *part = text_to_str(parts[i].path);
        if (part == NULL || PyList_Append(list, part) != 0)
            Py_CLEAR(list);
        Py_XDECREF(part);
    }
    return list;
}

static PyObject *finding_tuple(const tn_finding *finding)
{
    static const char *const severities[] = {"note", "warning", "error"};
    return Py_BuildValue("(ssNNNNNN)", severities[finding->severity], tn_status_word(finding->status),
                         text_to_str(finding->message), text_to_str(finding->file), text_to_str(finding->tensor),
                         number_or_none(finding->offset), number_or_none(finding->expected),
                         number_or_none(finding->found));
}

static PyObject *checkpoint_findings(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    PyObject *list = checkpoint == NULL ? NULL : PyList_New(0);
    const tn_finding *findings;
    size_t count = list == NULL ? 0 : tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *finding = finding_tuple(&findings[i]);
        if (finding == NULL || PyList_Append(list, finding) != 0)
            Py_CLEAR(list);
        Py_XDECREF(finding);
    }
    return list;
}

/* ---- its files ---- */

static PyObject *checkpoint_keep_files(PyObject *self, PyObject *unused)
{
    (void)unused;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    if (checkpoint == NULL)
        return NULL;
    tn_error err;
    tn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tn_checkpoint_keep_files(checkpoint, &err);
    Py_END_ALLOW_THREADS
    return status == TN_OK ? Py_NewRef(Py_None) : raise_error(&err);
}

/* place(name) -> (path, offset, bytes): where a tensor lies, as it stands in the file; None for what is not one run. */
static PyObject *checkpoint_place(PyObject *self, PyObject *name)
{
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    const tn_tensor *tensor = checkpoint == NULL ? NULL : find_tensor(checkpoint, name);
    if (tensor == NULL)
        return NULL;
    const tn_storage *storages;
    const tn_part *parts;
    tn_checkpoint_storages(checkpoint, &storages);
    tn_checkpoint_parts(checkpoint, &parts);
    const tn_storage *storage = &storages[tensor->storage];
    if (storage->encoding != TN_RAW || storage->big_endian || tensor->strides != NULL || tensor->flags != 0)
        Py_RETURN_NONE;
    uint64_t offset = storage->offset + tensor->element_offset * tn_dtype_bits(tensor->dtype) / 8;
    return Py_BuildValue("(NKK)", text_to_str(parts[storage->part].path), (unsigned long long)offset,
                         (unsigned long long)tensor->size_bytes);
}

static PyObject *checkpoint_container(PyObject *self, void *closure)
{
    (void)closure;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    return checkpoint == NULL ? NULL : PyUnicode_FromString(tn_container_word(tn_checkpoint_container(checkpoint)));
}

static PyObject *checkpoint_size(PyObject *self, void *closure)
{
    (void)closure;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    return checkpoint == NULL ? NULL : PyLong_FromUnsignedLongLong(tn_checkpoint_size_bytes(checkpoint));
}

static PyObject *checkpoint_header(PyObject *self, void *closure)
{
    (void)closure;
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    return checkpoint == NULL ? NULL : PyLong_FromUnsignedLongLong(tn_checkpoint_header_bytes(checkpoint));
}

static Py_ssize_t checkpoint_length(PyObject *self)
{
    const tn_checkpoint *checkpoint = checkpoint_of(self);
    const tn_tensor *tensors;
    return checkpoint == NULL ? -1 : (Py_ssize_t)tn_checkpoint_tensors(checkpoint, &tensors);
}

static PyMethodDef methods[] = {
    {"names", checkpoint_names, METH_NOARGS, NULL},
    {"info", checkpoint_info, METH_O, NULL},
    {"has", checkpoint_has, METH_O, NULL},
    {"metadata", checkpoint_metadata, METH_NOARGS, NULL},
    {"parts", checkpoint_parts, METH_NOARGS, NULL},
    {"findings", checkpoint_findings, METH_NOARGS, NULL},
    {"lease", (PyCFunction)(void (*)(void))checkpoint_lease, METH_FASTCALL, NULL},
    {"lease_many", checkpoint_lease_many, METH_VARARGS, NULL},
    {"cost", checkpoint_cost, METH_VARARGS, NULL},
    {"keep_files", checkpoint_keep_files, METH_NOARGS, NULL},
    {"place", checkpoint_place, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"container", checkpoint_container, NULL, NULL, NULL},
    {"size_bytes", checkpoint_size, NULL, NULL, NULL},
    {"header_bytes", checkpoint_header, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)checkpoint_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_length, (void *)checkpoint_length},
    {0, NULL},
};

static PyType_Spec spec = {
    "tenure._tenure.Checkpoint", sizeof(checkpoint_self), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots,
};

int add_checkpoint_type(PyObject *module)
{
    checkpoint_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return checkpoint_type == NULL ? -1 : PyModule_AddObjectRef(module, "Checkpoint", (PyObject *)checkpoint_type);
}
