/* Records what NVIDIA's driver answered: preloaded into the command, it reads the NvStatus inside the argument struct
 * after each ioctl on a /dev/nvidia* node and appends one strace-like line to the file $KEXEC_LINT_NVSTATUS.
 *
 * places.h is written from data/nvstatus.json: PLACES is a list of {driver, nr, size (0: any), offset}.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RM, UVM };
struct place { int driver; unsigned nr, size, offset; };
static const struct place places[] = { PLACES };

static int log_descriptor(void) {
  static int descriptor = -2;
  if (descriptor == -2) {
    const char *path = getenv("KEXEC_LINT_NVSTATUS");
    int low = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    /* out of the way of the program's own small numbers */
    descriptor = low >= 0 ? (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 400) : -1;
    if (low >= 0 && descriptor >= 0) syscall(SYS_close, low);
    if (low >= 0 && descriptor < 0) descriptor = low;
  }
  return descriptor;
}

/* The node behind a descriptor if it is one of NVIDIA's; requests of other shapes never get here. */
static const char *node(int descriptor, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, size - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  return strstr(path, "/dev/nvidia");
}

static void record(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void record(const char *format, ...) {
  char line[1024];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int head = snprintf(line, sizeof line, "%ld %ld.%06ld ", syscall(SYS_gettid), (long)now.tv_sec, now.tv_nsec / 1000);
  va_list rest;
  va_start(rest, format);
  int body = vsnprintf(line + head, sizeof line - head, format, rest);
  va_end(rest);
  size_t length = head + body < (int)sizeof line ? (size_t)(head + body) : sizeof line - 1;
  line[length - 1] = '\n';
  if (log_descriptor() >= 0) syscall(SYS_write, log_descriptor(), line, length);
}

static void record_ioctl(int descriptor, unsigned long request, void *argument, int result, int error) {
  unsigned type = request >> 8 & 0xff, nr = request & 0xff, size = request >> 16 & 0x3fff;
  int rm = type == 0x46 && request >> 30 == 3;
  int uvm = request < 2048 || request == 0x30000001 || request == 0x30000002;
  char path[256], status[64] = "", detail[48] = "";
  const char *name;
  if (!(rm || uvm) || !(name = node(descriptor, path, sizeof path))) return;
  uvm = uvm && strncmp(name, "/dev/nvidia-uvm", 15) == 0;
  if (!uvm && !rm) return;
  for (size_t i = 0; argument && result == 0 && i < sizeof places / sizeof *places; i++) {
    const struct place *p = &places[i];
    if (p->driver != (uvm ? UVM : RM) || (uvm ? p->nr != request : p->nr != nr || p->size != size)) continue;
    snprintf(status, sizeof status, "NvStatus=0x%x ", *(uint32_t *)((char *)argument + p->offset));
    break;
  }
  if (rm && argument && nr == 0x2a && size >= 12) snprintf(detail, sizeof detail, "cmd=0x%x", ((uint32_t *)argument)[2]);
  if (rm && argument && nr == 0x2b && size >= 16) snprintf(detail, sizeof detail, "class=0x%x", ((uint32_t *)argument)[3]);
  if (result < 0)
    record("ioctl(%d<%s>, 0x%lx, %p) = -1 ERRNO_%d (%s) [%s]\n", descriptor, path, request, argument, error,
           strerror(error), detail);
  else
    record("ioctl(%d<%s>, 0x%lx, %p) = %d [%s%s]\n", descriptor, path, request, argument, result, status, detail);
}

int ioctl(int descriptor, unsigned long request, ...) {
  static int (*real)(int, unsigned long, ...);
  if (!real) real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  int result = real(descriptor, request, argument);
  int error = errno;
  record_ioctl(descriptor, request, argument, result, error);
  errno = error; /* callers read errno after a failure: ours must not show */
  return result;
}

static void record_open(const char *path, int flags, int result, int error) {
  if (!path || !strstr(path, "/dev/nvidia")) return;
  if (result < 0)
    record("openat(AT_FDCWD, \"%.200s\", 0x%x) = -1 ERRNO_%d (%s)\n", path, flags, error, strerror(error));
  else
    record("openat(AT_FDCWD, \"%.200s\", 0x%x) = %d\n", path, flags, result);
}

#define OPEN(name, before, pass)                                                        \
  int name(before const char *path, int flags, ...) {                                   \
    static int (*real)(before const char *, int, ...);                                  \
    if (!real) real = (int (*)(before const char *, int, ...))dlsym(RTLD_NEXT, #name);  \
    va_list rest;                                                                       \
    va_start(rest, flags);                                                              \
    int result = real(pass path, flags, va_arg(rest, unsigned));                        \
    int error = errno;                                                                  \
    va_end(rest);                                                                       \
    record_open(path, flags, result, error);                                            \
    errno = error;                                                                      \
    return result;                                                                      \
  }
#define COMMA ,
OPEN(open, , )
OPEN(open64, , )
OPEN(openat, int at COMMA, at COMMA)
OPEN(openat64, int at COMMA, at COMMA)
