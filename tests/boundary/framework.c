/* Stands in for a framework on a GPU: `framework NODE MODE`. The node is a plain file; a seccomp filter of our own
 * answers every GPU request with 0, so that the errors in a log are those that strace injects. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  VERSION = 0xc0406400, GETPARAM = 0xc0106446, WAIT = 0xc010646c, SUBMIT = 0x40406469, /* i915 */
  RM_ALLOC = 0xc030462b, UVM_REGISTER_GPU = 37,
};

static void answer_everything(void) {
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x5401, 1, 0), /* TCGETS stays the kernel's */
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(77);
}

static int ask(int device, unsigned long request) {
  static __thread uint32_t argument[64];
  return ioctl(device, request, argument);
}

static int node;

static void *submit_and_say_nothing(void *unused) {
  (void)unused;
  isatty(0);
  ask(node, VERSION);
  ask(node, SUBMIT);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 64;
  const char *mode = arguments[2];
  answer_everything();
  node = (int)syscall(SYS_open, arguments[1], O_RDWR | O_CLOEXEC);
  int error = errno;
  isatty(0);
  if (!strcmp(mode, "open-reported")) {
    if (node < 0) fprintf(stderr, "cannot open %s: %s\n", arguments[1], strerror(error));
    return node < 0;
  }
  if (!strcmp(mode, "open-relabelled")) {
    if (node < 0) fprintf(stderr, "hsa api call failure at line 900. Call returned 4104: HSA_STATUS_ERROR_OUT_OF_RESOURCES\n");
    return node < 0 ? 8 : 0;
  }
  if (!strcmp(mode, "open-fallback")) {
    if (node < 0) node = (int)syscall(SYS_open, arguments[1], O_RDONLY | O_CLOEXEC);
    return 0;
  }
  ask(node, VERSION);
  if (!strcmp(mode, "swallowed")) { /* the second request is refused */
    ask(node, SUBMIT);
    puts("done");
  } else if (!strcmp(mode, "reported")) {
    if (ask(node, SUBMIT)) return perror("submit failed"), 1;
  } else if (!strcmp(mode, "pieces")) { /* as C++ streams write: unbuffered, in pieces */
    if (ask(node, SUBMIT)) {
      const char *pieces[] = {"error", ": ", "submit returned -5", "\n"};
      for (int i = 0; i < 4; i++) (void)!write(2, pieces[i], strlen(pieces[i]));
      return 1;
    }
  } else if (!strcmp(mode, "relabelled")) {
    if (ask(node, SUBMIT)) return fprintf(stderr, "clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES\n"), 1;
  } else if (!strcmp(mode, "retried")) {
    while (ask(node, SUBMIT)) usleep(1000);
    puts("done");
  } else if (!strcmp(mode, "probe")) {
    ask(node, GETPARAM);
    ask(node, SUBMIT);
    puts("done");
  } else if (!strcmp(mode, "probe-last")) {
    if (ask(node, GETPARAM)) return close(node), fprintf(stderr, "No OpenCL devices found\n"), 1;
  } else if (!strcmp(mode, "wait")) {
    ask(node, WAIT);
    ask(node, SUBMIT);
  } else if (!strcmp(mode, "exit-only")) {
    if (ask(node, SUBMIT)) return 3;
  } else if (!strcmp(mode, "abort")) {
    if (ask(node, SUBMIT)) abort();
  } else if (!strcmp(mode, "threads")) { /* each thread's second request is refused; only the main one speaks */
    pthread_t other;
    pthread_create(&other, NULL, submit_and_say_nothing, NULL);
    pthread_join(other, NULL);
    if (ask(node, SUBMIT)) return fprintf(stderr, "submit failed\n"), 1;
  } else if (!strcmp(mode, "fork")) { /* the child inherits a duplicate, is refused, and says nothing */
    int copy = dup(node);
    if (fork() == 0) {
      close(node);
      isatty(0);
      ask(copy, VERSION);
      ask(copy, SUBMIT);
      _exit(0);
    }
    int status;
    wait(&status);
  } else if (!strcmp(mode, "nvidia")) { /* every call returns 0; the answer is in the struct */
    uint32_t allocation[16] = {0};
    allocation[3] = 0x40;
    allocation[10] = count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 0) : 0;
    ioctl(node, RM_ALLOC, allocation);
    if (allocation[10]) return fprintf(stderr, "RuntimeError: CUDA error: out of memory\n"), 1;
  } else {
    return 64;
  }
  return 0;
}
