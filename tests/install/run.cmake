# cmake -D build=... -D work=... -D consumer=... -D compiler=... -D generator=... -D sanitize=... -D model=... -P run.cmake
# Installs, moves the tree, and uses it as users do: by find_package, by pkg-config, and by the program.
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize}")
endif()
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/installed)
file(RENAME ${work}/installed ${prefix})

run(${CMAKE_COMMAND} -S ${consumer} -B ${work}/consumer -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
  -D CMAKE_CXX_FLAGS=${flags} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${work}/consumer)
run(${work}/consumer/consumer ${model})

# The C interface, by the compiler of the same family, as its sanitizers have one runtime.
set(c_link_flags "")
if(compiler MATCHES "clang")
  string(REPLACE "clang++" "clang" c_compiler ${compiler})
  if(sanitize)
    set(c_link_flags "-fsanitize-link-c++-runtime -lstdc++")
  endif()
else()
  string(REPLACE "g++" "gcc" c_compiler ${compiler})
  string(REGEX REPLACE "c\\+\\+$" "cc" c_compiler ${c_compiler})
endif()
run(${CMAKE_COMMAND} -S ${c_consumer} -B ${work}/c_consumer -G ${generator} -D CMAKE_C_COMPILER=${c_compiler}
  -D CMAKE_C_FLAGS=${flags} -D CMAKE_EXE_LINKER_FLAGS=${c_link_flags} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${work}/c_consumer)
run(${work}/c_consumer/c_consumer ${model})

find_program(pkg_config pkg-config REQUIRED)
file(GLOB_RECURSE pc ${prefix}/*/onnxkit.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${pkg_config} --cflags --libs "onnxkit >= 0.1"
  OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(options UNIX_COMMAND "${options}")
cmake_path(GET pc_folder PARENT_PATH libraries)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${compiler} -std=c++20 ${flags} ${consumer}/main.cpp ${consumer}/self_diff.cpp -o ${work}/by_pkg_config ${options} -Wl,-rpath,${libraries})
run(${work}/by_pkg_config ${model})
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${pkg_config} --cflags --libs "onnxkit-c >= 0.1"
  OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(options UNIX_COMMAND "${options}")
separate_arguments(c_link_flags UNIX_COMMAND "${c_link_flags}")
run(${c_compiler} -std=c99 ${flags} ${c_consumer}/main.c -o ${work}/c_by_pkg_config ${options} ${c_link_flags} -Wl,-rpath,${libraries})
run(${work}/c_by_pkg_config ${model})

run(${prefix}/bin/onnxkit check ${model})
execute_process(COMMAND ${prefix}/bin/onnxkit backends OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
if(NOT listed MATCHES "onnxruntime")
  message(FATAL_ERROR "the installed program does not find its workers:\n${listed}")
endif()
# Both modules: the decoders of pictures and the JSON form.
run(${prefix}/bin/onnxkit convert ${model} ${work}/model.json)
run(${prefix}/bin/onnxkit convert ${work}/model.json ${work}/again.onnx)
run(${prefix}/bin/onnxkit run ${pictured} --input ${picture} --format json)
# A program that is linked with the library finds them, too, and without them says what is missing.
run(${work}/consumer/consumer ${work}/model.json)
file(GLOB_RECURSE modules ${prefix}/*/libonnxkit_json.so)
file(REMOVE ${modules})
execute_process(COMMAND ${prefix}/bin/onnxkit check ${work}/model.json RESULT_VARIABLE status ERROR_VARIABLE error OUTPUT_VARIABLE error)
if(NOT status EQUAL 3 OR NOT error MATCHES "missing-module")
  message(FATAL_ERROR "a missing module is not reported: ${status}, ${error}")
endif()

# The library's name carries its version as docs/ABI.md says; documents and schemas lie where packages put them.
if(NOT EXISTS ${libraries}/libonnxkit.so.0.1)
  message(FATAL_ERROR "no libonnxkit.so.0.1 in ${libraries}")
endif()
if(NOT sanitize AND NOT EXISTS ${prefix}/share/man/man1/onnxkit-check.1)
  message(FATAL_ERROR "the manual pages are not installed")
endif()
foreach(file IN ITEMS share/doc/onnxkit/LICENSE share/doc/onnxkit/ABI.md share/onnxkit/json/check.schema.json share/onnxkit/codes/shape-mismatch.md
    include/onnxkit/onnxkit.h include/onnxkit/c_api.h share/bash-completion/completions/onnxkit)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
