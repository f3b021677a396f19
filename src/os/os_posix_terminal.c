/* The terminal and Ctrl-C on POSIX. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/os_posix.h"

bool tn_os_is_terminal(int stream)
{
    return isatty(stream) == 1;
}

unsigned tn_os_terminal_columns(int stream)
{
    struct winsize size;
    if (ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

static void (*_Atomic interrupt_handler)(void *);
static void *_Atomic interrupt_user;
static _Atomic bool interrupted;

static void on_signal(int number)
{
    (void)number;
    if (atomic_exchange(&interrupted, true))
        _exit(130);
    void (*handler)(void *) = atomic_load(&interrupt_handler);
    if (handler != NULL)
        handler(atomic_load(&interrupt_user));
}

void tn_os_on_interrupt(void (*handler)(void *), void *user)
{
    atomic_store(&interrupt_user, user);
    atomic_store(&interrupt_handler, handler);
    atomic_store(&interrupted, false);
    struct sigaction action = {0};
    action.sa_handler = handler != NULL ? on_signal : SIG_DFL;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
