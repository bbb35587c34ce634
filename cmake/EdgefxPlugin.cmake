# Backends in shared libraries of their own, loaded while a program runs.
#
# edgefx is a static library with process-wide tables. A plugin that linked it would bring a second copy of them, so
# it takes edgefx's symbols from the program that loads it.

# edgefx_add_plugin(<name> <source>...)
# Makes the loadable library lib<name>.so, compiled against edgefx and LibTorch.
function(edgefx_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX lib SUFFIX .so)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:edgefx::edgefx,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:edgefx::edgefx,INTERFACE_COMPILE_DEFINITIONS>)
  target_link_libraries(${name} PRIVATE torch)
endfunction()

# edgefx_host_plugins(<executable>)
# Links the whole of edgefx into the executable and exports its symbols, as a program that loads plugins must.
function(edgefx_host_plugins target)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  target_link_libraries(${target} PRIVATE
    "-Wl,--whole-archive,$<TARGET_FILE:edgefx::edgefx>,--no-whole-archive" edgefx::edgefx)
endfunction()
