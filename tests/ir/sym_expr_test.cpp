#include <edgefx/ir/sym_expr.h>
#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace edgefx {
namespace {

const char* const kS77 = "Symbol('s77', positive=True, integer=True)";

std::string python(const SymExpr& expression) {
  std::string out;
  expression.appendPython(out);
  return out;
}

std::string python(std::string_view text) {
  return python(SymExpr::parse(text));
}

std::string srepr(std::string_view text) {
  return SymExpr::parse(text).srepr();
}

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// The message of the ParseError, or nothing if the text is accepted.
std::optional<std::string> refusal(std::string_view text) {
  try {
    SymExpr::parse(text);
  } catch (const ParseError& error) {
    return error.diagnostics().front().message;
  }
  return std::nullopt;
}

// Constructor form, what Python prints for it, and as what the printed text is read back.
struct Form {
  const char* constructor;
  const char* python;
};

constexpr Form kForms[] = {
    {"Symbol('s77', positive=True, integer=True)", "s77"},
    {"Symbol('u0', integer=True)", "u0"},
    {"Integer(-3)", "-3"},
    {"Rational(1, 2)", "1/2"},
    {"Rational(-3, 4)", "-3/4"},
    {"true", "True"},
    {"false", "False"},
    {"int_oo", "int_oo"},
    {"-int_oo", "-int_oo"},
    {"oo", "oo"},
    {"-oo", "-oo"},
    {"Mul(Integer(2), Symbol('s77', positive=True, integer=True))", "2*s77"},
    {"Mul(Integer(-1), Symbol('s77', positive=True, integer=True))", "-s77"},
    {"Mul(Integer(-1), Integer(2), Symbol('s77'))", "-2*s77"},
    {"Mul(Symbol('s17'), Symbol('s77'))", "s17*s77"},
    {"Pow(Symbol('s0'), Integer(2))", "s0**2"},
    {"Add(Mul(Integer(2), Symbol('s77')), Integer(1))", "2*s77 + 1"},
    {"Add(Symbol('s1', positive=True, integer=True), Integer(-1))", "s1 - 1"},
    {"Add(Mul(Symbol('s17'), Symbol('s77')), Mul(Integer(-1), Symbol('s17')), Integer(1))",
     "s17*s77 - s17 + 1"},
    {"Add(Symbol('s17'), Mul(Integer(2), Symbol('s77')), Integer(-1))", "s17 + 2*s77 - 1"},
    {"Add(Mul(Integer(2), Symbol('s17'), Symbol('s77')), Symbol('s17'), Mul(Integer(3), Symbol('s77'), "
     "Symbol('u0')), "
     "Symbol('u0'), Integer(1))",
     "2*s17*s77 + s17 + 3*s77*u0 + u0 + 1"},
    {"Add(Integer(1), Mul(Integer(-1), Symbol('s77')))", "1 - s77"},
    {"Add(Mul(Integer(-1), Symbol('s77')), Symbol('u0'))", "-s77 + u0"},
    {"Add(Mul(Integer(-1), Symbol('s77')), Integer(-1))", "-s77 - 1"},
    {"Add(Mul(Integer(-1), Integer(5), Symbol('s1')), Integer(-5))", "-5*s1 - 5"},
    {"Mul(Add(Symbol('s17'), Integer(-1)), Add(Symbol('s77'), Integer(1)))", "(s17 - 1)*(s77 + 1)"},
    {"Mul(Rational(1, 2), Symbol('s77'))", "s77/2"},
    {"Mul(Rational(3, 2), Symbol('s77'))", "3*s77/2"},
    {"Add(Integer(5), Mul(Integer(-1), Rational(5, 2), Symbol('s0')))", "5 - 5*s0/2"},
    {"Mul(Rational(2, 3), Pow(Symbol('s17'), Integer(-1)), Symbol('s77'))", "2*s77/(3*s17)"},
    {"Mul(Integer(-1), Pow(Symbol('s17'), Integer(-1)), Symbol('s77'))", "-s77/s17"},
    {"Mul(Pow(Symbol('s17'), Integer(-2)), Symbol('s77'))", "s77/s17**2"},
    {"Pow(Symbol('s77'), Integer(-1))", "1/s77"},
    {"Pow(Symbol('s77'), Integer(-2))", "s77**(-2)"},
    {"Pow(Symbol('s77'), Rational(1, 2))", "sqrt(s77)"},
    {"Pow(Symbol('s77'), Rational(-1, 2))", "1/sqrt(s77)"},
    {"Pow(Integer(-2), Symbol('s77'))", "(-2)**s77"},
    {"Pow(Rational(1, 2), Symbol('s77'))", "(1/2)**s77"},
    {"Pow(Add(Symbol('s77'), Integer(1)), Add(Symbol('u0'), Integer(-1)))", "(s77 + 1)**(u0 - 1)"},
    {"FloorDiv(Symbol('s77'), Integer(3))", "(s77//3)"},
    {"Add(FloorDiv(Symbol('s17'), Integer(2)), Integer(1))", "((s17//2)) + 1"},
    {"FloorDiv(Add(Symbol('s17'), Integer(-1)), Integer(2))", "((s17 - 1)//2)"},
    {"Mul(Integer(3), Mod(Add(Symbol('s77'), Integer(1)), Integer(2)))", "3*(Mod(s77 + 1, 2))"},
    {"Mod(Symbol('s77'), Integer(2))", "Mod(s77, 2)"},
    {"PythonMod(Symbol('s77'), Integer(2))", "PythonMod(s77, 2)"},
    {"Max(Integer(3), Symbol('s77'))", "Max(3, s77)"},
    {"Mul(Integer(2), Min(Integer(3), Symbol('s77')))", "2*Min(3, s77)"},
    {"Max(Integer(1), Add(Symbol('s0'), Integer(-1)))", "Max(1, s0 - 1)"},
    {"Equality(Symbol('s0'), Integer(3))", "Eq(s0, 3)"},
    {"Unequality(Symbol('s0'), Integer(3))", "Ne(s0, 3)"},
    {"StrictGreaterThan(Symbol('s77'), Integer(3))", "s77 > 3"},
    {"GreaterThan(Symbol('s77'), Integer(3))", "s77 >= 3"},
    {"StrictLessThan(Symbol('s0'), Symbol('u0'))", "s0 < u0"},
    {"LessThan(Add(Symbol('s0'), Integer(1)), Symbol('u0'))", "s0 + 1 <= u0"},
    {"And(StrictGreaterThan(Symbol('u0'), Integer(1)), StrictLessThan(Symbol('s0'), Integer(3)))",
     "(u0 > 1) & (s0 < 3)"},
    {"Or(Equality(Symbol('u0'), Integer(0)), StrictGreaterThan(Symbol('u0'), Integer(1)))",
     "Eq(u0, 0) | (u0 > 1)"},
    {"Xor(StrictGreaterThan(Symbol('u0'), Integer(1)), StrictLessThan(Symbol('s0'), Integer(2)))",
     "(u0 > 1) ^ (s0 < 2)"},
    {"Not(And(StrictGreaterThan(Symbol('u0'), Integer(1)), StrictLessThan(Symbol('s0'), Integer(3))))",
     "~((u0 > 1) & (s0 < 3))"},
    {"Piecewise(ExprCondPair(Symbol('s77'), StrictGreaterThan(Symbol('u0'), Integer(1))), "
     "ExprCondPair(Symbol('s17'), "
     "true))",
     "Piecewise((s77, u0 > 1), (s17, True))"},
    {"OpaqueUnaryFn_sqrt(FloatTrueDiv(ToFloat(Symbol('s77')), Float('2.0', precision=53)))",
     "OpaqueUnaryFn_sqrt(FloatTrueDiv(ToFloat(s77), 2.0))"},
    {"some_function(Symbol('s77'), Integer(2))", "some_function(s77, 2)"},
    {"nothing()", "nothing()"},
    {"Mul(Float('1.5', precision=53), Symbol('s77'))", "1.5*s77"},
    {"Add(Symbol('s77'), Float('-2.5', precision=53))", "s77 - 2.5"},
    {"Add(Symbol('s77'), Float('0.10000000000000001', precision=53))", "s77 + 0.1"},
    {"Mul(Float('1.0e-10', precision=53), Symbol('s77'))", "1.0e-10*s77"},
    {"Mul(Float('1.0e+20', precision=53), Symbol('s77'))", "1.0e+20*s77"},
    {"Float('1.5', precision=53)", "1.50000000000000"},
};

TEST(SymExpr, ConstructorFormIsWrittenBackByteForByte) {
  for (const Form& form : kForms) {
    const SymExpr expression = SymExpr::parse(form.constructor);
    EXPECT_EQ(expression.srepr(), form.constructor);
    EXPECT_EQ(expression.text(), form.constructor);
  }
}

TEST(SymExpr, PrintsAsPythonDoes) {
  for (const Form& form : kForms) EXPECT_EQ(python(form.constructor), form.python);
}

TEST(SymExpr, ReadsWhatPythonPrints) {
  for (const Form& form : kForms) {
    const SymExpr expression = SymExpr::parse(form.python);
    EXPECT_TRUE(expression == SymExpr::parse(form.constructor))
        << form.python << " is " << expression.srepr();
    EXPECT_EQ(expression.text(), form.python);
    EXPECT_EQ(python(expression), form.python);
  }
}

TEST(SymExpr, KeepsTheTextAsItWas) {
  const std::string text = " ( s0//2 )\n";
  const SymExpr expression = SymExpr::parse(text);
  EXPECT_EQ(expression.text(), text);
  EXPECT_EQ(expression.srepr(), "FloorDiv(Symbol('s0'), Integer(2))");
}

TEST(SymExpr, FollowsPythonPrecedence) {
  EXPECT_EQ(srepr("-s0**2"), srepr("-(s0**2)"));
  EXPECT_EQ(srepr("2**s0**s1"), srepr("2**(s0**s1)"));
  EXPECT_EQ(srepr("2**-s0"), "Pow(Integer(2), Mul(Integer(-1), Symbol('s0')))");
  EXPECT_EQ(srepr("-s0//2"), "FloorDiv(Mul(Integer(-1), Symbol('s0')), Integer(2))");
  EXPECT_EQ(srepr("u1 - u0//2"), "Add(Symbol('u1'), Mul(Integer(-1), FloorDiv(Symbol('u0'), Integer(2))))");
  EXPECT_EQ(srepr("2*s0//3*s1"), "Mul(FloorDiv(Mul(Integer(2), Symbol('s0')), Integer(3)), Symbol('s1'))");
  EXPECT_EQ(srepr("s0 % 2"), "Mod(Symbol('s0'), Integer(2))");
  EXPECT_EQ(srepr("a | b ^ c & d"), "Or(Symbol('a'), Xor(Symbol('b'), And(Symbol('c'), Symbol('d'))))");
  EXPECT_EQ(srepr("~a & b"), "And(Not(Symbol('a')), Symbol('b'))");
  EXPECT_EQ(srepr("--s0"), "Symbol('s0')");
  EXPECT_EQ(srepr("s0 - -3"), "Add(Symbol('s0'), Integer(3))");
}

TEST(SymExpr, OrdersSumsAndProductsOfSymbols) {
  EXPECT_EQ(python("1 + s0"), "s0 + 1");
  EXPECT_EQ(python("s77*s17"), "s17*s77");
  EXPECT_EQ(python("s2 + s10"), "s10 + s2");
  EXPECT_EQ(python("Add(Integer(4), Symbol('s0'), Pow(Symbol('s0'), Integer(2)))"), "s0**2 + s0 + 4");
  EXPECT_TRUE(SymExpr::parse("1 + s1*s0") == SymExpr::parse("s0*s1 + 1"));
}

TEST(SymExpr, CollectsNumericFactorsExactly) {
  EXPECT_EQ(srepr("2*s0*3"), "Mul(Integer(6), Symbol('s0'))");
  EXPECT_EQ(srepr("6*s0/4"), "Mul(Rational(3, 2), Symbol('s0'))");
  EXPECT_EQ(srepr("2*s0/2"), "Symbol('s0')");
  EXPECT_EQ(srepr("s0/(-2)"), "Mul(Integer(-1), Rational(1, 2), Symbol('s0'))");
  EXPECT_EQ(srepr("6/4"), "Rational(3, 2)");
  // A product beyond 64 bits keeps its factors.
  EXPECT_EQ(srepr("9223372036854775807*s0*9223372036854775807"),
            "Mul(Integer(9223372036854775807), Symbol('s0'), Integer(9223372036854775807))");
}

TEST(SymExpr, EqualityIgnoresAbsentAssumptions) {
  const SymExpr full = SymExpr::parse(kS77);
  EXPECT_TRUE(full == SymExpr::parse("s77"));
  EXPECT_TRUE(full == SymExpr::parse("Symbol('s77', integer=True, positive=True)"));
  EXPECT_FALSE(full == SymExpr::parse("Symbol('s77', integer=True)"));
  EXPECT_FALSE(full == SymExpr::parse("Symbol('s77', positive=True, integer=False)"));
  EXPECT_FALSE(full == SymExpr::parse("s7"));
}

TEST(SymExpr, EqualityComparesStructure) {
  const char* const distinct[] = {
      "s0",     "2",       "2*s0",       "s0 + 2",     "s0 + 3",    "(s0//2)",     "Mod(s0, 2)",
      "s0/2",   "s0**2",   "Max(2, s0)", "Min(2, s0)", "f(2, s0)",  "g(2, s0)",    "f(2)",
      "s0 < 2", "s0 <= 2", "True",       "False",      "oo",        "int_oo",      "1/2",
      "1/3",    "1.5",     "2.5",        "f(s0, 2)",   "f(s0, s1)", "(s0//2) + 1", "Mod(s0, 2)*s1"};
  for (size_t i = 0; i < std::size(distinct); ++i) {
    for (size_t j = 0; j < std::size(distinct); ++j) {
      EXPECT_EQ(SymExpr::parse(distinct[i]) == SymExpr::parse(distinct[j]), i == j)
          << distinct[i] << " and " << distinct[j];
    }
  }
}

TEST(SymExpr, GivesItsParts) {
  const SymExpr sum =
      SymExpr::parse("Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(-1))");
  EXPECT_EQ(sum.kind(), SymKind::Call);
  EXPECT_EQ(sum.function(), SymFunction::Add);
  EXPECT_EQ(sum.name(), "Add");
  ASSERT_EQ(sum.args().size(), 2u);
  EXPECT_EQ(sum.args()[1].integerValue(), -1);
  const SymNode& product = sum.args()[0];
  EXPECT_EQ(product.function(), SymFunction::Mul);
  ASSERT_EQ(product.args().size(), 2u);
  EXPECT_EQ(product.args()[1].kind(), SymKind::Symbol);
  EXPECT_EQ(product.args()[1].name(), "s77");
  EXPECT_EQ(product.args()[1].assumptions(), "positive=True, integer=True");
  EXPECT_TRUE(product.args()[1].args().empty());

  EXPECT_EQ(SymExpr::parse("other(1)").function(), SymFunction::Other);
  EXPECT_EQ(SymExpr::parse("other(1)").name(), "other");
  EXPECT_TRUE(SymExpr::parse("true").root().booleanValue());
  EXPECT_FALSE(SymExpr::parse("false").root().booleanValue());
  const SymExpr half = SymExpr::parse("Rational(-1, 2)");
  EXPECT_EQ(half.root().numerator(), -1);
  EXPECT_EQ(half.root().denominator(), 2);
  EXPECT_EQ(half.root().floatValue(), -0.5);
  EXPECT_EQ(SymExpr::parse("Float('2.5', precision=53)").root().floatValue(), 2.5);
  EXPECT_EQ(SymExpr::parse("7").root().denominator(), 1);
}

TEST(SymExpr, RefusesValuesOfAnotherKind) {
  EXPECT_THROW(SymExpr::parse("s0").integerValue(), UsageError);
  EXPECT_THROW(SymExpr::parse("1.5").integerValue(), UsageError);
  EXPECT_THROW(SymExpr::parse("1").root().booleanValue(), UsageError);
  EXPECT_THROW(SymExpr::parse("s0").root().numerator(), UsageError);
  EXPECT_THROW(SymExpr::parse("true").root().denominator(), UsageError);
  EXPECT_THROW(SymExpr::parse("Float('many', precision=53)").root().floatValue(), UsageError);
}

TEST(SymExpr, ListsSymbolsInOrderOfAppearance) {
  EXPECT_EQ(SymExpr::parse("Mod(s9, 2) + Max(s1, s9) + u0*s1").symbols(),
            (std::vector<std::string>{"s9", "s1", "u0"}));
  EXPECT_TRUE(SymExpr::parse("Integer(3)").symbols().empty());
  EXPECT_TRUE(SymExpr::parse("int_oo").symbols().empty());
}

TEST(SymExpr, BuildsLeaves) {
  EXPECT_EQ(SymExpr::integer(-5).text(), "Integer(-5)");
  EXPECT_EQ(SymExpr::integer(-5).integerValue(), -5);
  EXPECT_EQ(SymExpr::integer(std::numeric_limits<int64_t>::min()).srepr(), "Integer(-9223372036854775808)");
  EXPECT_EQ(SymExpr::symbol("s77").text(), kS77);
  EXPECT_TRUE(SymExpr::symbol("s77") == SymExpr::parse(kS77));
  EXPECT_EQ(SymExpr::symbol("u0", "integer=True").text(), "Symbol('u0', integer=True)");
  EXPECT_EQ(SymExpr::symbol("u0", "").srepr(), "Symbol('u0')");
  for (const char* name : {"", "a'b", "a\\b", "a', integer=True) + Symbol('b"}) {
    EXPECT_THROW(SymExpr::symbol(name), ParseError) << name;
  }
  EXPECT_THROW(SymExpr::symbol("a', x=True, y='", ""), ParseError);
  EXPECT_THROW(SymExpr::symbol("s0", "integer"), ParseError);
  EXPECT_THROW(SymExpr::symbol("s0", "integer=True) + (2"), ParseError);
}

TEST(SymExpr, KeepsTheSmallestInteger) {
  const SymExpr smallest = SymExpr::parse("Integer(-9223372036854775808)");
  EXPECT_EQ(smallest.integerValue(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(srepr("-Integer(-9223372036854775808)"), "Mul(Integer(-1), Integer(-9223372036854775808))");
  EXPECT_EQ(srepr("2*Integer(-9223372036854775808)"), "Mul(Integer(2), Integer(-9223372036854775808))");
  EXPECT_EQ(srepr("s0/Integer(-9223372036854775808)"),
            "Mul(Symbol('s0'), Pow(Integer(-9223372036854775808), Integer(-1)))");
  EXPECT_EQ(python("-Rational(-9223372036854775808, 3)*s0 - Integer(-9223372036854775808)"),
            "-(-9223372036854775808/3)*s0 - (-9223372036854775808)");
}

TEST(SymExpr, CopiesOutliveTheOriginal) {
  std::optional<SymExpr> original = SymExpr::parse("Add(Symbol('s77'), Integer(1))");
  const SymExpr copy = *original;
  original.reset();
  EXPECT_EQ(python(copy), "s77 + 1");
}

TEST(SymExpr, CopiesAreUsableFromSeveralThreads) {
  const SymExpr shared = SymExpr::parse("Max(3, s17*s77 - s17 + 1)");
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (std::string& text : texts) {
    threads.emplace_back([&shared, &text] {
      for (int i = 0; i < 200; ++i) {
        const SymExpr copy = shared;
        text = python(copy) + copy.srepr();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, python(shared) + shared.srepr());
}

TEST(SymExpr, RefusalsNameTheTextAndTheColumn) {
  const std::string message = refusal("Add(Integer(2), #)").value_or("");
  EXPECT_EQ(
      message,
      "expected a number, a name or '(', found '#' at column 17 of symbolic expression 'Add(Integer(2), #)'");
  const std::string end = refusal("Max(s0").value_or("");
  EXPECT_EQ(end, "expected ')', found the end of the text at column 7 of symbolic expression 'Max(s0'");
  const std::string longText = refusal(repeated("x", 5000) + " #").value_or("");
  EXPECT_NE(longText.find("column 5002"), std::string::npos) << longText;
  EXPECT_LT(longText.size(), 500u);
}

TEST(SymExpr, RefusesOtherText) {
  const char* const bad[] = {
      "",
      " ",
      "(",
      ")",
      "()",
      "s0 s1",
      "s0 +",
      "* s0",
      "s0 * * 2",
      "s0,",
      "Max(s0,)",
      "Max(,s0)",
      "Max(s0",
      "Max s0)",
      "a < b < c",
      "a == b",
      "a = b",
      "a != b",
      "a << 2",
      "a and b",
      "[s0]",
      "'s0'",
      "s0.x",
      "lambda: 0",
      "Integer()",
      "Integer(s0)",
      "Integer(1.5)",
      "Integer(2, 3)",
      "Integer(+2)",
      "Integer(9223372036854775808)",
      "Integer(-9223372036854775809)",
      "9223372036854775808",
      "99999999999999999999999999",
      "1e999",
      ".",
      "2s",
      "Rational(1)",
      "Rational(1, 0)",
      "Rational(1, -2)",
      "Symbol()",
      "Symbol(s0)",
      "Symbol('')",
      "Symbol('s0)",
      "Symbol('s0\"",
      "Symbol('s\\x00')",
      "Symbol('s0', integer)",
      "Symbol('s0', integer=1)",
      "Symbol('s0', integer=True, integer=True)",
      "Symbol('s0', =True)",
      "Symbol('s0' integer=True)",
      "Float(1.5)",
      "Float('1.5', precision=0)",
      "Float('1.5', precision=99999999999)",
      "Float('1.5', dps=15)",
      "Pow(s0)",
      "Pow(s0, 1, 2)",
      "Add()",
      "Not(a, b)",
      "Equality(a)",
      "Max(s0, evaluate=False)",
      "Function('f')(s0)",
      "Piecewise((s0, a, b))",
      "Piecewise((s0))",
      "(s0, s1)",
      "s0/0",
      "s0/(0*1)",
      "s\xc3\xa9",
      "s0 \xff",
  };
  for (const char* text : bad) EXPECT_TRUE(refusal(text).has_value()) << text;
  EXPECT_TRUE(refusal(std::string_view("s0\0", 3)).has_value());
}

TEST(SymExpr, BoundsNesting) {
  const auto nested = [](std::string_view open, size_t levels, std::string_view close) {
    return repeated(open, levels) + "s0" + repeated(close, levels);
  };
  for (const auto& [open, close] :
       {std::pair("(", ")"), std::pair("Not(", ")"), std::pair("~", ""), std::pair("2**", ""),
        std::pair("f(", ")"), std::pair("", "//2"), std::pair("-(1 + ", ")"), std::pair("1/(2 + ", ")")}) {
    EXPECT_FALSE(refusal(nested(open, 80, close)).has_value()) << open << close;
    EXPECT_TRUE(refusal(nested(open, 300, close)).has_value()) << open << close;
    EXPECT_TRUE(refusal(nested(open, 30000, close)).has_value()) << open << close;
  }
  const std::string deepest = nested("f(", 255, ")");
  const SymExpr expression = SymExpr::parse(deepest);
  EXPECT_EQ(python(expression), deepest);
  EXPECT_TRUE(SymExpr::parse(expression.srepr()) == expression);
  EXPECT_TRUE(refusal(nested("f(", 256, ")")).value_or("").find("256 levels") != std::string::npos);
}

TEST(SymExpr, SignsDoNotNest) {
  EXPECT_EQ(srepr(repeated("-", 100001) + "s0"), "Mul(Integer(-1), Symbol('s0'))");
}

TEST(SymExpr, BoundsLength) {
  EXPECT_FALSE(refusal(repeated(" ", (1 << 20) - 2) + "s0").has_value());
  EXPECT_TRUE(refusal(repeated(" ", (1 << 20) - 1) + "s0").has_value());
}

TEST(SymExpr, ReadsLongChains) {
  constexpr size_t kTerms = 50000;
  for (const char* separator : {" + s0", "*s0", " - s0", "/s0", " | s0"}) {
    const SymExpr expression = SymExpr::parse("s0" + repeated(separator, kTerms));
    EXPECT_EQ(expression.args().size(), kTerms + 1) << separator;
    EXPECT_EQ(expression.symbols(), std::vector<std::string>{"s0"});
    EXPECT_FALSE(python(expression).empty());
  }
}

TEST(SymExpr, SurvivesDamagedText) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes = "()*/-+~&|^<>=%,.'\" \\0123456789seInf_\x80";
  size_t accepted = 0;
  for (int round = 0; round < 200; ++round) {
    for (const Form& form : kForms) {
      std::string text = round % 2 == 0 ? form.constructor : form.python;
      for (int edits = 1 + round % 3; edits > 0 && !text.empty(); --edits) {
        const size_t at = random() % text.size();
        const char byte = kBytes[random() % kBytes.size()];
        switch (random() % 3) {
          case 0:
            text[at] = byte;
            break;
          case 1:
            text.erase(at, 1);
            break;
          default:
            text.insert(at, 1, byte);
            break;
        }
      }
      if (refusal(text).has_value()) continue;
      ++accepted;
      const SymExpr expression = SymExpr::parse(text);
      python(expression);
      EXPECT_TRUE(SymExpr::parse(expression.srepr()) == expression) << text;
    }
  }
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace edgefx
