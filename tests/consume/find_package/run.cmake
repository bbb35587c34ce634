# Configures, builds and runs a project that finds edgefx where it was installed.
file(REMOVE_RECURSE "${WORK}")

# Never leave the caller's flags out: a sanitized library links into a sanitized program only.
set(configure "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -G "${GENERATOR}" -D "CMAKE_BUILD_TYPE=Release"
  -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "CMAKE_CXX_FLAGS=${FLAGS}")

execute_process(COMMAND ${configure} -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${PREFIX};${PREFIX_PATH}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/build/consumer" "${WORK}/build/libconsumer_plugin.so"
  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "^edgefx 0\\.[0-9]+: .*backend 'consumer'.*thrown by the plugin")
  message(FATAL_ERROR "the consumer said: ${said}")
endif()

# A package that was built with another LibTorch is refused.
file(GLOB_RECURSE config RELATIVE "${PREFIX}" "${PREFIX}/*/edgefx-config.cmake")
get_filename_component(folder "${config}" DIRECTORY)
set(other "${WORK}/prefix")
file(COPY "${PREFIX}/${folder}/" DESTINATION "${other}/${folder}")
file(READ "${other}/${config}" text)
string(REGEX REPLACE "edgefx_TORCH_VERSION \"[0-9.]+\"" "edgefx_TORCH_VERSION \"0.4.1\"" text "${text}")
file(WRITE "${other}/${config}" "${text}")
execute_process(COMMAND ${configure} -B "${WORK}/other" "-DCMAKE_PREFIX_PATH=${other};${PREFIX_PATH}"
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
if(result EQUAL 0 OR NOT said MATCHES "this edgefx was built with LibTorch 0\\.4, but LibTorch [0-9.]+ was found")
  message(FATAL_ERROR "expected another LibTorch to be refused, found: ${said}")
endif()
