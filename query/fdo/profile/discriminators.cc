#include "query/fdo/profile/discriminators.h"

namespace plimsoll::fdo {
namespace {

// Of the component in the lowest bits: low five bits first, and where the seventh bit says so seven more.
uint32_t component(uint32_t encoded) {
  if ((encoded & 1U) != 0) {
    return 0;
  }
  const uint32_t low = (encoded >> 1U) & 0x1fU;
  const bool is_long = (encoded & 0x40U) != 0;
  return is_long ? ((encoded >> 2U) & 0xfe0U) | low : low;
}

// What follows the component in the lowest bits.
uint32_t without_component(uint32_t encoded) {
  if ((encoded & 1U) != 0) {
    return encoded >> 1U;
  }
  return encoded >> ((encoded & 0x40U) != 0 ? 14U : 7U);
}

}  // namespace

Discriminator llvm_discriminator(uint32_t encoded) {
  const uint32_t duplication = component(without_component(encoded));
  return {component(encoded), duplication == 0 ? 1 : duplication};
}

Discriminator discriminator_of(uint32_t encoded, std::string_view producer) {
  // "GNU C++17 12.2.0 -mtune=generic ...": gcc of whatever language.
  return producer.starts_with("GNU ") ? Discriminator{.base = encoded} : llvm_discriminator(encoded);
}

}  // namespace plimsoll::fdo
