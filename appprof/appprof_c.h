/* The library that an application links, or LD_PRELOADs, to serve profiles of itself: heap, allocations, locks, CPU and wall
 * time (docs/appprof.md). Plain C; appprof.h has the same for C++.
 *
 * All functions may be called from any thread unless said otherwise. None of them ends or aborts the application. */
#ifndef PLIMSOLL_APPPROF_C_H
#define PLIMSOLL_APPPROF_C_H

#include <stddef.h>
#include <stdint.h>

#ifndef PLIMSOLL_APPPROF_API
#define PLIMSOLL_APPPROF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Set `size` to sizeof(plimsoll_appprof_options) and everything else to zero: the defaults. Strings are copied. */
typedef struct plimsoll_appprof_options {
  size_t size;
  /* "127.0.0.1:6070", "[::1]:6070" (port 0: the system chooses), "unix:/run/job.sock". NULL: "127.0.0.1:0", announced. An
   * address beyond loopback requires a token. */
  const char* listen;
  /* At least 16 characters. Where set, each request must carry "Authorization: Bearer TOKEN". */
  const char* token;
  /* Nonzero: write PID-START_TICKS.json into the folder of announcements. Always done where `listen` is NULL, and the start fails
   * where it cannot be; else the page / says why. */
  int announce;
  /* NULL: PLIMSOLL_APPPROF_DIR, else /run/plimsoll/appprof. */
  const char* announce_dir;
  /* "key=value", ended by NULL: the job, its revision, its owner. Part of the announcement and of each sample. */
  const char* const* labels;
  /* Nonzero: a process that this one forks serves its own profiles, on a port or socket of its own, and announces them. For
   * prefork servers; a child that only calls exec() would start a thread for nothing. */
  int serve_children;
  /* Mean bytes between two samples of allocations; 0: TCMALLOC_SAMPLE_PARAMETER, else 524288. */
  uint64_t heap_period_bytes;
  /* Mean nanoseconds of waiting between two samples of locks; 0: 1 ms. Of condition variables, 1000 times as long. */
  uint64_t lock_period_ns;
  /* Nonzero: leaves tcmalloc's sampling as it is, and does not look at locks. */
  int no_heap;
  int no_locks;
  /* Longest `seconds=` of a request; 0: 60. */
  uint32_t max_seconds;
  /* Requests for profiles per minute; 0: 120. Requests over it get status 429. */
  uint32_t max_requests_per_minute;
  /* A folder: when memory runs out, a heap profile is written there, once. Sets the new handler. NULL: no dump. */
  const char* dump_dir;
  /* Samples per second of allocations, and of waits for locks; 0: 250, UINT32_MAX: no limit. Where more come, their period doubles
   * with every 64 that are too many; totals stay unbiased. */
  uint32_t max_samples_per_second;
  /* Permissions of a Unix socket, such as 0660; 0: 0600, its owner alone. A user with permission to write to it may request
   * profiles. The folder limits the users that reach it, and a folder with the set-group-ID bit gives it its group. */
  uint32_t socket_mode;
} plimsoll_appprof_options;

/* Starts sampling, and a thread that serves. 0, or -1 with the reason in `error` (may be NULL). One at a time: a second start
 * fails until stop. Costs a thread with a stack of 1 MiB and 3 MiB of address space that are touched as they are needed. */
PLIMSOLL_APPPROF_API int plimsoll_appprof_start(const plimsoll_appprof_options* options, char* error,
                                                size_t error_size);

/* Ends sampling and serving; answers under way are cut short. What was counted is kept for the next start. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_stop(void);

/* "http://127.0.0.1:41234" or "unix:/path"; the number of characters, 0 while nothing is served. */
PLIMSOLL_APPPROF_API size_t plimsoll_appprof_address(char* address, size_t size);

/* A label of the calling thread, from push to pop. The caller owns it and keeps it in place, usually on its stack; scopes are
 * nested, and end in the thread and the order in which they began. Do not longjmp() out of one, and pop one before it is
 * pushed again: else those outside of it are lost. Costs a copy of the text; no lock, no allocation. May be called in a
 * signal handler that pops what it pushed. */
typedef struct plimsoll_appprof_label {
  struct plimsoll_appprof_label* outer;
  char key[24];
  char value[48];
} plimsoll_appprof_label;

/* Longer texts are cut. An inner label hides an outer one of the same key. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_label_push(plimsoll_appprof_label* label, const char* key,
                                                      size_t key_size, const char* value, size_t value_size);
PLIMSOLL_APPPROF_API void plimsoll_appprof_label_pop(plimsoll_appprof_label* label);

/* Marks: which request the calling thread works for, written into the kernel's trace of system calls while there is a burst
 * (docs/bursts.md). They work without plimsoll_appprof_start(). Any thread, signal handlers too; errno stays. Outside of bursts a
 * mark costs a look at the clock, without bursts nothing. marks.h has the same for programs that link nothing. */

/* When bursts are: "7,8" (m,n), "always", "off", or "assigned": as the daemon says while an assignment holds, else off. 0, or -1 where
 * it is something else, which changes nothing. Before the first call: PLIMSOLL_APPPROF_BURSTS, else assigned. The daemon changes nothing
 * where the program has chosen, `off` too. */
PLIMSOLL_APPPROF_API int plimsoll_appprof_set_bursts(const char* config);
/* The request's ID from a W3C traceparent: the lower half of its trace ID. 0 where it is none. */
PLIMSOLL_APPPROF_API uint64_t plimsoll_appprof_request_id(const char* traceparent);
/* A request begins on this thread, which works for it from here on; it is over; the thread works for another one (0: for none).
 * Each thread that a request is handed to switches to it. IDs other than 0 are the application's own choice. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_request_start(uint64_t request);
PLIMSOLL_APPPROF_API void plimsoll_appprof_request_stop(uint64_t request);
PLIMSOLL_APPPROF_API void plimsoll_appprof_request_switch(uint64_t request);
/* Begins to wait for a lock that is held; got it. Worth their cost for long waits only. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_lock_wait(const void* lock);
PLIMSOLL_APPPROF_API void plimsoll_appprof_lock_got(const void* lock);
/* A phase of the request begins, which ends the one before; NULL or "": none begins. The first 8 bytes of the name are kept, and 48 in the
 * ring of events below. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_phase(const char* name);

/* Events of bursts, which the daemon fetches from a ring of 1 MiB that the first event of a burst maps. Each belongs to the request that
 * the thread works for by its marks. Costs and callers are those of marks, with a few hundred ns in a burst. Texts are UTF-8: 48 bytes of
 * a method or a text are kept, 32 of a peer. NULL is "". */

/* A request of a peer has come; a request is sent to a peer. Returns what plimsoll_appprof_rpc_end() takes; 0 outside of bursts. */
PLIMSOLL_APPPROF_API uint64_t plimsoll_appprof_rpc_in(const char* method, const char* peer, uint64_t bytes);
PLIMSOLL_APPPROF_API uint64_t plimsoll_appprof_rpc_out(const char* method, const char* peer, uint64_t bytes);
/* Its answer is sent, or has come; on any thread. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_rpc_end(uint64_t call, uint64_t bytes);
/* Something happens that a text and a number describe. */
PLIMSOLL_APPPROF_API void plimsoll_appprof_annotate(const char* text, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
