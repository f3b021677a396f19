/* Time, randomness, environment and child processes on Windows. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "os/os_win32.h"
#include "os/os_wtf8.h"

#include <bcrypt.h>

/* ---- time ---- */

uint64_t tn_os_monotonic_ns(void)
{
    LARGE_INTEGER ticks, second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    uint64_t whole = (uint64_t)ticks.QuadPart / (uint64_t)second.QuadPart;
    uint64_t rest = (uint64_t)ticks.QuadPart % (uint64_t)second.QuadPart;
    return whole * 1000000000u + rest * 1000000000u / (uint64_t)second.QuadPart;
}

int64_t tn_os_wall_ns(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    int64_t ticks = (int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
    return (ticks - 116444736000000000) * 100;
}

void tn_os_sleep_ms(unsigned ms)
{
    Sleep(ms);
}

/* ---- this process ---- */

void tn_os_random(void *bytes, size_t size)
{
    if (size > ULONG_MAX || BCryptGenRandom(NULL, bytes, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
        tn_os_random_by_clock(bytes, size);
}

uint64_t tn_os_process_id(void)
{
    return GetCurrentProcessId();
}

bool tn_os_environment(const char *name, tn_buffer *out)
{
    wchar_t wide[256];
    size_t count = tn_os_utf16_from_wtf8(name, strlen(name), wide, 255);
    if (count > 255)
        return false;
    wide[count] = 0;
    SetLastError(0);
    DWORD room = GetEnvironmentVariableW(wide, NULL, 0);
    if (room == 0)
        return false;
    wchar_t *value = malloc(sizeof *value * room);
    DWORD size = value != NULL ? GetEnvironmentVariableW(wide, value, room) : room;
    if (size < room)
        tn_os_append_wide(out, value, size);
    free(value);
    return size < room;
}

tn_status tn_os_program_path(tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH}, err));
    const DWORD room = 32768; /* no path is longer */
    wchar_t *path = malloc(sizeof *path * room);
    DWORD count = path != NULL ? GetModuleFileNameW(NULL, path, room) : 0;
    if (count == 0 || count >= room) {
        tn_status status = tn_os_fail_win32(err, path != NULL ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY,
                                            "GetModuleFileName", NULL);
        free(path);
        return status;
    }
    tn_os_append_wide_path(out, path, count);
    free(path);
    return tn_buffer_status(out, err);
}

/* Windows does not say who ended a process. Ours ends as Ctrl-C would, which is told as killed. */
void tn_os_die_killed(void)
{
    for (;;)
        TerminateProcess(GetCurrentProcess(), (UINT)STATUS_CONTROL_C_EXIT);
}

void tn_os_die_crashed(void)
{
    for (;;)
        TerminateProcess(GetCurrentProcess(), (UINT)STATUS_ACCESS_VIOLATION);
}

/* What the newer C run-time ends an abort() with; msvcrt exits with 3, which is a code like any other. */
static void end_as_fault(int signal_number)
{
    (void)signal_number;
    for (;;)
        TerminateProcess(GetCurrentProcess(), (UINT)STATUS_STACK_BUFFER_OVERRUN);
}

/* Children inherit the error mode, so one that dies while a suspect is read raises no window either. */
void tn_os_begin_program(void)
{
    SetErrorMode(GetErrorMode() | SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    signal(SIGABRT, end_as_fault);
}

/* ---- children ---- */

/* One argument as the C run-time of the child takes it apart again: quoted, backslashes doubled before a quote. */
static void append_argument(tn_buffer *line, const char *argument)
{
    if (line->size > 0)
        tn_buffer_text(line, " ");
    tn_buffer_text(line, "\"");
    for (const char *at = argument;;) {
        size_t slashes = strspn(at, "\\");
        at += slashes;
        size_t doubled = *at == 0 || *at == '"' ? slashes * 2 : slashes;
        for (size_t i = 0; i < doubled; i++)
            tn_buffer_text(line, "\\");
        if (*at == 0)
            break;
        if (*at == '"')
            tn_buffer_text(line, "\\");
        tn_buffer_append(line, at++, 1);
    }
    tn_buffer_text(line, "\"");
}

static tn_status command_line(const char *const *argv, wchar_t **out, tn_error *err)
{
    tn_buffer line;
    tn_os_start_text(&line);
    for (size_t i = 0; argv[i] != NULL; i++)
        append_argument(&line, argv[i]);
    tn_status status = tn_buffer_status(&line, err);
    size_t count = status == TN_OK ? tn_os_utf16_from_wtf8(line.bytes, line.size, NULL, 0) : 0;
    if (status == TN_OK && count > 32766) /* CreateProcess takes 32767 with the NUL; SIZE_MAX is no text at all */
        status = tn_fail(err, TN_LIMIT, "the command line is too long, or not valid UTF-8");
    wchar_t *wide = status == TN_OK ? malloc(sizeof *wide * (count + 1)) : NULL;
    if (status == TN_OK && wide == NULL)
        status = tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "malloc", argv[0]);
    if (wide != NULL) {
        tn_os_utf16_from_wtf8(line.bytes, line.size, wide, count);
        wide[count] = 0;
        *out = wide;
    }
    tn_buffer_free(&line);
    return status;
}

/* The null device for the child's three streams, and the only handle the child is given. */
typedef struct streams {
    STARTUPINFOEXW info;
    HANDLE null_device;
} streams;

static void free_streams(streams *s)
{
    if (s->info.lpAttributeList != NULL)
        DeleteProcThreadAttributeList(s->info.lpAttributeList);
    free(s->info.lpAttributeList);
    if (s->null_device != INVALID_HANDLE_VALUE)
        CloseHandle(s->null_device);
}

static bool make_list(streams *s)
{
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    LPPROC_THREAD_ATTRIBUTE_LIST list = malloc(size);
    if (list == NULL || !InitializeProcThreadAttributeList(list, 1, 0, &size)) {
        free(list);
        return false;
    }
    s->info.lpAttributeList = list;
    return UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &s->null_device, sizeof(HANDLE), NULL,
                                     NULL);
}

static bool make_streams(streams *s)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    *s = (streams){.info.StartupInfo = {.cb = sizeof s->info, .dwFlags = STARTF_USESTDHANDLES}};
    s->null_device = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
                                 OPEN_EXISTING, 0, NULL);
    s->info.StartupInfo.hStdInput = s->null_device;
    s->info.StartupInfo.hStdOutput = s->null_device;
    s->info.StartupInfo.hStdError = s->null_device;
    return s->null_device != INVALID_HANDLE_VALUE && make_list(s);
}

static tn_os_exit classify(DWORD code)
{
    bool from_outside = code == (DWORD)STATUS_CONTROL_C_EXIT || code == 0x40010004; /* ended by a debugger */
    return (tn_os_exit){
        .by_itself_dead = !from_outside && code >= 0xc0000000,
        .killed = from_outside,
        .code = (int)code,
    };
}

static tn_status start(const wchar_t *program, wchar_t *line, const char *path, HANDLE *out, tn_error *err)
{
    streams s;
    PROCESS_INFORMATION process;
    bool started = make_streams(&s) &&
                   CreateProcessW(program, line, NULL, NULL, TRUE, CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT,
                                  NULL, NULL, &s.info.StartupInfo, &process);
    DWORD code = GetLastError();
    free_streams(&s);
    if (!started)
        return tn_os_fail_win32(err, code, "CreateProcess", path);
    CloseHandle(process.hThread);
    *out = process.hProcess;
    return TN_OK;
}

/* CreateProcess takes \\?\ before a program only where it must be; without it the child sees a plain path. */
static const wchar_t *plain(const tn_os_wide *wide)
{
    bool drive = wide->size > 6 && wide->text[5] == L':';
    return drive && wide->size < MAX_PATH ? wide->text + 4 : wide->text;
}

static tn_status start_program(const char *const *argv, HANDLE *out, tn_error *err)
{
    tn_os_wide program;
    wchar_t *line = NULL;
    TN_TRY(tn_os_wide_from(argv[0], &program, err));
    tn_status status = command_line(argv, &line, err);
    if (status == TN_OK)
        status = start(plain(&program), line, argv[0], out, err);
    free(line);
    tn_os_wide_free(&program);
    return status;
}

tn_status tn_os_run(const char *const *argv, tn_os_exit *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_RUN, .path = argv[0]}, err));
    HANDLE process = NULL;
    TN_TRY(start_program(argv, &process, err));
    DWORD code = 0;
    bool known = WaitForSingleObject(process, INFINITE) == WAIT_OBJECT_0 && GetExitCodeProcess(process, &code);
    DWORD failure = GetLastError();
    CloseHandle(process);
    if (!known)
        return tn_os_fail_win32(err, failure, "WaitForSingleObject", argv[0]);
    *out = classify(code);
    return TN_OK;
}
