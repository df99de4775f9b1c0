// rpc/builtin.hpp - the methods every server has: Api/Info, Api/All and Echo.
//
// Shape    add_builtins() puts them into a table. Api/Info tells who answers and whom, and gives back State and Token
//          of its arguments; Api/All lists the signatures of all methods; Echo answers its arguments, whatever they
//          are.
// Owner    `about` and the table outlive the service: Api/All reads the table as it is when it is called.
// Errors   add_builtins(): the first add_errc that is not ok. Arguments of Api/Info that are broken JSON: error 500.
// Source   the remoting sheet, 4; members named as the reference names them.
// Tests    test/rpc/service_test.cpp (vectors R1, R2, R10)
#pragma once

#include "rpc/method_table.hpp"

namespace millrace::rpc {

struct server_facts {
  std::string_view name = "millrace";
  std::string_view version = {};       // of the program
  std::string_view machine_name = {};  // left out when empty
};

add_errc add_builtins(method_table& table, const server_facts& about) noexcept;

// The methods themselves, for tables under other names. `self`: server_facts, method_table, nothing.
void api_info(void* about, call& c) noexcept;
void api_all(void* table, call& c) noexcept;
void echo(void* nothing, call& c) noexcept;

}  // namespace millrace::rpc
