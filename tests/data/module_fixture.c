// What a kernel module is for a profiler: a relocatable file with code in several sections, of which one is
// freed once it is loaded.

static inline __attribute__((always_inline)) int hash_name(const volatile int* name) {
  return name[0] ^ name[1];  // the hash
}

__attribute__((noinline, section(".init.text"))) int init_module(void) {
  return 0;
}

__attribute__((noinline, cold, section(".text.unlikely"))) int ext4_error(const volatile int* name) {
  return name[3];
}

__attribute__((noinline)) int ext4_lookup(const volatile int* name) {
  return hash_name(name) * 5;  // the call of the hash
}
