// What a kernel is for a profiler: functions behind _text, with calls that were inlined.

static inline __attribute__((always_inline)) int pick_next(const volatile int* queue) {
  return queue[0] + queue[1];  // the pick
}

__attribute__((noinline)) int schedule(const volatile int* queue) {
  return pick_next(queue) * 3;  // the call of the pick
}

__attribute__((noinline)) int do_exit(const volatile int* queue) {
  return schedule(queue) + queue[2];
}
