#include "query/fdo/code/noreturn.h"

#include <elf.h>

#include <algorithm>
#include <array>

namespace plimsoll::fdo {
namespace {

bool never_returns(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {"_Exit",
                                                              "_Unwind_Resume",
                                                              "__assert_fail",
                                                              "__assert_perror_fail",
                                                              "__chk_fail",
                                                              "__clang_call_terminate",
                                                              "__cxa_bad_cast",
                                                              "__cxa_bad_typeid",
                                                              "__cxa_rethrow",
                                                              "__cxa_throw",
                                                              "__cxa_throw_bad_array_new_length",
                                                              "__fortify_fail",
                                                              "__libc_start_main",
                                                              "__longjmp_chk",
                                                              "__stack_chk_fail",
                                                              "_exit",
                                                              "_longjmp",
                                                              "_ZSt9terminatev",
                                                              "abort",
                                                              "exit",
                                                              "longjmp",
                                                              "pthread_exit"};
  if (const size_t version = name.find('@'); version != std::string_view::npos) {
    name = name.substr(0, version);
  }
  // std::__throw_length_error() and its like.
  return std::ranges::find(kNames, name) != kNames.end() ||
         (name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos);
}

}  // namespace

NoReturn::NoReturn(const elf::ElfFile& binary, const std::vector<FunctionExtent>& extents,
                   const LoadedSections& sections)
    : extents_(extents), sections_(sections) {
  for (const elf::Section& section : binary.sections()) {
    if (section.type == SHT_RELA && (section.flags & SHF_ALLOC) != 0) {
      read_imports(binary, section);
    } else if (section.name.starts_with(".plt") && (section.flags & SHF_EXECINSTR) != 0) {
      stubs_.push_back(
          {section.address, section.address + std::min(section.size_bytes, UINT64_MAX - section.address)});
    }
  }
}

void NoReturn::read_imports(const elf::ElfFile& binary, const elf::Section& relocations) {
  const auto& sections = binary.sections();
  if (relocations.link >= sections.size() || sections[relocations.link].link >= sections.size()) {
    return;
  }
  const Bytes symbols = binary.bytes_of(sections[relocations.link]);
  const Bytes strings = binary.bytes_of(sections[sections[relocations.link].link]);
  ByteReader reader(binary.bytes_of(relocations));
  while (reader.remaining() >= sizeof(Elf64_Rela)) {
    const auto relocation = reader.read<Elf64_Rela>();
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) {
      continue;
    }
    ByteReader symbol_reader(symbols);
    symbol_reader.seek(ELF64_R_SYM(relocation.r_info) * sizeof(Elf64_Sym));
    const auto symbol = symbol_reader.read<Elf64_Sym>();
    ByteReader name_reader(strings);
    name_reader.seek(symbol.st_name);
    if (symbol_reader.ok() && name_reader.ok()) {
      imports_.emplace(relocation.r_offset, name_reader.c_string());
    }
  }
}

bool NoReturn::is_target(uint64_t address, Decoder& decoder) {
  const auto known = known_.find(address);
  if (known != known_.end()) {
    return known->second;
  }
  const bool result = never_returns(name_at(address, decoder));
  known_.emplace(address, result);
  return result;
}

std::string_view NoReturn::name_at(uint64_t address, Decoder& decoder) const {
  if (const FunctionExtent* extent = extent_at(extents_, address)) {
    return extent->from == address ? std::string_view(extent->name) : std::string_view();
  }
  if (std::ranges::none_of(
          stubs_, [&](const CodeRange& stub) { return stub.from <= address && address < stub.to; })) {
    return {};
  }
  // "endbr64; bnd jmp *slot(%rip)"
  for (int i = 0; i < 3; ++i) {
    const auto insn = decoder.decode(sections_.code_at(address), address);
    if (!insn || (insn->flow != ControlFlow::kNext && insn->flow != ControlFlow::kIndirectJump)) {
      return {};
    }
    if (insn->flow == ControlFlow::kIndirectJump) {
      const auto import = imports_.find(static_cast<uint64_t>(insn->memory.displacement));
      return insn->has_memory && import != imports_.end() ? import->second : std::string_view();
    }
    address += insn->bytes;
  }
  return {};
}

}  // namespace plimsoll::fdo
