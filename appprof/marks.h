/* Marks: what a program does on behalf of which request, in bursts (docs/bursts.md). Needs no library; C99, C++11. Copy it.
 * A mark is two getpid() calls, whose arguments a tracer of system calls sees: any thread, signal handlers too. */
#ifndef PLIMSOLL_MARKS_H
#define PLIMSOLL_MARKS_H
#pragma GCC system_header
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* `value` is the request (START, STOP, SWITCH; 0: none), the lock's address (LOCK_WAIT, LOCK_GOT), or a name of up to 8 bytes,
 * the first byte lowest (PHASE; 0: the phase ends). */
enum {
  PLIMSOLL_START = 1,
  PLIMSOLL_STOP,
  PLIMSOLL_SWITCH,
  PLIMSOLL_LOCK_WAIT,
  PLIMSOLL_LOCK_GOT,
  PLIMSOLL_PHASE
};
static inline int plimsoll_is_burst(uint64_t config) { /* 0: always; UINT64_MAX: never */
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) & config) == config;
}
static inline void plimsoll_write_mark(int kind, uint64_t value) {
  syscall(SYS_getpid, 0x9D3CF2A86B41E075ULL, (value ^ value >> 32) << 32 | 0x100U | (unsigned)kind);
  syscall(SYS_getpid, 0xC65E0B97D42F813AULL, value);
}
static inline void plimsoll_mark(uint64_t config, int kind, uint64_t value) {
  if (plimsoll_is_burst(config)) {
    plimsoll_write_mark(kind, value);
  }
}
#endif
