// env/output_capture.hpp - what a library writes to stdout and stderr for a while, kept instead of shown.
//
// Shape    from construction to finish() both descriptors point into memory files. Should the library abort or exit
//          meanwhile, what was kept is written out first, so that no reason is ever lost.
// Errors   when the kernel gives no memory file nothing is captured, and the text goes where it always went.
// Threads  one capture a process at a time; descriptors are the whole process's.
// Tests    test/env/output_capture_test.cpp
#pragma once

#include <string>

namespace millrace::env {

class output_capture {
  bool active_ = false;

 public:
  output_capture();
  output_capture(const output_capture&) = delete;
  output_capture& operator=(const output_capture&) = delete;
  ~output_capture();

  struct text {
    std::string out;
    std::string err;
  };
  // Ends the capture; at most 64 KiB of each.
  text finish();
};

}  // namespace millrace::env
