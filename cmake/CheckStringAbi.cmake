include(CheckCXXSourceCompiles)

# edgefx_check_string_abi(<target> <name> <declaration> <call>)
# Fails in words when `target`, known to people as `name`, was built with another std::string than LibTorch asks for.
# `declaration` declares a function of the target and `call` calls it with a std::string `text`.
function(edgefx_check_string_abi target name declaration call)
  set(CMAKE_REQUIRED_LIBRARIES ${target} torch)
  set(CMAKE_REQUIRED_FLAGS "-std=c++20")
  set(CMAKE_REQUIRED_QUIET ON)
  set(result "EDGEFX_STRING_ABI_${target}")
  string(MAKE_C_IDENTIFIER "${result}" result)
  check_cxx_source_compiles("
    #include <string>
    ${declaration}
    int main(int argc, char** argv) {
      std::string text(argc > 99 ? argv[0] : \"\");
      if (argc > 99) { ${call} }
    }" ${result})
  if(NOT ${result})
    unset(${result} CACHE)
    message(FATAL_ERROR
      "A program that passes a std::string to ${name} does not link. libstdc++ has two of them, told apart by "
      "_GLIBCXX_USE_CXX11_ABI, and ${name} was most likely built with the other one. This build follows LibTorch's flags "
      "'${TORCH_CXX_FLAGS}' and CMAKE_CXX_FLAGS '${CMAKE_CXX_FLAGS}': take a LibTorch with the C++11 ABI, or build "
      "${name} with the same flag. CMakeFiles/CMakeError.log (or CMakeConfigureLog.yaml) has the linker's words.")
  endif()
endfunction()
