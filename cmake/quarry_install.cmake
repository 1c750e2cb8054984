# `cmake --install` and the package for find_package(quarry). Everything in it is relative to where the files lie, so the
# prefix may be moved.
include_guard()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quarry)

# Three export sets, so that find_package(quarry COMPONENTS allocator) asks for no library but threads, and CUDA is asked
# for by COMPONENTS tensor_cuda only.
install(TARGETS quarry_allocator EXPORT quarry_allocator ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS quarry_stats quarry_tensor quarry EXPORT quarry_all ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS quarry_tensor_cuda EXPORT quarry_tensor_cuda ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT quarry_allocator FILE quarry_allocator.cmake NAMESPACE quarry:: DESTINATION ${package_dir})
install(EXPORT quarry_all FILE quarry_all.cmake NAMESPACE quarry:: DESTINATION ${package_dir})
install(EXPORT quarry_tensor_cuda FILE quarry_tensor_cuda.cmake NAMESPACE quarry:: DESTINATION ${package_dir})

configure_package_config_file(cmake/quarryConfig.cmake.in ${PROJECT_BINARY_DIR}/quarryConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quarryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quarryConfig.cmake ${PROJECT_BINARY_DIR}/quarryConfigVersion.cmake
  DESTINATION ${package_dir})
