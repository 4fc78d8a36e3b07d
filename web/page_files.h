// The files of the web page, which are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll::web {

// Lives as long as the program.
struct PageFile {
  std::string_view
      path;  // "index.html", "assets/index-Bx3k2.js"; those in assets/ have a hash of their contents in their name
  std::string_view bytes;
  std::string_view gzip;  // the same bytes, compressed; empty: that is not smaller
  std::string_view hash;  // of the bytes, hexadecimal
};

// Made by web/embed.py from what vite has built; with PLIMSOLL_PAGE off, of web/without_page. "index.html" is always among them.
std::span<const PageFile> page_files();

}  // namespace plimsoll::web
