/* Reading through a window whose file others may shorten (os.h).
 *
 *   G1  A fault is answered only where it is at a byte of the window that this very thread reads under guard.
 *   G2  Every other fault ends the process, as it would have.
 *   G3  No handler is installed but in a program of ours, which says so first (tn_os_begin_program). */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#include "os/os_posix.h"

static _Thread_local struct {
    sigjmp_buf back;
    const uint8_t *from, *to;
    volatile sig_atomic_t on;
} guard;

static void on_fault(int number, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;
    (void)context;
    if (guard.on && at >= guard.from && at < guard.to)
        siglongjmp(guard.back, 1); /* G1 */
    signal(number, SIG_DFL); /* G2: it comes again when this returns, also where somebody sent it */
    raise(number);
}

void tn_os_begin_program(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool tn_os_can_guard(void)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault;
}

bool tn_os_guarded(const tn_os_window *window, void (*work)(void *user), void *user)
{
    if (!tn_os_can_guard())
        return false;
    guard.from = window->bytes;
    guard.to = window->bytes + window->size;
    if (sigsetjmp(guard.back, 1) != 0) {
        guard.on = 0;
        return false;
    }
    guard.on = 1;
    work(user);
    guard.on = 0;
    return true;
}
