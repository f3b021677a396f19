/* Leases for other libraries by DLPack (https://dmlc.github.io/dlpack, versions 0.8 and 1.x): a capsule holds one more
 * hold on the lease, which the consumer lets go from any thread, with or without the interpreter. */
#include "module.h"

#include <stdlib.h>

enum { DEVICE_CPU = 1, FLAG_READ_ONLY = 1 };

typedef struct dl_device {
    int32_t type, id;
} dl_device;

typedef struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_type dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* A capsule of either version, its lease, and the numbers of its shape and strides. */
typedef struct hold {
    union {
        dl_managed old;
        dl_versioned versioned;
    } as;
    tn_lease *lease;
    int64_t numbers[];
} hold;

static void let_go(hold *h)
{
    tn_lease_release(h->lease);
    free(h);
}

static void delete_old(dl_managed *self)
{
    let_go(self->manager);
}

static void delete_versioned(dl_versioned *self)
{
    let_go(self->manager);
}

/* The codes of DLPack's DLDataTypeCode; 0 bits where it has none that others read. */
static dl_type type_of(tn_dtype dtype)
{
    static const uint8_t codes[TN_DTYPE_COUNT] = {
        [TN_BOOL] = 6, [TN_U8] = 1, [TN_I8] = 0, [TN_F8_E5M2] = 12, [TN_F8_E4M3] = 10, [TN_F8_E8M0] = 14,
        [TN_F8_E4M3FNUZ] = 11, [TN_F8_E5M2FNUZ] = 13, [TN_I16] = 0, [TN_U16] = 1, [TN_F16] = 2, [TN_BF16] = 4,
        [TN_I32] = 0, [TN_U32] = 1, [TN_F32] = 2, [TN_C64] = 5, [TN_F64] = 2, [TN_I64] = 0, [TN_U64] = 1,
        [TN_C128] = 5,
    };
    bool packed = tn_dtype_bits(dtype) < 8;
    return (dl_type){codes[dtype], packed ? 0 : (uint8_t)tn_dtype_bits(dtype), 1};
}

static hold *make_hold(tn_lease *lease, dl_tensor *tensor)
{
    hold *h = malloc(sizeof *h + 2 * sizeof(int64_t) * lease->rank);
    if (h == NULL)
        return NULL;
    h->lease = tn_lease_hold(lease);
    for (uint32_t i = 0; i < lease->rank; i++) {
        h->numbers[i] = (int64_t)lease->shape[i];
        h->numbers[lease->rank + i] = lease->strides[i];
    }
    *tensor = (dl_tensor){.data = (void *)(uintptr_t)lease->data, .device = {DEVICE_CPU, 0},
                          .ndim = (int32_t)lease->rank, .dtype = type_of(lease->dtype), .shape = h->numbers,
                          .strides = h->numbers + lease->rank};
    return h;
}

/* A consumer renames the capsule when it takes over; then nothing is left to do here. */
static void drop_old(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        managed->deleter(managed);
    }
}

static PyObject *capsule_of(tn_lease *lease, bool versioned)
{
    dl_tensor tensor;
    hold *h = make_hold(lease, &tensor);
    if (h == NULL)
        return PyErr_NoMemory();
    PyObject *capsule;
    if (versioned) {
        h->as.versioned = (dl_versioned){1, 0, h, delete_versioned, lease->owned == NULL ? FLAG_READ_ONLY : 0, tensor};
        capsule = PyCapsule_New(&h->as.versioned, "dltensor_versioned", drop_versioned);
    } else {
        h->as.old = (dl_managed){tensor, h, delete_old};
        capsule = PyCapsule_New(&h->as.old, "dltensor", drop_old);
    }
    if (capsule == NULL)
        let_go(h);
    return capsule;
}

static bool wants_version(PyObject *max_version)
{
    if (max_version == NULL || !PyTuple_Check(max_version) || PyTuple_Size(max_version) < 1)
        return false;
    return PyLong_AsLong(PyTuple_GetItem(max_version, 0)) >= 1;
}

static bool is_elsewhere(PyObject *device)
{
    if (device == NULL || device == Py_None || !PyTuple_Check(device) || PyTuple_Size(device) < 1)
        return false;
    return PyLong_AsLong(PyTuple_GetItem(device, 0)) != DEVICE_CPU;
}

PyObject *lease_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = NULL, *max_version = NULL, *device = NULL, *copy = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream, &max_version, &device, &copy))
        return NULL;
    tn_lease *lease = lease_of(self);
    const char *refusal = NULL;
    if (type_of(lease->dtype).bits == 0)
        refusal = "elements of less than a byte are not given by DLPack";
    else if (is_elsewhere(device))
        refusal = "a lease lies in the CPU's memory";
    else if (copy == Py_True)
        refusal = "a lease does not copy itself: copy what was made of it";
    else if (lease->owned == NULL && !wants_version(max_version))
        refusal = "a read-only view is given by DLPack 1.0 and later only";
    if (refusal != NULL) {
        PyErr_SetString(PyExc_BufferError, refusal);
        return NULL;
    }
    bool versioned = wants_version(max_version);
    return PyErr_Occurred() ? NULL : capsule_of(lease, versioned);
}

PyObject *lease_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", DEVICE_CPU, 0);
}
