#include <edgefx/support/error.h>

#include "support/fail.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace edgefx {
namespace {

Diagnostic fault(std::string message, std::string node = {}) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.node = std::move(node);
  return diagnostic;
}

TEST(Diagnostic, RendersAMessageWithoutPlace) {
  EXPECT_EQ(Diagnostic("expected 2, found 3").render(), "edgefx: expected 2, found 3");
}

TEST(Diagnostic, RendersEveryKnownPlaceFromTheOutsideIn) {
  Diagnostic diagnostic("bad");
  diagnostic.node = "n";
  diagnostic.rule = "r";
  diagnostic.pass = "p";
  diagnostic.graph = "true_graph_0.body";
  diagnostic.method = "forward";
  diagnostic.backend = "b";
  diagnostic.record = "models/model.json";
  diagnostic.file = "a.pt2";
  EXPECT_EQ(diagnostic.render(),
            "edgefx: file 'a.pt2', record 'models/model.json', backend 'b', method 'forward', "
            "pass 'p', graph 'true_graph_0.body', rule 'r', node '%n': bad");
}

TEST(Diagnostic, RendersNodeTextAndNotesOnTheirOwnLines) {
  Diagnostic diagnostic = fault("bad", "n");
  diagnostic.nodeText = "%n : [num_users=0] = ...";
  diagnostic.notes = {"first", "second"};
  EXPECT_EQ(diagnostic.render(),
            "edgefx: node '%n': bad\n    %n : [num_users=0] = ...\n  note: first\n  note: second");
}

TEST(Error, WhatHoldsEveryDiagnostic) {
  VerificationError error({fault("one", "a"), fault("two", "b")});
  EXPECT_STREQ(error.what(), "edgefx: node '%a': one\nedgefx: node '%b': two");
  EXPECT_EQ(error.diagnostics().size(), 2u);
}

TEST(Error, NeverComesWithoutDiagnostic) {
  ParseError error(std::vector<Diagnostic>{});
  ASSERT_EQ(error.diagnostics().size(), 1u);
  EXPECT_STRNE(error.what(), "");
}

TEST(Error, FillInCompletesOnlyWhatIsUnknown) {
  Diagnostic placed = fault("one");
  placed.method = "prefill";
  LoweringError error({placed, fault("two")});
  Diagnostic known("ignored");
  known.method = "decode";
  known.backend = "b";
  known.notes = {"ignored"};
  error.fillIn(known);
  EXPECT_STREQ(error.what(),
               "edgefx: backend 'b', method 'prefill': one\nedgefx: backend 'b', method 'decode': two");
}

TEST(Error, AddNoteGoesToTheLastDiagnostic) {
  UsageError error({fault("one"), fault("two")});
  error.addNote("see there");
  EXPECT_STREQ(error.what(), "edgefx: one\nedgefx: two\n  note: see there");
}

TEST(Error, OuterLayersKeepTheType) {
  Diagnostic known;
  known.file = "a.pt2";
  try {
    try {
      throw ParseError(fault("bad"));
    } catch (Error& error) {
      error.fillIn(known);
      throw;
    }
  } catch (const ParseError& error) {
    EXPECT_STREQ(error.what(), "edgefx: file 'a.pt2': bad");
  }
}

template <typename E>
void expectIsError() {
  EXPECT_THROW(throw E(fault("bad")), Error);
  static_assert(std::is_base_of_v<std::exception, E>);
}

TEST(Error, EveryKindIsCaughtAsError) {
  expectIsError<ParseError>();
  expectIsError<VerificationError>();
  expectIsError<LoweringError>();
  expectIsError<UsageError>();
  expectIsError<UnsupportedError>();
  expectIsError<InternalError>();
}

TEST(Fail, FormatsTheMessage) {
  try {
    detail::fail<UsageError>("expected {}, found '{}'", 2, "x");
    FAIL() << "expected UsageError";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "edgefx: expected 2, found 'x'");
  }
}

}  // namespace
}  // namespace edgefx
