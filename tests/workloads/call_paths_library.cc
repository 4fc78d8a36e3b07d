#include "tests/workloads/call_paths.h"

int library_calls_back(Callback callback, int value) {
  return callback(value) + callback(value + 1);
}

int library_recursion(int depth, Callback callback) {
  if (depth <= 0) {
    return library_calls_back(callback, depth);
  }
  return library_recursion(depth - 1, callback) + depth;
}
