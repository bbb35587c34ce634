#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// One fault, with what is known of its place. Empty fields are unknown and are left out of the text. Each
// layer that an error passes fills in the part it knows (see Error::fillIn).
struct Diagnostic {
  std::string message;  // lower case, no full stop; says what was expected and what was found

  std::string file;      // path of the file being read or written
  std::string record;    // record inside the file
  std::string backend;   // name of the backend at work
  std::string method;    // method of the manager
  std::string graph;     // dotted path of the nested graph module, empty for the top level
  std::string pass;      // name of the pass at work
  std::string rule;      // rewrite rule
  std::string node;      // node name, without '%'
  std::string nodeText;  // FX text of the node

  std::vector<std::string> notes;

  explicit Diagnostic(std::string text = {}) : message(std::move(text)) {}

  // "edgefx: backend 'b', method 'm', node '%n': message", then the node's text and the notes, a line each.
  std::string render() const;
};

// Base of every exception of edgefx. Carries at least one diagnostic; what() is their rendered text.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic);
  explicit Error(std::vector<Diagnostic> diagnostics);

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

  // Fills fields of `known` into each diagnostic's empty fields; its message and notes are not used. Lets an
  // outer layer name file, backend or method on an error that passes through, without changing the
  // exception's type.
  void fillIn(const Diagnostic& known);
  void addNote(std::string note);

 private:
  void render();

  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// The input cannot be read: damaged, truncated, not understood, or refused for safety.
class ParseError : public Error {
 public:
  using Error::Error;
};

// A graph or program breaks a rule of its form or of its signature. Carries every violation found.
class VerificationError : public Error {
 public:
  using Error::Error;
};

// A backend or pass failed, or returned a program that does not hold together.
class LoweringError : public Error {
 public:
  using Error::Error;
};

// A program failed while it ran: a kernel refused its arguments, or an assertion or a constraint of the
// program did not hold.
class ExecutionError : public Error {
 public:
  using Error::Error;
};

// The call itself is wrong: unknown method, node of another graph, erasing a node in use.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Well-formed input that needs something edgefx, or the chosen output format, does not have.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

// A broken invariant of edgefx itself: a bug to report.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace edgefx
