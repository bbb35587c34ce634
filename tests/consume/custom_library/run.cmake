# What examples/custom_library/README.md tells newcomers: copies the folder elsewhere, builds it against the installed
# edgefx, runs its test, and its program on a real model. Warnings count as errors here.
file(REMOVE_RECURSE "${WORK}")
file(COPY "${EDGEFX_SOURCE_DIR}/examples/custom_library/" DESTINATION "${WORK}/mine")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/mine" -B "${WORK}/build" -G "${GENERATOR}"
    # Unoptimised, which is twice as quick to build; never without the caller's flags: a sanitized library links into
    # a sanitized program only.
    -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "CMAKE_CXX_FLAGS=${FLAGS} -Wall -Wextra -Wpedantic -Werror"
    "-DCMAKE_PREFIX_PATH=${PREFIX};${PREFIX_PATH}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build" --parallel COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --output-on-failure
  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "100% tests passed, 0 tests failed out of 1")
  message(FATAL_ERROR "expected one test that passes, found: ${said}")
endif()
execute_process(
  COMMAND "${WORK}/build/custom_library" "${EDGEFX_SOURCE_DIR}/examples/data/resnet18_slim.pt2" "${WORK}/lowered.pt2"
  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "^8 calls of custom\\.add_relu\n" OR NOT EXISTS "${WORK}/lowered.pt2")
  message(FATAL_ERROR "expected a lowered model with 8 calls, found: ${said}")
endif()
