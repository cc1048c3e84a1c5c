# Settings and helpers shared by all targets of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Kernels ask for -O3 themselves (src/providers); elsewhere it only costs build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(MOE_CCACHE ccache)
if(MOE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${MOE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${MOE_CCACHE}")
endif()

# Every target of the project links this one: warnings, sanitizers, include roots.
add_library(moe_settings INTERFACE)
target_include_directories(moe_settings INTERFACE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/src")
target_compile_options(moe_settings INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror
  # BF16 products are exact in FP32, but contraction elsewhere would move rounding points.
  -ffp-contract=off
  # g++ 12 reports impossible overlaps in std::string's own code (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(MOE_SANITIZE)
  target_compile_options(moe_settings INTERFACE -fsanitize=${MOE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(moe_settings INTERFACE -fsanitize=${MOE_SANITIZE})
endif()
if(MOE_BUILD_FUZZERS)
  target_compile_options(moe_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# moe_library(<folder> SOURCES ... LINK ...): the static library of one folder of src/.
# The LINK line states the folder's dependencies.
function(moe_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(moe_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(moe_${folder} PUBLIC moe_settings ${ARG_LINK})
endfunction()

# moe_tests(<name> LABEL <label> SOURCES ... LINK ...): one GoogleTest program.
function(moe_tests name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT MOE_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  # Test code itself need not be fast; this halves its build time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${name} PRIVATE
    MOE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" MOE_REFERENCE_DIR="${MOE_REFERENCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# moe_unit_tests(<folder> SOURCES ... [LINK ...]): the unit tests that sit beside a folder's sources.
function(moe_unit_tests folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  moe_tests(${folder}_test LABEL unit SOURCES ${ARG_SOURCES} LINK moe_${folder} ${ARG_LINK})
endfunction()

# moe_fuzzer(<name> SOURCES ... LINK ...): a libFuzzer program; its corpus is tests/fuzz/corpus/<name>.
function(moe_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  if(NOT MOE_BUILD_FUZZERS)
    return()
  endif()
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LINK})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
