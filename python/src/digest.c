/* digests(path, which, total, progress) -> dict of words and hexadecimal digits, for one file in one pass. */
#include "module.h"

/* One file's digests, and who is told while they are taken. */
typedef struct work {
    listener l;
    uint64_t total; /* bytes of the file, as the caller was told */
    tn_digests digests;
} work;

static tn_status ended(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    (void)file;
    if (why != NULL)
        return *err = *why, why->status;
    ((work *)user)->digests = *digests;
    return TN_OK;
}

static tn_status progress(void *user, size_t file, uint64_t done, tn_error *err)
{
    (void)file;
    work *w = user;
    if (tell(&w->l, done, done > w->total ? done : w->total))
        return TN_OK;
    *err = (tn_error){.status = TN_CANCELLED};
    return TN_CANCELLED;
}

static int put(PyObject *dict, const char *word, PyObject *value)
{
    int failure = value == NULL || PyDict_SetItemString(dict, word, value) != 0;
    Py_XDECREF(value);
    return failure ? -1 : 0;
}

static PyObject *hexadecimal(const uint8_t *bytes, size_t size)
{
    char text[2 * 32 + 1];
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    return PyUnicode_FromStringAndSize(text, (Py_ssize_t)(2 * size));
}

static PyObject *as_dict(const tn_digests *digests)
{
    const struct {
        uint32_t which;
        const char *word, *text;
    } texts[] = {{TN_DIGEST_AUTOV1, "autov1", digests->autov1},
                 {TN_DIGEST_AUTOV2, "autov2", digests->autov2},
                 {TN_DIGEST_AUTOV3, "autov3", digests->autov3},
                 {TN_DIGEST_KEY_HASH, "key_hash", digests->key_hash},
                 {TN_DIGEST_CONTENT, "content", digests->content}};
    PyObject *dict = PyDict_New();
    int failure = dict == NULL;
    if (!failure && digests->have & TN_DIGEST_BLAKE3)
        failure = put(dict, "blake3", hexadecimal(digests->blake3, 32));
    if (!failure && digests->have & TN_DIGEST_SHA256)
        failure = put(dict, "sha256", hexadecimal(digests->sha256, 32));
    if (!failure && digests->have & TN_DIGEST_CRC32)
        failure = put(dict, "crc32", PyUnicode_FromFormat("%08x", digests->crc32));
    for (size_t i = 0; !failure && i < sizeof texts / sizeof *texts; i++)
        if (digests->have & texts[i].which)
            failure = put(dict, texts[i].word, PyUnicode_FromString(texts[i].text));
    if (failure)
        Py_CLEAR(dict);
    return dict;
}

PyObject *digests(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *callback = Py_None;
    unsigned which = 0;
    unsigned long long total = 0;
    tn_context *context = the_context();
    if (context == NULL || !PyArg_ParseTuple(args, "O&IK|O", PyUnicode_FSConverter, &path, &which, &total, &callback))
        return NULL;
    work w = {.l = {callback != Py_None ? callback : NULL, NULL, 0}, .total = total};
    const tn_digest_want want = {PyBytes_AsString(path), which};
    const tn_digest_list list = {&want, 1, ended, progress, &w};
    tn_error err;
    w.l.thread = PyEval_SaveThread();
    tn_status status = tn_digest_many(context, &list, &err);
    PyEval_RestoreThread(w.l.thread);
    Py_DECREF(path);
    return has_failed(status, &err) ? NULL : as_dict(&w.digests);
}
