#include <edgefx/program/tensor_table.h>
#include <edgefx/text/program_text.h>

#include "text/text_testing.h"

#include <string>

namespace edgefx::test {
namespace {

std::string refusal(const std::string& text) {
  return refusalOfText([&] { parsePrograms(text, "f.txt"); });
}

// The refusal of the statements of a graph with the placeholder %x.
std::string refusalOf(const std::string& statements) {
  return refusal("edgefx text 1\nmethod m(%x : f32[2]):\n" + statements);
}

void expectRefusal(const std::string& message, const std::string& start) {
  EXPECT_EQ(message.substr(0, start.size()), start);
}

TEST(ParseErrors, TellPlaceLineAndWhatWasExpected) {
  EXPECT_EQ(refusalOf("  %y = aten.relu.default(%x\n  return (%y)\n"),
            "f.txt:4:3: expected ',' or ')' after an argument, found 'return'\n"
            "      return (%y)\n"
            "      ^");
  EXPECT_EQ(refusalOf("  %y = aten.relu.default(\"\xc3\xa9\", %z)\n"),
            "f.txt:3:31: expected a node of this graph above, found '%z'\n"
            "      %y = aten.relu.default(\"\xc3\xa9\", %z)\n"
            "                                  ^");
}

TEST(ParseErrors, ShowAWindowOfLongLines) {
  const std::string message =
      refusalOf("  %y = aten.cat.default([" + std::string(4000, ' ') + "$" + std::string(4000, ' ') + "])\n");
  expectRefusal(message, "f.txt:3:4026: expected an argument");
  EXPECT_LT(message.size(), 500u);
  EXPECT_NE(message.find("\n    ...  "), std::string::npos) << message;
}

TEST(ParseErrors, AreGivenForEveryPart) {
  expectRefusal(refusal(""), "f.txt:1:1: expected 'edgefx', found the end of the text");
  expectRefusal(refusal("edgefx text 2"), "f.txt:1:13: expected version 1 of the format, found 2");
  expectRefusal(refusal("edgefx text 1\n\nmethods"), "f.txt:3:1: expected 'symbols', 'method', 'lowered'");
  expectRefusal(refusal("edgefx text 1 method m()"), "f.txt:1:25: expected ':' before the nodes of a graph");
  expectRefusal(refusal("edgefx text 1 method m(): method m():"), "f.txt:1:27: expected one method 'm'");
  expectRefusal(refusalOf("%x = aten.f.default()"), "f.txt:3:1: expected a new name, found '%x'");
  expectRefusal(refusalOf("%y = relu(%x)"), "f.txt:3:6: expected what the node calls");
  expectRefusal(refusalOf("%y = \"a b\"(%x)"), "f.txt:3:6: operator name 'a b' holds white space");
  expectRefusal(refusalOf("%y = a.b.c(tanh)"), "f.txt:3:12: expected an argument: a node such as %x");
  expectRefusal(refusalOf("%y = a.b.c(k = 1, 2)"), "f.txt:3:19: expected a keyword argument after another");
  expectRefusal(refusalOf("%y = a.b.c(k = 1, k = 2)"), "f.txt:3:19: expected keyword argument 'k' once");
  expectRefusal(refusalOf("%y = a.b.c(\"abc)"), "f.txt:3:12: expected the string to end with '\"'");
  expectRefusal(refusalOf("%y = a.b.c(\"\\q\")"), "f.txt:3:13: expected an escape");
  expectRefusal(refusalOf("%y = a.b.c(99999999999999999999)"),
                "f.txt:3:12: expected a whole number that fits 64");
  expectRefusal(refusalOf("%y = a.b.c(1.5.2)"),
                "f.txt:3:12: expected a number that fits 64 bits, found '1.5.2'");
  expectRefusal(refusalOf("%y = a.b.c(slice(1, 2))"),
                "f.txt:3:17: expected start, stop and step, found 2 items");
  expectRefusal(refusalOf("%y = a.b.c(sym(s0 +))"), "f.txt:3:16: ");
  expectRefusal(refusalOf("%y = a.b.c(foo(1))"), "f.txt:3:12: expected an argument, found 'foo('");
  expectRefusal(refusalOf("%y = a.b.c() : g32[1]"), "f.txt:3:16: expected a value such as f32[2, 3]");
  expectRefusal(refusalOf("%y = a.b.c() : f32[1, *]"), "f.txt:3:23: ");
  expectRefusal(refusalOf("%y = a.b.c() : f32[1]<grid>"), "f.txt:3:23: expected 'strides', 'offset'");
  expectRefusal(refusalOf("%y = a.b.c() : f32[1]<device \"cuda:x\">"), "f.txt:3:30: device 'cuda:x'");
  expectRefusal(refusalOf("%y = a.b.c() : f32[9223372036854775807, 9223372036854775807, 2]"),
                "f.txt:3:16: expected strides to be written");
  expectRefusal(refusalOf("%y = a.b.c() !0"), "f.txt:3:14: expected the number of a block of metadata");
  expectRefusal(refusalOf("%y = a.b.c() {k = 1, k = 2}"), "f.txt:3:22: expected 'k' once");
  expectRefusal(refusalOf("return (%x buffer)"), "f.txt:3:12: expected the kind of an output");
  expectRefusal(refusalOf("return (device(\"cpu\"))"), "f.txt:3:9: expected a node or a constant");
  expectRefusal(refusalOf("submodule \"a.b\"():"),
                "f.txt:3:11: expected the path of something in a graph module");
  expectRefusal(refusalOf("submodule \"a\"(): submodule \"a\"():"),
                "f.txt:3:28: there is a child module 'a'");
  expectRefusal(refusalOf("delegate \"a\" = 0"), "f.txt:3:10: expected the number of a lowered module");
  expectRefusal(refusalOf("lowered 1 backend \"b\"():"), "f.txt:3:1: expected lowered module 0");
  expectRefusal(refusalOf("lowered 0 backend \"b\"(): delegate \"a\" = 0"),
                "f.txt:3:35: expected a lowered module after number 0, which holds it");
  expectRefusal(refusalOf("settings { color = \"red\" }"), "f.txt:3:12: expected dialect, verifiers");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[2] }"), "f.txt:3:27: expected 'base64' and strings");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[2] [1.0] }"), "f.txt:3:27: expected 2 elements, found 1");
  expectRefusal(refusalOf("state_dict { \"w\" = i8[1] [300] }"),
                "f.txt:3:27: expected an element of dtype i8");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[2] base64 \"AAA\" }"), "f.txt:3:34: expected base64");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[2] base64 \"AAAA\" }"),
                "f.txt:3:20: expected at most the 3 bytes");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[2]<strides [-1]> base64 }"),
                "f.txt:3:20: negative number in sizes [2], strides [-1]");
  expectRefusal(refusalOf("state_dict { \"w\" = f32[s0] base64 }"), "f.txt:3:20: expected a strided tensor");
  expectRefusal(refusalOf("constants { \"w\" = f32[0] base64 \"w\" = f32[0] base64 }"),
                "f.txt:3:33: expected one tensor 'w'");
}

TEST(ParseErrors, LimitNesting) {
  const std::string open(100000, '['), parens(100000, '(');
  EXPECT_NE(refusalOf("%y = a.b.c(" + open).find("arguments nested deeper than 64 levels"),
            std::string::npos);
  EXPECT_NE(refusalOf("%y = a.b.c(slice" + parens).find("arguments nested deeper than 64 levels"),
            std::string::npos);
  EXPECT_NE(refusalOf("return " + parens).find("arguments nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(refusalOf("%y = a.b.c() : " + open).find("values nested deeper than 64 levels"),
            std::string::npos);
  EXPECT_FALSE(refusalOf("%y = a.b.c() : f32[" + parens).empty());
  EXPECT_FALSE(refusalOf("%y = a.b.c() : SymInt" + parens).empty());
  std::string path = "a", modules;
  for (int i = 0; i < 600; ++i, path += ".a") modules += "submodule \"" + path + "\"():\n";
  EXPECT_NE(refusalOf(modules).find("at most 512 levels"), std::string::npos);
  std::string lowered;
  for (int i = 0; i < 40; ++i) {
    lowered += fmt::format("lowered {} backend \"b\"():\n", i);
    if (i < 39) lowered += fmt::format("delegate \"d\" = {}\n", i + 1);
  }
  EXPECT_NE(refusalOf(lowered).find("delegates nested deeper than 32 levels"), std::string::npos);
}

}  // namespace
}  // namespace edgefx::test
