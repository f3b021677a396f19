/* What Windows' error numbers are called here: the one table. */
#include "os/os_win32.h"

static const struct {
    DWORD code;
    tn_status status;
} table[] = {
    {ERROR_FILE_NOT_FOUND, TN_NOT_FOUND},
    {ERROR_PATH_NOT_FOUND, TN_NOT_FOUND},
    {ERROR_INVALID_DRIVE, TN_NOT_FOUND},
    {ERROR_BAD_NETPATH, TN_NOT_FOUND},
    {ERROR_BAD_NET_NAME, TN_NOT_FOUND},
    {ERROR_ENVVAR_NOT_FOUND, TN_NOT_FOUND},
    {ERROR_FILE_EXISTS, TN_EXISTS},
    {ERROR_ALREADY_EXISTS, TN_EXISTS},
    {ERROR_DIR_NOT_EMPTY, TN_EXISTS},
    {ERROR_ACCESS_DENIED, TN_PERMISSION},
    {ERROR_PRIVILEGE_NOT_HELD, TN_PERMISSION},
    {ERROR_WRITE_PROTECT, TN_READ_ONLY},
    {ERROR_INVALID_NAME, TN_BAD_PATH},
    {ERROR_BAD_PATHNAME, TN_BAD_PATH},
    {ERROR_FILENAME_EXCED_RANGE, TN_BAD_PATH},
    {ERROR_BUFFER_OVERFLOW, TN_BAD_PATH},
    {ERROR_CANT_RESOLVE_FILENAME, TN_BAD_PATH}, /* a loop of links */
    {ERROR_DIRECTORY, TN_NOT_A_FILE},
    {ERROR_CANT_ACCESS_FILE, TN_NOT_A_FILE}, /* a link that only an app may follow */
    {ERROR_TOO_MANY_OPEN_FILES, TN_TOO_MANY_FILES},
    {ERROR_SHARING_VIOLATION, TN_BUSY},
    {ERROR_LOCK_VIOLATION, TN_BUSY},
    {ERROR_USER_MAPPED_FILE, TN_BUSY},
    {ERROR_BUSY, TN_BUSY},
    {ERROR_DELETE_PENDING, TN_BUSY},
    {ERROR_DISK_FULL, TN_NO_SPACE},
    {ERROR_HANDLE_DISK_FULL, TN_NO_SPACE},
    {ERROR_FILE_TOO_LARGE, TN_NO_SPACE},
    {1295, TN_NO_SPACE}, /* ERROR_DISK_QUOTA_EXCEEDED */
    {ERROR_NOT_ENOUGH_MEMORY, TN_NO_MEMORY},
    {ERROR_OUTOFMEMORY, TN_NO_MEMORY},
    {ERROR_COMMITMENT_LIMIT, TN_NO_MEMORY},
    {ERROR_NO_SYSTEM_RESOURCES, TN_NO_MEMORY},
    {ERROR_WORKING_SET_QUOTA, TN_NO_MEMORY},
    {ERROR_NOT_SAME_DEVICE, TN_UNAVAILABLE}, /* a rename to another volume */
    {ERROR_INVALID_FUNCTION, TN_UNAVAILABLE},
    {ERROR_NOT_SUPPORTED, TN_UNAVAILABLE},
    {ERROR_CALL_NOT_IMPLEMENTED, TN_UNAVAILABLE},
    {ERROR_MORE_DATA, TN_UNAVAILABLE}, /* Wine's answer where a path is past its own limits */
    {ERROR_FILE_INVALID, TN_CHANGED}, /* the volume was changed under the open file */
    {ERROR_INVALID_PARAMETER, TN_INVALID},
    {ERROR_INVALID_HANDLE, TN_INVALID},
    {362, TN_PLACEHOLDER}, /* ERROR_CLOUD_FILE_PROVIDER_NOT_RUNNING */
    {389, TN_PLACEHOLDER}, /* ERROR_CLOUD_FILE_UNSUCCESSFUL */
};

static tn_status status_of(DWORD code)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == code)
            return table[i].status;
    }
    return TN_IO;
}

bool tn_os_means_full(int number)
{
    return status_of((DWORD)number) == TN_NO_SPACE;
}

static bool is_cut_off(DWORD code)
{
    switch (code) {
    case ERROR_NETNAME_DELETED:
    case ERROR_UNEXP_NET_ERR:
    case ERROR_NETWORK_UNREACHABLE:
    case ERROR_HOST_UNREACHABLE:
    case ERROR_SEM_TIMEOUT: return true;
    default: return false;
    }
}

tn_status tn_os_fail_win32(tn_error *err, DWORD code, const char *what, const char *path)
{
    tn_status status = status_of(code);
    if (status == TN_IO && is_cut_off(code))
        tn_fail(err, status, "%s: the file system behind this path does not answer", tn_status_text(status));
    else if (status == TN_IO) /* says little by itself */
        tn_fail(err, status, "%s (%s: error %lu)", tn_status_text(status), what, (unsigned long)code);
    else
        tn_fail(err, status, "%s", tn_status_text(status));
    if (path != NULL)
        tn_error_at_file(err, path);
    return status;
}
