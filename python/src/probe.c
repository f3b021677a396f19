/* probe(path, why, key_hash) -> the answer as JSON text. */
#include "module.h"

static tn_status ask(tn_context *context, const char *path, const tn_identify_options *options, char **json,
                     size_t *size, tn_error *err)
{
    tn_answer *answer;
    tn_status status = tn_identify(context, path, options, &answer, err);
    if (status != TN_OK)
        return status;
    status = tn_answer_json(context, answer, json, size, err);
    tn_answer_destroy(answer);
    return status;
}

PyObject *probe(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    int why = 0, key_hash = 0;
    tn_context *context = the_context();
    if (context == NULL || !PyArg_ParseTuple(args, "O&|pp", PyUnicode_FSConverter, &path, &why, &key_hash))
        return NULL;
    tn_identify_options options = {sizeof options, why != 0, key_hash != 0};
    char *json;
    size_t size;
    tn_error err;
    tn_status status;
    const char *bytes = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = ask(context, bytes, &options, &json, &size, &err);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status != TN_OK)
        return raise_error(&err);
    PyObject *text = PyUnicode_FromStringAndSize(json, (Py_ssize_t)size);
    tn_answer_json_destroy(context, json, size);
    return text;
}
