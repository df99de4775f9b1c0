// service/site_scan.hpp - what of directories on disk is to be served, and what is not.
//
// Shape    scan() walks each directory, without reading a file. Regular files are taken by their paths below it, in
//          order of the path. Not taken, but counted: hidden ones (a name that begins with a dot, and all below it);
//          symbolic links, unless they lead to a regular file of the same directory that is not hidden itself; what is
//          no file (sockets, devices, pipes); and names that no request can ask for, as a normal path has no control
//          character and no backslash (http/wire/target.hpp).
// Limits   site_settings. Errors  a failure that names the directory or file: it is no directory, cannot be read, is
//          one too many.
// Threads  control thread. Source  RFC 3986 2.1 3.3. Tests  test/service/site_scan_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::service {

struct site_directory {
  std::string path;  // where its files appear: "/", or "/docs" without a slash at its end
  std::string root;  // on disk
};

struct site_settings {
  std::string name = "site";                          // of the pools, up to 14 characters; unique in the process
  std::uint32_t most_files = 20'000;                  // over all directories
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // the same, as they lie in memory
  std::uint32_t most_path_bytes = 1024;               // of a file below its directory
};

struct scanned_file {
  std::uint32_t directory = 0;  // its index
  std::string path;             // below it: "/js/app.js"
  std::string on_disk;          // with links resolved
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // since 1970
};

struct site_omissions {
  std::uint64_t hidden = 0;     // files and directories
  std::uint64_t links = 0;      // that lead out, to a directory, to what is hidden, or nowhere
  std::uint64_t special = 0;    // neither file nor directory
  std::uint64_t unaskable = 0;  // by their names
  std::string first_link;       // on disk; empty: none
  std::string first_unaskable;  // the same
};

struct site_scan {
  std::vector<scanned_file> files;
  std::uint64_t bytes = 0;  // as they will lie in memory, each beginning on a cache line
  site_omissions omitted;
};

[[nodiscard]] base::result<site_scan> scan(std::span<const site_directory> directories, const site_settings& s);

// A path as a Location field may say it: RFC 3986 2.3's unreserved characters and slashes stay.
[[nodiscard]] std::string percent_encoded(std::string_view path);

// Of a file in memory; the next one begins behind it.
inline constexpr std::uint64_t site_alignment = 64;
[[nodiscard]] constexpr std::uint64_t aligned_size(std::uint64_t bytes) noexcept {
  return (bytes + site_alignment - 1) / site_alignment * site_alignment;
}

}  // namespace millrace::service
