// Functions in a shared library, called through its procedure linkage table or after dlopen().
#pragma once

extern "C" {
using Callback = int (*)(int);
int library_calls_back(Callback callback, int value);
int library_recursion(int depth, Callback callback);
}
