#include <edgefx/support/error.h>

#include <utility>

namespace edgefx {

std::string Diagnostic::render() const {
  std::string place;
  auto add = [&place](std::string_view what, const std::string& value, std::string_view open = "'") {
    if (value.empty()) return;
    if (!place.empty()) place += ", ";
    place.append(what).append(open).append(value).append("'");
  };
  add("file ", file);
  add("record ", record);
  add("backend ", backend);
  add("method ", method);
  add("pass ", pass);
  add("graph ", graph);
  add("rule ", rule);
  add("node ", node, "'%");

  std::string text = "edgefx: ";
  if (!place.empty()) text += place + ": ";
  text += message;
  if (!nodeText.empty()) text += "\n    " + nodeText;
  for (const std::string& note : notes) text += "\n  note: " + note;
  return text;
}

Error::Error(Diagnostic diagnostic) {
  diagnostics_.push_back(std::move(diagnostic));
  render();
}

Error::Error(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
  if (diagnostics_.empty()) diagnostics_.emplace_back("unknown fault");
  render();
}

void Error::fillIn(const Diagnostic& known) {
  static constexpr std::string Diagnostic::*kFields[] = {
      &Diagnostic::file, &Diagnostic::record, &Diagnostic::backend, &Diagnostic::method,  &Diagnostic::graph,
      &Diagnostic::pass, &Diagnostic::rule,   &Diagnostic::node,    &Diagnostic::nodeText};
  for (Diagnostic& diagnostic : diagnostics_) {
    for (auto field : kFields) {
      if ((diagnostic.*field).empty()) diagnostic.*field = known.*field;
    }
  }
  render();
}

void Error::addNote(std::string note) {
  diagnostics_.back().notes.push_back(std::move(note));
  render();
}

void Error::render() {
  text_.clear();
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (!text_.empty()) text_ += '\n';
    text_ += diagnostic.render();
  }
}

}  // namespace edgefx
