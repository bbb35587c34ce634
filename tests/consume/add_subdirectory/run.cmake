# Configures a project with edgefx inside and compiles its own source. The library is not built a second time: that
# would take as long as everything else, and links the same as the installed one.
file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}" -G "${GENERATOR}"
    -D "CMAKE_BUILD_TYPE=Release" -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "CMAKE_CXX_FLAGS=${FLAGS}"
    "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -D "EDGEFX_SOURCE_DIR=${EDGEFX_SOURCE_DIR}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}" --target consumer COMMAND_ERROR_IS_FATAL ANY)
