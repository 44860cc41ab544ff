# One call a module: perjoule_module(meter SOURCES window.cc ... DEPENDS device ... LIBRARIES Foo::foo).
# Builds the static library perjoule_<name> and, for every foo_test.cc beside the sources, adds it to the one
# test program <name>_test, so that a test is found by the file it tests and linking stays cheap. What only the
# tests link goes into TEST_LIBRARIES.
function(perjoule_module name)
  cmake_parse_arguments(M "" "" "SOURCES;TESTS;DEPENDS;LIBRARIES;TEST_LIBRARIES" ${ARGN})
  add_library(perjoule_${name} STATIC ${M_SOURCES})
  target_include_directories(perjoule_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  foreach(dependency ${M_DEPENDS})
    target_link_libraries(perjoule_${name} PUBLIC perjoule_${dependency})
  endforeach()
  target_link_libraries(perjoule_${name} PRIVATE ${M_LIBRARIES})
  if(PERJOULE_TESTS AND M_TESTS)
    perjoule_test(${name}_test SOURCES ${M_TESTS} DEPENDS ${name} LIBRARIES ${M_TEST_LIBRARIES})
  endif()
endfunction()

# A GoogleTest program; every TEST in it becomes a ctest entry of its own.
function(perjoule_test name)
  cmake_parse_arguments(T "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck ${T_LIBRARIES})
  foreach(dependency ${T_DEPENDS})
    target_link_libraries(${name} PRIVATE perjoule_${dependency})
  endforeach()
  target_precompile_headers(${name} PRIVATE <gtest/gtest.h> <gmock/gmock.h>)
  # The sources' own folder tells a test where the repository is (shipped tables, fixtures).
  target_compile_definitions(${name} PRIVATE PERJOULE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
