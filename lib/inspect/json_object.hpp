// inspect/json_object.hpp - one finished conversation as one JSON object: the lines of `inspect --json`.
//
// Shape    write_object() writes the object; the caller ends the line. docs/json.md says what each member means.
// Absent   what is not known is an absent key. Errors  the writer's own.
// Source   design, Inspect objects; docs/json/inspect.schema.json. Tests  test/inspect/json_object_test.cpp
#pragma once

#include "inspect/connection.hpp"
#include "json/writer.hpp"

namespace millrace::inspect {

// "quic"; "gquic" for Google's versions before the IETF's long header.
[[nodiscard]] std::string_view protocol_name(const connection& c) noexcept;
[[nodiscard]] std::string_view protocol_name(const flow& f) noexcept;

// "Q043", "T051", "draft-29", "v1", "v2", "mvfst", "reserved"; empty when the number has no name. Into `room`, which
// holds 16 characters.
[[nodiscard]] std::string_view version_name(quic::wire::version_number version, std::span<char> room) noexcept;

// `capture`: the file's name; empty when packets came from a port.
void write_object(const connection& c, std::string_view capture, json::writer& out) noexcept;
void write_object(const flow& f, std::string_view capture, json::writer& out) noexcept;

}  // namespace millrace::inspect
