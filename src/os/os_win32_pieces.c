/* Reads into several places on Windows: one after the other. The contract stands in os.h. */
#include "os/os_win32.h"

tn_status tn_os_read_pieces(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        size_t now = 0;
        TN_TRY(tn_os_read(file, offset + done, pieces[i].bytes, pieces[i].size, &now, err));
        done += now;
        if (now < pieces[i].size)
            break;
    }
    *got = done;
    return TN_OK;
}

/* What is in the cache cannot be asked. */
tn_status tn_os_read_behind(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err)
{
    return tn_os_read_pieces(file, offset, pieces, count, got, err);
}
