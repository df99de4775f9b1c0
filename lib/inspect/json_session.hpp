// inspect/json_session.hpp - what decryption told of a connection, as the member `decrypted` of its JSON object.
//
// Shape    counters at zero are left out, as are members that nothing filled.
// Errors   the writer's own. Source  docs/json/inspect.schema.json. Tests  test/e2e/keylog_test.py
#pragma once

#include "inspect/session_facts.hpp"
#include "json/writer.hpp"

namespace millrace::inspect {

// The member, its key included.
void write_session(const session_facts& f, json::writer& out) noexcept;

// An object of the parameters that were announced, under `name`.
void write_parameters(std::string_view name, const parameter_facts& p, json::writer& out) noexcept;

// The text of a cipher suite, of up to 32 characters: "TLS_AES_128_GCM_SHA256"; empty when the number has no name.
[[nodiscard]] std::string_view suite_name(std::uint16_t suite) noexcept;

}  // namespace millrace::inspect
