# quarry_library(FOLDER [NAME name] [SOURCES file...] PUBLIC_HEADERS header...
#   [PUBLIC target...] [PRIVATE target...] [HEADER_ONLY target...])
#
# Makes the library of the folder it is called in: target quarry_NAME, for users quarry::NAME, file libquarry_NAME.a. NAME
# is FOLDER and SOURCES are all there are, unless said otherwise. PUBLIC_HEADERS are what others may include; they are
# installed, and checks/include_rule.py gets the same list. PRIVATE libraries are linked by every user of a static
# library; HEADER_ONLY ones end with our compile.
include_guard()

function(quarry_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "SOURCES;PUBLIC_HEADERS;PUBLIC;PRIVATE;HEADER_ONLY")
  if(NOT arg_NAME)
    set(arg_NAME ${folder})
  endif()
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  set(target quarry_${arg_NAME})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(quarry::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME} LINKER_LANGUAGE CXX)
  quarry_usage(${target})
  target_link_libraries(${target}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:quarry_build_flags>)
  foreach(library IN LISTS arg_HEADER_ONLY)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()

  list(TRANSFORM arg_PUBLIC_HEADERS PREPEND ${folder}/ OUTPUT_VARIABLE spelled)
  set_property(GLOBAL APPEND PROPERTY QUARRY_PUBLIC_HEADERS ${spelled})
  if(QUARRY_INSTALL)
    foreach(header IN LISTS arg_PUBLIC_HEADERS)
      get_filename_component(subfolder ${folder}/${header} DIRECTORY)
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quarry/${subfolder})
    endforeach()
  endif()
endfunction()

# What a user of any of our libraries needs to compile.
function(quarry_usage target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Inline functions check by the same level as the library was built with.
  target_compile_definitions(${target} PUBLIC QUARRY_CHECK_LEVEL=${QUARRY_CHECK_LEVEL})
endfunction()
