#include "capture/identity/kernel.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/file.h"
#include "elf/elf_file.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxKallsymsBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxStubBytes = uint64_t{64} << 10;  // a BPF program's JIT image is smaller

struct KallsymsLine {
  uint64_t address;
  char type;
  std::string_view name;
  std::string_view module;  // "[name]" without its brackets; empty: the kernel
};

// "ffffffff81000000 T _text" or "ffffffffc0100000 t xfs_open	[xfs]"
std::optional<KallsymsLine> parse_kallsyms_line(std::string_view line) {
  KallsymsLine symbol{};
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
  const auto used = static_cast<size_t>(end - line.data());
  if (error != std::errc() || line.size() < used + 4 || line[used] != ' ' || line[used + 2] != ' ') {
    return std::nullopt;
  }
  symbol.type = line[used + 1];
  line.remove_prefix(used + 3);
  const size_t tab = std::min(line.find_first_of("\t "), line.size());
  symbol.name = line.substr(0, tab);
  const size_t open = line.find('[', tab);
  const size_t close = line.find(']', tab);
  if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
    symbol.module = line.substr(open + 1, close - open - 1);
  }
  return symbol;
}

// __pfx_ symbols name the padding before a function, where nothing runs.
bool is_code(const KallsymsLine& symbol) {
  return std::string_view("tTwW").contains(symbol.type) && !symbol.name.starts_with("__pfx_");
}

template <typename Consume>
void for_each_line(std::string_view text, Consume consume) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    consume(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// "xfs 1234567 1 - Live 0xffffffffc0100000": name, size, users, dependencies, state, address.
std::optional<KernelImage> parse_modules_line(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (words.size() < 6 || !words[5].starts_with("0x")) {
    return std::nullopt;
  }
  KernelImage module;
  module.name = words[0];
  uint64_t size = 0;
  std::from_chars(words[1].data(), words[1].data() + words[1].size(), size);
  std::from_chars(words[5].data() + 2, words[5].data() + words[5].size(), module.start, 16);
  module.end = module.start + size;
  return module.start == 0 ? std::nullopt : std::optional(std::move(module));
}

// One name for each offset, by one rule: the first in the order of names.
void canonicalize(std::vector<KernelImage::Symbol>& symbols) {
  std::ranges::sort(symbols, [](const auto& a, const auto& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
  const auto repeated = std::ranges::unique(symbols, {}, &KernelImage::Symbol::offset);
  symbols.erase(repeated.begin(), repeated.end());
}

std::string build_id_of_notes(const std::string& path) {
  // A notes file has the layout of a note section: an ELF file around it is not needed to read one.
  const auto notes = read_file(path, 1 << 16);
  return notes ? std::string(elf::find_build_id(as_bytes(*notes))) : std::string();
}

}  // namespace

std::string running_kernel_build_id() {
  return build_id_of_notes("/sys/kernel/notes");
}

Result<KernelMap> KernelMap::read_running() {
  const auto kallsyms = read_file("/proc/kallsyms", kMaxKallsymsBytes);
  if (!kallsyms) {
    return propagate(kallsyms, "reading kernel symbols");
  }
  const std::string modules = read_file("/proc/modules", uint64_t{1} << 20).value_or(std::string());
  std::map<std::string, std::string> build_ids;
  for_each_line(modules, [&](std::string_view line) {
    const std::string name(line.substr(0, line.find(' ')));
    build_ids[name] = build_id_of_notes("/sys/module/" + name + "/notes/.note.gnu.build-id");
  });
  return parse(*kallsyms, modules, running_kernel_build_id(), build_ids);
}

Result<KernelMap> KernelMap::parse(std::string_view kallsyms, std::string_view modules,
                                   std::string kernel_build_id,
                                   const std::map<std::string, std::string>& module_build_ids) {
  KernelMap map;
  KernelImage kernel;
  kernel.name = "[kernel]";
  kernel.build_id = std::move(kernel_build_id);
  std::map<std::string, KernelImage, std::less<>> loaded;
  for_each_line(modules, [&](std::string_view line) {
    if (auto module = parse_modules_line(line)) {
      const auto build_id = module_build_ids.find(module->name);
      module->build_id = build_id == module_build_ids.end() ? std::string() : build_id->second;
      std::string name = module->name;
      loaded.emplace(std::move(name), std::move(*module));
    }
  });

  for_each_line(kallsyms, [&](std::string_view line) {
    const auto symbol = parse_kallsyms_line(line);
    if (!symbol || symbol->address == 0) {
      return;
    }
    if (symbol->module.empty()) {
      if (symbol->name == "_text") {
        kernel.start = symbol->address;
      } else if (symbol->name == "_etext" || symbol->name == "_einittext") {
        kernel.end = std::max(kernel.end, symbol->address);
      }
      if (is_code(*symbol)) {
        kernel.symbols.push_back({symbol->address, std::string(symbol->name)});
      }
    } else if (const auto module = loaded.find(symbol->module); module != loaded.end()) {
      if (is_code(*symbol) && symbol->address >= module->second.start) {
        module->second.symbols.push_back({symbol->address - module->second.start, std::string(symbol->name)});
      }
    } else if (is_code(*symbol)) {
      map.stubs_.push_back({symbol->address, std::string(symbol->name)});
    }
  });
  if (kernel.start == 0 || kernel.end <= kernel.start) {
    return with_hint(fail(ErrorCode::kDenied, "the addresses in /proc/kallsyms are hidden"),
                     "CAP_SYSLOG permits reading them");
  }
  std::erase_if(kernel.symbols, [&](const auto& symbol) {
    return symbol.offset < kernel.start || symbol.offset >= kernel.end;
  });
  for (auto& symbol : kernel.symbols) {
    symbol.offset -= kernel.start;
  }
  map.images_.push_back(std::move(kernel));
  for (auto& [name, module] : loaded) {
    map.images_.push_back(std::move(module));
  }
  for (KernelImage& image : map.images_) {
    canonicalize(image.symbols);
  }
  std::ranges::sort(map.images_, {}, &KernelImage::start);
  std::ranges::sort(map.stubs_, {}, &KernelStub::start);
  return map;
}

std::optional<KernelMap::Place> KernelMap::find(uint64_t address) const {
  const auto image = std::ranges::upper_bound(images_, address, {}, &KernelImage::start);
  if (image != images_.begin() && address < std::prev(image)->end) {
    return Place{&*std::prev(image), nullptr, address - std::prev(image)->start};
  }
  const auto stub = std::ranges::upper_bound(stubs_, address, {}, &KernelStub::start);
  if (stub != stubs_.begin() && address - std::prev(stub)->start < kMaxStubBytes) {
    return Place{nullptr, &*std::prev(stub), address - std::prev(stub)->start};
  }
  return std::nullopt;
}

}  // namespace plimsoll::identity
