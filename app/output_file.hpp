// app/output_file.hpp - a file that an option names for writing, opened before the run and filled after it.
//
// Shape    open() makes or opens the file without changing what is in it; stream() empties a regular file and hands it
//          out for writing. "-" is stdout. A pipe is opened once: its reader would go away at a second time.
// Owner    the object; stdout stays open.
// Errors   open(): a failure that names the option; also where the file is one that the run reads, or another output:
//          hard links and other spellings of a path are the same file.
// Tests    test/app/output_file_test.cpp
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace millrace::app {

struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // as it was given, for messages
};

// Of a regular file; nothing for what is none or not there.
[[nodiscard]] std::vector<file_identity> identities_of(std::span<const std::string> paths);

class output_file {
  std::string option_;
  std::string path_;
  std::FILE* file_ = nullptr;

  output_file(std::string option, std::string path, std::FILE* file) noexcept
      : option_(std::move(option)), path_(std::move(path)), file_(file) {}

 public:
  output_file() noexcept = default;  // nowhere
  output_file(output_file&& other) noexcept
      : option_(std::move(other.option_)), path_(std::move(other.path_)), file_(std::exchange(other.file_, nullptr)) {}
  output_file& operator=(output_file&& other) noexcept;
  ~output_file() { close(); }

  // An empty `path` is nowhere. Waits for a reader where the path is a FIFO.
  [[nodiscard]] static base::result<output_file> open(std::string option, std::string path,
                                                      std::span<const file_identity> taken = {});

  [[nodiscard]] explicit operator bool() const noexcept { return file_ != nullptr; }
  [[nodiscard]] bool is_stdout() const noexcept { return path_ == "-"; }
  // Before the first byte is written.
  [[nodiscard]] std::FILE* stream() noexcept;
  // "--json FILE: cannot be written: REASON", of errno now.
  [[nodiscard]] base::failure cannot_write() const;
  // Flushes and closes; stdout is only flushed.
  base::outcome finish();

 private:
  void close() noexcept;
};

}  // namespace millrace::app
