/* Telling a caller's callback how far work is, and looking for Ctrl-C, from inside a call that let the interpreter's lock
 * go. */
#include "module.h"

/* An exception in it ends the reading, and is what the caller gets. */
bool tell(void *user, uint64_t done, uint64_t total)
{
    listener *l = user;
    if (l->callback == NULL && done - l->told < TELL_EVERY)
        return true;
    l->told = done;
    PyEval_RestoreThread(l->thread);
    PyObject *answer = NULL;
    if (l->callback != NULL)
        answer = PyObject_CallFunction(l->callback, "KK", (unsigned long long)done, (unsigned long long)total);
    bool go_on = l->callback == NULL || answer != NULL;
    Py_XDECREF(answer);
    go_on = PyErr_CheckSignals() == 0 && go_on;
    l->thread = PyEval_SaveThread();
    return go_on;
}

/* An exception of the callback comes before what the library says of its end. */
bool has_failed(tn_status status, const tn_error *err)
{
    if (PyErr_Occurred())
        return true;
    if (status != TN_OK)
        raise_error(err);
    return status != TN_OK;
}
