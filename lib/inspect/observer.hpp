// inspect/observer.hpp - who is told of each conversation once it is over: it ended, fell silent, or had to give way.
//
// Owner    records are borrowed for the call. Threads  the analyzer's.
#pragma once

#include "inspect/connection.hpp"

namespace millrace::inspect {

class observer {
 public:
  virtual ~observer() = default;
  virtual void on_connection(const connection& c) = 0;
  // A 5-tuple with packets that belong to no QUIC connection.
  virtual void on_flow(const flow& f) = 0;
};

}  // namespace millrace::inspect
