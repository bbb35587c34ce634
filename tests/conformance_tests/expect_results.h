#pragma once

#include <edgefx/run/interpreter.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/run/verify_lowering.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace edgefx::test {

// One call after the other, with the state that the calls before have left. State that the program does not
// hold any more must be what it was in `original`.
inline void expectResults(const ExportedProgram& program, const std::vector<SavedCall>& calls,
                          const std::string& what, const Tolerance& tolerance = {},
                          const ExportedProgram* original = nullptr) {
  Interpreter interpreter(program);
  for (size_t call = 0; call < calls.size(); ++call) {
    std::vector<c10::IValue> inputs;
    for (const c10::IValue& input : calls[call].inputs) {
      inputs.push_back(input.isTensor() ? c10::IValue(input.toTensor().clone()) : input);
    }
    const std::vector<c10::IValue> results = interpreter.run(inputs);
    ASSERT_TRUE(calls[call].outputs) << what;
    ASSERT_EQ(results.size(), calls[call].outputs->size()) << what;
    for (size_t i = 0; i < results.size(); ++i) {
      const Difference difference = compareValues(results[i], (*calls[call].outputs)[i], tolerance);
      EXPECT_TRUE(difference.agrees) << what << ", call " << call << ", result " << i << ": "
                                     << difference.reason;
    }
    if (calls[call].inputsAfter) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Difference difference = compareValues(inputs[i], (*calls[call].inputsAfter)[i]);
        EXPECT_TRUE(difference.agrees)
            << what << ", call " << call << ", input " << i << " afterwards: " << difference.reason;
      }
    }
    for (const auto& [name, value] : calls[call].buffersAfter) {
      const bool isGone =
          original != nullptr &&
          std::ranges::none_of(program.signature.inputs,
                               [&, &key = name](const InputSpec& spec) { return spec.target == key; });
      const at::Tensor state = isGone ? Interpreter(*original).state(name) : interpreter.state(name);
      const Difference difference = compareValues(state, value);
      EXPECT_TRUE(difference.agrees) << what << ", call " << call << ", buffer " << name << ": "
                                     << difference.reason;
    }
  }
}

}  // namespace edgefx::test
