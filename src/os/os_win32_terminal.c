/* The console and Ctrl-C on Windows. */
#include "os/os_win32.h"

#ifndef ENABLE_VIRTUAL_TERMINAL_PROCESSING
#define ENABLE_VIRTUAL_TERMINAL_PROCESSING 0x0004
#endif

static HANDLE handle_of(int stream)
{
    return GetStdHandle(stream == 1 ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
}

bool tn_os_is_terminal(int stream)
{
    DWORD mode;
    HANDLE handle = handle_of(stream);
    if (!GetConsoleMode(handle, &mode))
        return false;
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    return true;
}

unsigned tn_os_terminal_columns(int stream)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(handle_of(stream), &info) || info.srWindow.Right < info.srWindow.Left)
        return 80;
    return (unsigned)(info.srWindow.Right - info.srWindow.Left) + 1;
}

static void (*_Atomic interrupt_handler)(void *);
static void *_Atomic interrupt_user;
static _Atomic bool interrupted;

/* Runs in a thread of the system's. */
static BOOL WINAPI on_control(DWORD kind)
{
    (void)kind; /* Ctrl-C, Ctrl-Break, a closed window, the end of the session: all ask us to stop */
    if (atomic_exchange(&interrupted, true))
        TerminateProcess(GetCurrentProcess(), 130);
    void (*handler)(void *) = atomic_load(&interrupt_handler);
    if (handler != NULL)
        handler(atomic_load(&interrupt_user));
    return TRUE;
}

void tn_os_on_interrupt(void (*handler)(void *), void *user)
{
    atomic_store(&interrupt_user, user);
    atomic_store(&interrupt_handler, handler);
    atomic_store(&interrupted, false);
    SetConsoleCtrlHandler(on_control, FALSE);
    if (handler != NULL)
        SetConsoleCtrlHandler(on_control, TRUE);
}
