# What the delegates leave goes to oneDNN.
include("${CMAKE_CURRENT_LIST_DIR}/../onednn/needs.cmake")
set(example_shares onednn)
set(example_main_sources decoder.cpp device_only.cpp)
