// A library with one function of each kind that the symbolizer tells apart; symbolizer_test reads its symbols.
// NOLINTBEGIN
namespace {

__attribute__((noinline, used)) int local_function(int x) {
  return x * 3 + 1;
}

}  // namespace

namespace fixture {

__attribute__((noinline)) int exported_cpp(int x) {
  return local_function(x) + 7;
}

}  // namespace fixture

extern "C" __attribute__((noinline)) int exported_c(int x) {
  return fixture::exported_cpp(x) * 5;
}

// Where the function without an exported name lies.
extern "C" const void* address_of_local_function() {
  return reinterpret_cast<const void*>(&local_function);
}
// NOLINTEND
