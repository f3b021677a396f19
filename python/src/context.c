/* One context a process. TENURE_MEMORY gives its budget ("512M", "2GiB"), TENURE_JOBS its threads; what cannot be
 * understood there is an error of the first call, never ignored. */
#include "module.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static tn_context *context;
static unsigned generation;

unsigned the_generation(void)
{
    return generation;
}

/* A parent's context may have been in use by a thread that does not exist here, so it is left as it is. */
PyObject *after_fork_in_child(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    context = NULL;
    generation++;
    Py_RETURN_NONE;
}

static bool read_unit(const char *unit, unsigned *shift)
{
    static const char letters[] = "KMGT";
    if (*unit == '\0')
        return *shift = 0, true;
    const char *at = strchr(letters, toupper((unsigned char)*unit));
    if (at == NULL)
        return false;
    *shift = 10 * (unsigned)(at - letters + 1);
    return strcmp(unit + 1, "") == 0 || strcmp(unit + 1, "B") == 0 || strcmp(unit + 1, "iB") == 0;
}

/* 0 where the variable is not set. */
static int read_size(const char *variable, uint64_t *out)
{
    const char *text = getenv(variable);
    *out = 0;
    if (text == NULL || *text == '\0')
        return 0;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (!isdigit((unsigned char)*text) || errno != 0 || !read_unit(end, &shift) || number == 0 ||
        number > UINT64_MAX >> shift) {
        PyErr_Format(PyExc_ValueError, "%s=%s is no size: write it like 512M or 2GiB", variable, text);
        return -1;
    }
    *out = (uint64_t)number << shift;
    return 0;
}

tn_context *the_context(void)
{
    if (context != NULL)
        return context;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    uint64_t jobs;
    if (read_size("TENURE_MEMORY", &options.memory_limit_bytes) != 0 || read_size("TENURE_JOBS", &jobs) != 0)
        return NULL;
    options.jobs = jobs < 1024 ? (unsigned)jobs : 1024;
    tn_error err;
    if (tn_context_create(&options, &context, &err) != TN_OK)
        raise_error(&err);
    return context;
}

PyObject *memory(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (the_context() == NULL)
        return NULL;
    tn_memory now = tn_context_memory(context);
    return Py_BuildValue("{sKsKsKsNsKsK}", "used", (unsigned long long)now.used_bytes, "high_water",
                         (unsigned long long)now.high_water_bytes, "kept", (unsigned long long)now.kept_bytes, "limit",
                         number_or_none(now.limit_bytes), "refused", (unsigned long long)now.refused, "read",
                         (unsigned long long)tn_context_bytes_read(context));
}
